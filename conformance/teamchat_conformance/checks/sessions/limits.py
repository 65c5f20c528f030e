"""SESS-LIM: a user has so many sessions at most, and one more ends the oldest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.browser import SPENT, addresses_of, sign_in_as
from teamchat_conformance.checks.sessions._area import LIVES, answers_to, area, fate, sessions, sign_out
from teamchat_conformance.checks.signing_in import (
    Session,
    ended,
    inapplicable,
    sign_in,
    somebody,
    still_good,
)
from teamchat_conformance.expect import require
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_DEFAULT = 3
_AT_ONCE = 10

area.required("SESS-LIM-01", "§5 rule 12", "One sign-in beyond the limit ends the oldest session", "notdev")
area.required("SESS-LIM-02", "§5 rule 12", "The latest sessions, as many as the limit, go on", "notdev")
area.required("SESS-LIM-03", "§8", "The limit is 3 unless it is set", "notdev")
area.required("SESS-LIM-04", "§5 rule 12", "Another user's sessions go on", "notdev")
area.required("SESS-LIM-05", "§5 rule 12", "A session that was signed out makes room", "notdev")
area.recorded("SESS-LIM-06", "§5 rule 12", "Whether the oldest is so by sign-in or by last use", "notdev")
area.required(
    "SESS-LIM-07", "§5 rule 12, D-09", "The access token of the session that ended is refused", "notdev"
)
area.required("SESS-LIM-08", "§5 rule 12", "Every way to sign in counts toward one limit", "notdev", "idp")
area.required("SESS-LIM-09", "§5 rule 12", "Many sign-ins at once leave no more than the limit", "notdev")


@area.scenario("SESS-LIM-01", "SESS-LIM-02", "SESS-LIM-03", "SESS-LIM-04", "SESS-LIM-07", needs=("notdev",))
async def one_too_many(run: Run) -> None:
    limit = run.instance.auth.max_active_sessions
    person, other = await somebody(run), await somebody(run)
    theirs = await sign_in(run, other)
    oldest, *latest = await sessions(run, person, limit + 1)
    with run.verdict("SESS-LIM-07"):
        require(await answers_to(run, oldest) == 401, "an access token outlives its session")
    with run.verdict("SESS-LIM-01"):
        await ended(run, oldest)
    with run.verdict("SESS-LIM-02"):
        for session in latest:
            await still_good(run, session)
    if limit == _DEFAULT:
        with run.verdict("SESS-LIM-03"):
            fates = [await fate(run, session) for session in await _fresh(run)]
            require(fates.count(LIVES) == _DEFAULT, f"{fates.count(LIVES)} sessions go on, not 3")
    else:
        inapplicable(run, "the limit is set to another number", "SESS-LIM-03")
    with run.verdict("SESS-LIM-04"):
        await still_good(run, theirs)


async def _fresh(run: Run) -> list[Session]:
    return await sessions(run, await somebody(run), _DEFAULT + 2)


@area.scenario("SESS-LIM-05", "SESS-LIM-06", needs=("notdev",))
async def room_for_another(run: Run) -> None:
    limit, person = run.instance.auth.max_active_sessions, await somebody(run)
    if limit < 2:
        inapplicable(run, "needs two sessions of a user", "SESS-LIM-05", "SESS-LIM-06")
        return
    *staying, leaving = await sessions(run, person, limit)
    with run.verdict("SESS-LIM-05"):
        (await sign_out(run, leaving, leaving.refresh)).expect(200)
        staying = [await still_good(run, session) for session in (*staying, await sign_in(run, person))]
    first, *others = await sessions(run, person, limit)
    first = await still_good(run, first)
    await sign_in(run, person)
    is_by_sign_in = await fate(run, first) != LIVES
    survivors = [await fate(run, session) for session in others].count(LIVES)
    run.record("SESS-LIM-06", {"oldest by": "sign-in" if is_by_sign_in else "last use", "others": survivors})


@area.scenario("SESS-LIM-08", needs=("notdev", "idp"))
async def two_ways_one_limit(run: Run) -> None:
    browser, person = addresses_of(run).browser(1), await somebody(run)
    if browser is None:
        inapplicable(run, SPENT, "SESS-LIM-08")
        return
    first = await sign_in_as(run, browser, person.email)
    others = await sessions(run, person, run.instance.auth.max_active_sessions)
    with run.verdict("SESS-LIM-08"):
        await ended(run, first)
        for session in others:
            await still_good(run, session)


@area.scenario("SESS-LIM-09", needs=("notdev",))
async def many_sign_ins_at_once(run: Run) -> None:
    if run.has("magic"):
        inapplicable(run, "a newer link ends the older, so links can't be used at once", "SESS-LIM-09")
        return
    limit, person = run.instance.auth.max_active_sessions, await somebody(run)
    made: list[Session] = []

    async def enter() -> None:
        try:
            made.append(await sign_in(run, person))
        except Miss:
            return

    async with trio.open_nursery() as nursery:
        for _ in range(_AT_ONCE):
            nursery.start_soon(enter)
    with run.verdict("SESS-LIM-09"):
        require(made, "of many sign-ins at once none succeeded")
        fates = [await fate(run, session) for session in made]
        require(
            0 < fates.count(LIVES) <= limit,
            f"{fates.count(LIVES)} sessions go on after all",
        )
