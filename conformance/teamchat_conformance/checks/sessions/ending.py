"""SESS-OUT: signing out ends one session, one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.sessions._area import answers_to, area, sessions, sign_out
from teamchat_conformance.checks.signing_in import (
    belongs_to,
    ended,
    garbage,
    inapplicable,
    sign_in,
    somebody,
    still_good,
)
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.checks.signing_in import Session
    from teamchat_conformance.run import Run

_SUCCESS = {"success": True}

area.required("SESS-OUT-01", "§4 Sign-in", "Signing out answers 200", "notdev")
area.required("SESS-OUT-02", "§4 Sign-in, D-12", "The session can't be refreshed any more", "notdev")
area.recommended("SESS-OUT-03", "D-12", "The user's other sessions go on", "notdev")
area.recommended("SESS-OUT-04", "D-12", "The answer is success true", "notdev")
area.recommended("SESS-OUT-05", "D-12", "No refresh token is 400, one that is over is success", "notdev")
area.recommended("SESS-OUT-06", "D-12", "Another's session goes on", "notdev")
area.required("SESS-OUT-07", "D-09", "The access token is refused at once", "notdev")


@area.scenario(
    "SESS-OUT-01",
    "SESS-OUT-02",
    "SESS-OUT-03",
    "SESS-OUT-04",
    "SESS-OUT-05",
    "SESS-OUT-07",
    needs=("notdev",),
)
async def signing_out(run: Run) -> None:
    person = await somebody(run)
    if run.instance.auth.max_active_sessions < 2:
        inapplicable(run, "needs two sessions of a user", "SESS-OUT-03", "SESS-OUT-05")
        await _one_leaves(run, (await sessions(run, person, 1))[0])
        return
    leaving, staying = await sessions(run, person, 2)
    await _one_leaves(run, leaving)
    with run.verdict("SESS-OUT-03"):
        staying = await still_good(run, staying)
        await belongs_to(run, staying, person.email)
    with run.verdict("SESS-OUT-05"):
        (await run.n.post("/auth/logout", {}, token=staying.access)).error(400)
        for token in (leaving.refresh, garbage()):
            (await sign_out(run, staying, token)).expect(200).shape(_SUCCESS)
        await still_good(run, staying)


async def _one_leaves(run: Run, leaving: Session) -> None:
    answer = await sign_out(run, leaving, leaving.refresh)
    with run.verdict("SESS-OUT-01"):
        answer.expect(200)
    with run.verdict("SESS-OUT-04"):
        answer.shape(_SUCCESS)
    with run.verdict("SESS-OUT-02"):
        await ended(run, leaving)
    with run.verdict("SESS-OUT-07"):
        require(await answers_to(run, leaving) == 401, "an access token outlives its session")


@area.scenario("SESS-OUT-06", needs=("notdev",))
async def signing_out_somebody_else(run: Run) -> None:
    own, other = await somebody(run), await somebody(run)
    mine, theirs = await sign_in(run, own), await sign_in(run, other)
    with run.verdict("SESS-OUT-06"):
        (await sign_out(run, mine, theirs.refresh)).expect(200, 400, 401, 403, 404)
        await belongs_to(run, theirs, other.email)
        await still_good(run, theirs)
