"""Server settings: the server's name."""

from __future__ import annotations

from msgspec import Struct

from teamchat.application import Application
from teamchat.model import Caller
from teamchat.web.endpoints import Answer, Section

section = Section("server settings")


class NewServerName(Struct, frozen=True):
    """A name for the server: 1 to 80 characters."""

    name: str


class ServerName(Answer, frozen=True):
    """The server's name."""

    name: str


async def _check_manage(app: Application, caller: Caller) -> None:
    await app.chat.server_settings.check_manage(caller)


@section.endpoint("GET", "/server/settings", within_places=True, answer=ServerName)
async def read_server_settings(app: Application, caller: Caller) -> ServerName:  # noqa: ARG001
    """Read the server's name."""
    return ServerName(await app.chat.server_settings.name())


@section.endpoint(
    "PUT", "/server/settings", scopes=("admin",), body=NewServerName, answer=ServerName, first=_check_manage
)
async def rename_server(app: Application, caller: Caller, body: NewServerName) -> ServerName:
    """Rename the server (admin)."""
    return ServerName(await app.chat.server_settings.rename(caller, body.name))
