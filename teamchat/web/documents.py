"""What the server says about itself: its OpenAPI document and its clients' configuration (decision D-38).

A built-in plugin, offered by the same hook as any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from teamchat.interfaces.hookspecs import hookimpl
from teamchat.web.endpoints import Section
from teamchat.web.openapi import document
from teamchat.web.responses import Response

if TYPE_CHECKING:
    from teamchat.application import Application
    from teamchat.interfaces import SignInTraits
    from teamchat.settings import Settings
    from teamchat.web.app import App

_FRESH = "no-cache"
_encode = msgspec.json.Encoder().encode


class SignIn(Struct, frozen=True, rename="camel"):
    """Which ways to sign in there are, as clients of the interface's origin read it (decision D-42)."""

    mode: str
    has_email: bool
    is_invite_required: bool
    oauth_enabled: bool
    password_reset_enabled: bool
    registration_enabled: bool


class ClientConfiguration(Struct, frozen=True):
    """What a web client must know (interface, part 5).

    `API_BASE_URL` empty means: the origin this was read from.  Extensions are `IS_INVITE_REQUIRED`, whether
    only admins add users (if not, a client offers people to sign up), `MUST_CHANGE_SET_PASSWORDS`, whether a
    password that an admin sets must be changed at the next sign-in (decision D-43), and
    `MAX_MESSAGE_LENGTH`, the most characters (code points) that a message holds, so that a client can say so
    before it sends one.
    """

    AUTH_MODE: str
    HAS_EMAIL: bool
    ENABLE_OAUTH: bool
    IS_INVITE_REQUIRED: bool
    MUST_CHANGE_SET_PASSWORDS: bool
    auth: SignIn
    MAX_MESSAGE_LENGTH: int
    API_BASE_URL: str = ""


def configuration(settings: Settings, sign_in: SignInTraits) -> ClientConfiguration:
    """Return the clients' configuration that follows from the server's, and from the ways to sign in."""
    mode, is_invite_required = settings.auth.auth_mode, settings.auth.is_invite_required
    has_email = settings.email is not None
    return ClientConfiguration(
        AUTH_MODE=mode,
        HAS_EMAIL=has_email,
        ENABLE_OAUTH=sign_in.leads_to_providers,
        IS_INVITE_REQUIRED=is_invite_required,
        MUST_CHANGE_SET_PASSWORDS=settings.auth.must_change_set_passwords,
        auth=SignIn(
            mode=mode,
            has_email=has_email,
            is_invite_required=is_invite_required,
            oauth_enabled=sign_in.leads_to_providers,
            password_reset_enabled=sign_in.asks_for_passwords and has_email,
            registration_enabled=sign_in.lets_register and not is_invite_required,
        ),
        MAX_MESSAGE_LENGTH=settings.chat.max_message_length,
    )


@hookimpl
def routes(app: Application) -> Sequence[Section]:
    """Offer /openapi.json, /config.js and /config.json."""
    section = Section("documents")
    config = _encode(configuration(app.settings, app.sign_in))
    # `<` never ends a script element, wherever the text is put.
    script = b"window.TEAMCHAT_CONFIG = %b;\n" % config.replace(b"<", b"\\u003c")
    described: list[bytes] = []

    @section.endpoint("GET", "/openapi.json", answer=dict, open=True)
    async def openapi_document(site: App) -> Response:
        """Read this document."""
        if not described:
            brought = site.core.capabilities
            fields, drafts = brought.message_fields.offered, brought.drafts.offered
            users = brought.user_fields.offered
            described.append(_encode(document(site.endpoints, fields, drafts, users)))
        return _document(described[0], "application/json")

    @section.endpoint("GET", "/config.json", answer=ClientConfiguration, open=True)
    async def client_configuration() -> Response:
        """Read the web client's configuration."""
        return _document(config, "application/json")

    @section.endpoint("GET", "/config.js", answer="text/javascript", open=True)
    async def client_configuration_script() -> Response:
        """Read the web client's configuration as a script."""
        return _document(script, "text/javascript; charset=utf-8")

    return [section]


def _document(body: bytes, content_type: str) -> Response:
    return Response(body, content_type, headers={"Cache-Control": _FRESH})
