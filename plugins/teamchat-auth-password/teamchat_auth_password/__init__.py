"""Password mode: sign in with an email and a password, and register where invites are not required.

What must stay true: everything about passwords is decided in `teamchat.accounts`; this module gives it
routes, and ``/auth/register`` is no route at all when invites are required (interface, part 4).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from teamchat.hookspecs import hookimpl
from teamchat.interfaces import AuthMode, Backend, NoOptions
from teamchat.model import SignedIn
from teamchat.web import Section, Visitor

if TYPE_CHECKING:
    from quart import Blueprint

    from teamchat.application import Application
    from teamchat.settings import Settings


class Credentials(Struct, frozen=True, rename="camel"):
    """The body of ``POST /auth/password-login`` and ``POST /auth/register``."""

    email: str
    password: str


class PasswordMode:
    """`teamchat.interfaces.AuthMode` for ``auth.authMode = "password"``."""

    def check(self, settings: Settings) -> None:
        """Accept all settings: password mode works with and without email."""

    def routes(self, app: Application) -> Blueprint:
        """Return ``POST /auth/password-login`` and, without required invites, ``POST /auth/register``."""
        section = Section("password sign-in")
        endpoint = section.endpoint
        endpoint("POST", "/auth/password-login", body=Credentials, answer=SignedIn, open=True)(password_login)
        if not app.settings.auth.is_invite_required:
            endpoint("POST", "/auth/register", body=Credentials, answer=SignedIn, open=True)(register)
        return section


async def password_login(app: Application, visitor: Visitor, body: Credentials) -> SignedIn:
    """Sign in. 401 for invalid credentials, 429 after too many failures."""
    return await app.accounts.passwords.login(body.email, body.password, visitor.ip, visitor.user_agent)


async def register(app: Application, visitor: Visitor, body: Credentials) -> SignedIn:
    """Create a user and sign in. 400 for an email that is taken or invalid, or a password too short."""
    return await app.accounts.passwords.register(body.email, body.password, visitor.ip, visitor.user_agent)


@asynccontextmanager
async def open_password(options: NoOptions) -> AsyncIterator[AuthMode]:  # noqa: ARG001  # it has none
    """Open the mode; there is nothing to close."""
    yield PasswordMode()


@hookimpl
def auth_modes() -> Sequence[Backend[AuthMode]]:
    """Offer ``password``."""
    return [Backend("password", open_password)]
