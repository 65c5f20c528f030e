"""Sessions: what every way to sign in has in common. The ways themselves are plugins."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from teamchat.application import Application
from teamchat.errors import BadRequest
from teamchat.model import Caller, SessionInfo, TokenPair, User
from teamchat.web.endpoints import Answer, Section, Success

section = Section("sign-in")


class Refresh(Struct, frozen=True, rename="camel"):
    """The refresh token to spend."""

    refresh_token: str


class Logout(Struct, frozen=True, rename="camel"):
    """The session to end, by its refresh token; in dev mode there may be none (decision D-14)."""

    refresh_token: str | UnsetType = UNSET


class EndSessions(Struct, frozen=True, rename="camel"):
    """Which sessions to end (decision D-13)."""

    session_id: str | UnsetType = UNSET
    refresh_token: str | UnsetType = UNSET


class Me(Answer, frozen=True):
    """The current user. `must_change_password` is there, and true, as long as the session must (D-43).

    So is `must_set_up_second_factor` as long as the user lacks the one that the server wants of them.
    """

    user: User
    must_change_password: bool | UnsetType = UNSET
    must_set_up_second_factor: bool | UnsetType = UNSET


class SessionList(Answer, frozen=True):
    """The caller's sessions, newest first."""

    sessions: Sequence[SessionInfo]


class Ended(Answer, frozen=True):
    """How many sessions have ended."""

    revoked: int
    success: bool = True


@section.endpoint("POST", "/auth/refresh", body=Refresh, answer=TokenPair, open=True)
async def refresh(app: Application, body: Refresh) -> TokenPair:
    """Spend a refresh token on a new pair."""
    return await app.accounts.sessions.refresh(body.refresh_token)


@section.endpoint(
    "POST", "/auth/logout", body=Logout, answer=Success, optional=True, before_password_change=True
)
async def logout(app: Application, caller: Caller, body: Logout) -> Success:
    """End the session of a refresh token."""
    token = _given(body.refresh_token)
    if token is None and app.sign_in.gives_refresh_tokens:
        raise BadRequest("refreshToken is missing.")
    await app.accounts.sessions.logout(caller, token)
    return Success()


@section.endpoint(
    "GET", "/auth/me", scopes=("read",), within_places=True, answer=Me, before_password_change=True
)
async def me(app: Application, caller: Caller) -> Me:
    """Tell who is signed in."""
    is_due = caller.must_change_password and app.settings.auth.must_change_set_passwords
    lacks_factor = await app.accounts.second_steps.is_missing(caller, app.accounts.as_of)
    return Me(caller.user, is_due or UNSET, lacks_factor or UNSET)


@section.endpoint("GET", "/auth/sessions", answer=SessionList)
async def list_sessions(app: Application, caller: Caller) -> SessionList:
    """List the caller's sessions."""
    return SessionList(await app.accounts.sessions.list(caller))


@section.endpoint("DELETE", "/auth/sessions", body=EndSessions, answer=Ended, optional=True)
async def end_sessions(app: Application, caller: Caller, body: EndSessions) -> Ended:
    """End one session, all but one, or all."""
    session_id, token = _given(body.session_id), _given(body.refresh_token)
    return Ended(await app.accounts.sessions.end(caller, session_id, token))


def _given(text: str | UnsetType) -> str | None:
    return None if isinstance(text, UnsetType) else text
