"""The area that the modules of this package add their checks to, and the steps they share."""

from __future__ import annotations

from teamchat_conformance.checks.signing_in import Person, Session, refresh, sign_in
from teamchat_conformance.expect import Answered
from teamchat_conformance.registry import Area
from teamchat_conformance.run import Run

area = Area("SESS", "Refresh, sign-out, sessions")

LIVES, IS_OVER = "lives", "is over"


async def sessions(run: Run, person: Person, count: int) -> list[Session]:
    """Start so many sessions of one user, one after another."""
    return [await sign_in(run, person) for _ in range(count)]


async def fate(run: Run, session: Session) -> str:
    """Find out whether a session can be refreshed still, for the record."""
    return LIVES if (await refresh(run, session)).status == 200 else IS_OVER


async def sign_out(run: Run, by: Session, refresh_token: str) -> Answered:
    """Sign out with a refresh token, as the user of a session."""
    return await run.n.post("/auth/logout", {"refreshToken": refresh_token}, token=by.access)


async def answers_to(run: Run, session: Session) -> int:
    """Return the status an access token gets."""
    return (await run.n.get("/auth/me", token=session.access)).status
