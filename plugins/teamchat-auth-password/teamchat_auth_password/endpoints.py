"""The endpoints of password mode; registering is none where invites are required (interface, part 4)."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from teamchat import BadRequest, Teamchat
from teamchat.model import Caller, SignedIn
from teamchat.web import Answer, Section, Success, Visitor
from teamchat_auth_password.rules import Passwords


class Credentials(Struct, frozen=True, rename="camel"):
    """The body of ``POST /auth/register``."""

    email: str
    password: str


class SignInDraft(Struct, frozen=True, rename="camel"):
    """The body of ``POST /auth/password-login``; `code` is of the second factor, where there is one."""

    email: str
    password: str
    code: str | UnsetType = UNSET


class ResetRequest(Struct, frozen=True, rename="camel"):
    """The body of ``POST /auth/request-password-reset``."""

    email: str


class Requested(Answer, frozen=True):
    """What everybody is told who asks for a new password."""

    success: bool = True
    message: str = "If there is an account with this email, a link to a new password is on its way to it."


class PasswordSetup(Struct, frozen=True, rename="camel"):
    """The body of ``POST /auth/setup-password``; the token may stand in the Authorization header instead."""

    email: str
    password: str
    token: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


class PasswordChange(Struct, frozen=True, rename="camel"):
    """The body of ``PUT /auth/password``: the present password, and the one to have instead."""

    password: str
    new_password: str


def section_for(app: Teamchat) -> Section:
    """Return sign-in, reset and set-up, and ``POST /auth/register`` where invites are not required."""
    section = Section("password sign-in")
    endpoint = section.endpoint
    endpoint("POST", "/auth/password-login", body=SignInDraft, answer=SignedIn, open=True)(password_login)
    endpoint("POST", "/auth/request-password-reset", body=ResetRequest, answer=Requested, open=True)(
        request_password_reset
    )
    endpoint("POST", "/auth/setup-password", body=PasswordSetup, answer=SignedIn, open=True)(setup_password)
    endpoint("PUT", "/auth/password", body=PasswordChange, answer=Success, before_password_change=True)(
        change_password
    )
    if not app.settings.auth.is_invite_required:
        endpoint("POST", "/auth/register", body=Credentials, answer=SignedIn, open=True)(register)
    return section


async def password_login(app: Teamchat, visitor: Visitor, body: SignInDraft) -> SignedIn:
    """Sign in. 401 for invalid credentials, 429 after too many failures.

    Where the password is right and a second factor is missing or wrong, 401 has ``WWW-Authenticate:
    SecondFactor``.
    """
    return await Passwords(app.accounts).login(
        body.email, body.password, visitor.ip, visitor.user_agent, body.code or None
    )


async def register(app: Teamchat, visitor: Visitor, body: Credentials) -> SignedIn:
    """Create a user and sign in. 400 for an email that is taken or invalid, or a password too short."""
    return await Passwords(app.accounts).register(body.email, body.password, visitor.ip, visitor.user_agent)


async def request_password_reset(app: Teamchat, visitor: Visitor, body: ResetRequest) -> Requested:
    """Ask for a link to a new password. The answer is the same whether or not an account matches."""
    await Passwords(app.accounts).request_reset(body.email, visitor.ip)
    return Requested()


async def setup_password(
    app: Teamchat, visitor: Visitor, bearer: str | None, body: PasswordSetup
) -> SignedIn:
    """Set a password by an invitation or a reset link, and sign in. 400 for a token that does not work."""
    token = bearer if body.token is UNSET else body.token
    if not token:
        raise BadRequest("token is missing.")
    return await Passwords(app.accounts).set_up(
        body.email, token, body.password, visitor.ip, visitor.user_agent, body.code or None
    )


async def change_password(app: Teamchat, caller: Caller, visitor: Visitor, body: PasswordChange) -> Success:
    """Change one's own password; one's other sessions end. 401 for a wrong one, 429 after too many."""
    await Passwords(app.accounts).change(caller, body.password, body.new_password, visitor.ip)
    return Success()
