"""Magic links: sign in with a link that comes by mail.

Whether an email has an account is no business of who asks, so `/auth/login` answers everybody the same. Who
comes in by a link is decided in `rules`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from teamchat import AuthBackend, AuthMode, NoOptions, SettingsError, Unauthorized, hookimpl
from teamchat.model import TokenPair
from teamchat.web import Answer, Section, Visitor
from teamchat_auth_magic_link.rules import WAY, MagicLinks

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat.settings import Settings


class Email(Struct, frozen=True, rename="camel"):
    """The body of ``POST /auth/login``."""

    email: str


class LinkDraft(Struct, frozen=True, rename="camel"):
    """The body of ``POST /auth/verify``; `code` is of the second factor, where there is one."""

    email: str
    code: str | UnsetType = UNSET


class Requested(Answer, frozen=True):
    """What everybody is told who asks for a link."""

    success: bool = True
    message: str = "If you may sign in with this email, a link is on its way to it."


class Verified(TokenPair, frozen=True):
    """Who came back with a link is signed in.

    `earlier_access_ended` is there, and true, if this was the first proof of the address, and ended the
    sessions or the password that the account had before (decision D-40).
    """

    earlier_access_ended: bool | UnsetType = UNSET


class MagicLinkMode:
    """`teamchat.AuthMode` for ``auth.authMode = "magic-link"``."""

    def check(self, settings: Settings) -> None:
        """Refuse settings without mail (interface, part 5 rule 2)."""
        if settings.email is None:
            raise SettingsError(
                "auth.authMode is 'magic-link', which sends mail, and there is no table [email]. "
                "Add one with host, user and password of your SMTP server; while you develop, "
                'backend = "files" writes the mails into a directory.'
            )

    def routes(self, app: Teamchat) -> Section:  # noqa: ARG002  # the same for every application
        """Return ``POST /auth/login`` and ``POST /auth/verify``."""
        section = Section("magic-link sign-in")
        endpoint = section.endpoint
        endpoint("POST", "/auth/login", body=Email, answer=Requested, open=True)(request_link)
        endpoint(
            "POST",
            "/auth/verify",
            body=LinkDraft,
            answer=Verified,
            open=True,
            first=_check_bearer,
            security="linkToken",
        )(verify)
        return section


async def request_link(app: Teamchat, visitor: Visitor, body: Email) -> Requested:
    """Ask for a sign-in link. The answer is the same whether or not an account matches."""
    await MagicLinks(app.accounts).request(body.email, visitor.ip)
    return Requested()


async def verify(app: Teamchat, visitor: Visitor, bearer: str | None, body: LinkDraft) -> Verified:
    """Sign in with the token of a link. 400 for one that is wrong, spent or expired, 401 for none."""
    token = _given(bearer)
    signed_in = await MagicLinks(app.accounts).verify(
        body.email, token, visitor.ip, visitor.user_agent, body.code or None
    )
    return Verified(signed_in.access_token, signed_in.refresh_token, signed_in.earlier_access_ended)


async def _check_bearer(bearer: str | None) -> None:
    _given(bearer)


def _given(bearer: str | None) -> str:
    if bearer is None:
        raise Unauthorized("The token of the link is missing: send it as Authorization: Bearer <token>.")
    return bearer


@asynccontextmanager
async def open_magic_link(options: NoOptions) -> AsyncIterator[AuthMode]:  # noqa: ARG001  # it has none
    """Open the mode; there is nothing to close."""
    yield MagicLinkMode()


@hookimpl
def auth_modes() -> Sequence[AuthBackend]:
    """Offer ``magic-link``."""
    return [AuthBackend(WAY, open_magic_link)]
