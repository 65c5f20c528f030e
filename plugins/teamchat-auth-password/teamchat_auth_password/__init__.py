"""Password mode: sign in with an email and a password, set one by a link, register where that is open.

What passwords have to be and how they are kept is `teamchat.accounts`'s, for an admin may give anybody one in
every mode; who comes in with one is decided in `rules`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from teamchat import AuthBackend, AuthMode, NoOptions, SignInTraits, hookimpl
from teamchat_auth_password.endpoints import section_for
from teamchat_auth_password.rules import WAY, Passwords

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat.settings import Settings
    from teamchat.web import Section

__all__ = ["TRAITS", "PasswordMode", "Passwords", "auth_modes", "open_password"]

TRAITS = SignInTraits(asks_for_passwords=True, lets_register=True)


class PasswordMode:
    """`teamchat.AuthMode` for ``auth.authMode = "password"``."""

    def check(self, settings: Settings) -> None:
        """Accept all settings: password mode works with and without email."""

    def routes(self, app: Teamchat) -> Section:
        """Return the endpoints."""
        return section_for(app)


@asynccontextmanager
async def open_password(options: NoOptions) -> AsyncIterator[AuthMode]:  # noqa: ARG001  # it has none
    """Open the mode; there is nothing to close."""
    yield PasswordMode()


@hookimpl
def auth_modes() -> Sequence[AuthBackend]:
    """Offer ``password``."""
    return [AuthBackend(WAY, open_password, traits=TRAITS)]
