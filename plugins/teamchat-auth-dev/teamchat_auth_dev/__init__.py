"""Dev mode: an email alone signs in (interface, part 5 rule 1; decision D-14). Never for a real network.

The server does not start in this mode on anything but loopback, unless the operator
has said in so many words that it may.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from teamchat import AuthBackend, AuthMode, NoOptions, SettingsError, SignInTraits, hookimpl
from teamchat.model import User
from teamchat.web import Section, Visitor

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat.settings import Settings

TRAITS = SignInTraits(
    gives_refresh_tokens=False,
    warning=(
        "auth.authMode is dev: anyone who reaches the server is anyone.",
        "Choose password or magic-link for anything but development.",
    ),
)

_log = logging.getLogger(__name__)


class DevLogin(Struct, frozen=True, rename="camel"):
    """The body of ``POST /auth/dev-login``."""

    email: str
    code: str | UnsetType = UNSET


class DevSignedIn(Struct, frozen=True, rename="camel"):
    """The answer to it. `token` is an access token; dev mode hands out no refresh token."""

    user: User
    token: str


class DevMode:
    """`teamchat.AuthMode` for ``auth.authMode = "dev"``."""

    def check(self, settings: Settings) -> None:
        """Refuse any host but loopback, unless ``auth.allowDevModeOnNetwork`` is true (decision D-14)."""
        if settings.auth.allow_dev_mode_on_network or _is_loopback(settings.server.host):
            # A proxy on this machine would make it public all the same: let nobody overlook it.
            _log.warning("dev mode: anybody who reaches this server signs in as anybody")
            return
        raise SettingsError(
            "auth.authMode is 'dev', in which anybody signs in as anybody, and server.host is not loopback. "
            "Choose another auth.authMode, set server.host to 127.0.0.1, or, on a network where everybody "
            "may be anybody, set auth.allowDevModeOnNetwork to true."
        )

    def routes(self, app: Teamchat) -> Section:  # noqa: ARG002  # the same for every application
        """Return ``POST /auth/dev-login``."""
        section = Section("dev sign-in")
        section.endpoint("POST", "/auth/dev-login", body=DevLogin, answer=DevSignedIn, open=True)(dev_login)
        return section


async def dev_login(app: Teamchat, visitor: Visitor, body: DevLogin) -> DevSignedIn:
    """Sign in with an email alone. An unknown one is 401 when invites are required, else a new user."""
    user, signed_in = await app.accounts.sign_in(
        body.email, visitor.ip, visitor.user_agent, is_proved=False, code=body.code or None
    )
    return DevSignedIn(user, signed_in.access_token)


@asynccontextmanager
async def open_dev(options: NoOptions) -> AsyncIterator[AuthMode]:  # noqa: ARG001  # it has none
    """Open the mode; there is nothing to close."""
    yield DevMode()


@hookimpl
def auth_modes() -> Sequence[AuthBackend]:
    """Offer ``dev``."""
    return [AuthBackend("dev", open_dev, traits=TRAITS)]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
