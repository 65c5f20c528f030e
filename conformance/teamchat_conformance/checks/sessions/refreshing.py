"""SESS-REF: a refresh token, and nothing else, gets a session its next access token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.sessions._area import area, sessions
from teamchat_conformance.checks.signing_in import (
    TOKENS,
    belongs_to,
    ended,
    garbage,
    outlived,
    refresh,
    refused,
    sign_in,
    somebody,
    still_good,
    taken,
)
from teamchat_conformance.checks.steps import NOT_TEXT, at, no_failure, together
from teamchat_conformance.expect import require
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_GRACE_SECONDS = 10
_AT_ONCE = 5

area.required("SESS-REF-01", "§4 Sign-in", "A refresh token answers both tokens", "notdev")
area.required("SESS-REF-02", "§5 rule 11", "The new access token is good for the same user", "notdev")
area.required("SESS-REF-03", "§5 rule 11", "No access token is needed", "notdev")
area.required("SESS-REF-05", "§7", "A refresh token that nobody gave out is refused", "notdev")
area.required("SESS-REF-06", "§7", "A refresh token that is missing or no text is refused", "notdev")
area.required("SESS-REF-08", "§2 Tokens", "An access token refreshes nothing", "notdev")
area.required("SESS-REF-09", "D-11", "Use replaces a refresh token; used again later, it ends all", "notdev")
area.required("SESS-REF-10", "§5 rule 11", "The refresh token that came last works", "notdev")
area.required("SESS-REF-11", "D-22", "The refresh token of a user who was removed is refused", "notdev")
area.required("SESS-REF-12", "§5 rule 12", "To refresh is no sign-in: it ends no other session", "notdev")
area.recommended("SESS-REF-13", "D-11", "One token refreshed several times at once ends no session", "notdev")


@area.scenario("SESS-REF-01", "SESS-REF-02", "SESS-REF-03", "SESS-REF-10", needs=("notdev",))
async def a_session_goes_on(run: Run) -> None:
    person = await somebody(run)
    session = await sign_in(run, person)
    user = await belongs_to(run, session, person.email)
    answer = await refresh(run, session)
    with run.verdict("SESS-REF-01"):
        answer.expect(200).shape(TOKENS)
    with run.verdict("SESS-REF-03"):
        answer.expect(200)
    session = taken(run, answer)
    with run.verdict("SESS-REF-02"):
        require(await belongs_to(run, session, person.email) == user, "the user is another one, or changed")
    with run.verdict("SESS-REF-10"):
        for _ in range(3):
            session = await still_good(run, session)
        await belongs_to(run, session, person.email)


@area.scenario("SESS-REF-05", "SESS-REF-06", "SESS-REF-08", "SESS-REF-11", needs=("notdev",))
async def what_refreshes_nothing(run: Run) -> None:
    person = await somebody(run)
    session = await sign_in(run, person)
    with run.verdict("SESS-REF-05"):
        for token in (garbage(), session.refresh[:-1], f"{session.refresh}x"):
            refused(await refresh(run, token), 401, accept=(400,))
    with run.verdict("SESS-REF-06"):
        for body in ({}, *({"refreshToken": value} for value in NOT_TEXT)):
            refused(await run.n.post("/auth/refresh", body), 400, accept=(401,))
        refused(await refresh(run, ""), 400, 401)
    with run.verdict("SESS-REF-08"):
        refused(await refresh(run, session.access), 401, accept=(400,))
    session = await still_good(run, session)
    (await run.a.delete(at("users", person.id))).expect(200)
    with run.verdict("SESS-REF-11"):
        await ended(run, session)


@area.scenario("SESS-REF-12", "SESS-REF-13", needs=("notdev",))
async def many_refreshes(run: Run) -> None:
    person = await somebody(run)
    first, *others = await sessions(run, person, run.instance.auth.max_active_sessions)
    with run.verdict("SESS-REF-12"):
        for _ in range(5):
            first = await still_good(run, first)
        others = [await still_good(run, other) for other in others]
    with run.verdict("SESS-REF-13"):
        answers = await together(*(refresh(run, first) for _ in range(_AT_ONCE)))
        good = [answer for answer in answers if no_failure(answer).status == 200]
        require(good, f"of {_AT_ONCE} refreshes at once none succeeded")
        if len(good) < _AT_ONCE:
            note(f"of {_AT_ONCE} refreshes at once {len(good)} succeeded")
        await still_good(run, taken(run, good[-1]))


@area.scenario("SESS-REF-09", needs=("notdev",))
async def a_stolen_token(run: Run) -> None:
    session = await sign_in(run, await somebody(run))
    with run.verdict("SESS-REF-09"):
        after = await still_good(run, session)
        require(after.refresh != session.refresh, "the refresh token is the same after its use")
        newest = await still_good(run, after)
        if run.instance.auth.refresh_seconds <= 2 * _GRACE_SECONDS:
            note("whether it works again was not looked at: refresh tokens run out too soon")
            return
        await outlived(trio.current_time(), _GRACE_SECONDS)
        await ended(run, session)
        await ended(run, newest)
