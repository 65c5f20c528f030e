"""What a client says about its stream while that is open (extension I-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat.accounts.scopes import check_scopes
from teamchat.application import Application
from teamchat.errors import BadRequest
from teamchat.model import Caller
from teamchat.stream.showing import Shown
from teamchat.web.endpoints import Section
from teamchat.web.responses import NoContent

MOST_WATCHED = 20
MOST_NAMED = 200

section = Section("streams")


class StreamShows(Struct, frozen=True, rename="camel"):
    """What a client shows; what it does not name stays as it is.

    `watch` are places (up to 20): of a stream with ``scope=joined`` also public channels that one is not in.
    `presence_of` are users (up to 200) of whom the stream wants to know whether they are there. `is_active`
    holds for 90 seconds, unless it is said again.
    """

    watch: Annotated[Sequence[str], Meta(max_length=MOST_WATCHED)] | UnsetType = UNSET
    presence_of: Annotated[Sequence[str], Meta(max_length=MOST_NAMED)] | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET


async def _check(app: Application, caller: Caller, connection_id: str) -> None:
    app.hub.showing.check(connection_id, caller.session_id)


@section.endpoint(
    "PUT",
    "/events/:connectionId",
    scopes=("read", "events"),
    within_places=True,
    body=StreamShows,
    answer=NoContent,
    first=_check,
    gives_way=True,
)
async def show_in_stream(
    app: Application, caller: Caller, connection_id: str, body: StreamShows
) -> NoContent:
    """Say what a stream of one's own shows, and whether one is active there."""
    shown = Shown(body.watch, body.presence_of, body.is_active)
    if shown == Shown():
        raise BadRequest("Nothing is named of watch, presenceOf and isActive.")
    if body.is_active is not UNSET:
        check_scopes(caller, ("write",))  # While one is active nothing is pushed to one's devices.
    app.hub.showing.show(connection_id, caller.session_id, shown)
    return NoContent()
