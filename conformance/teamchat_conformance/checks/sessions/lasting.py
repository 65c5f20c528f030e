"""SESS-LIFE: tokens are good for their lifetimes, and no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.sessions._area import answers_to, area
from teamchat_conformance.checks.signing_in import (
    ended,
    inapplicable,
    outlived,
    sign_in,
    somebody,
    still_good,
    taken,
)
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_SHORT_SECONDS = 30

area.required("SESS-LIFE-01", "§2 Tokens", "At half its lifetime an access token is good", "notdev", "short")
area.required("SESS-LIFE-02", "§5 auth.jwtExpirySeconds", "After it, it is refused", "notdev", "short")
area.required("SESS-LIFE-03", "§2 Tokens", "The refresh token is good still", "notdev", "short")
area.required("SESS-REF-04", "§5 rule 11", "An access token that ran out does not matter", "notdev", "short")
area.required("SESS-REF-07", "§5 rule 11", "After its lifetime a refresh token is refused", "notdev", "short")


@area.scenario(
    "SESS-LIFE-01", "SESS-LIFE-02", "SESS-LIFE-03", "SESS-REF-04", "SESS-REF-07", needs=("notdev", "short")
)
async def a_session_ages(run: Run) -> None:
    auth, person = run.instance.auth, await somebody(run)
    session = await sign_in(run, person)
    began = trio.current_time()
    await trio.sleep_until(began + auth.access_seconds / 2)
    with run.verdict("SESS-LIFE-01"):
        require(await answers_to(run, session) == 200, "an access token is refused at half its lifetime")
    await outlived(began, auth.access_seconds)
    with run.verdict("SESS-LIFE-02"):
        (await run.n.get("/auth/me", token=session.access)).error(401)
    with run.verdict("SESS-LIFE-03"):
        session = await still_good(run, session)
        require(await answers_to(run, session) == 200, "a refreshed access token is refused")
    began = trio.current_time()
    await outlived(began, auth.access_seconds)
    with run.verdict("SESS-REF-04"):
        body = {"refreshToken": session.refresh}
        session = taken(run, await run.n.post("/auth/refresh", body, token=session.access))
    if auth.refresh_seconds > _SHORT_SECONDS:
        inapplicable(run, "needs auth.refreshTokenExpirySeconds to be short", "SESS-REF-07")
        return
    await outlived(trio.current_time(), auth.refresh_seconds)
    with run.verdict("SESS-REF-07"):
        await ended(run, session)
