"""SESS-LIST, SESS-DEL: a user sees and ends their own sessions, and nobody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.sessions._area import answers_to, area, fate, sessions
from teamchat_conformance.checks.signing_in import (
    belongs_to,
    ended,
    inapplicable,
    sign_in,
    somebody,
    still_good,
)
from teamchat_conformance.checks.steps import no_trace, unknown
from teamchat_conformance.expect import Answered, any_text, array, boolean, milliseconds, require, text

if TYPE_CHECKING:
    from teamchat_conformance.checks.signing_in import Session
    from teamchat_conformance.run import Run

_SESSION = {
    "id": text,
    "createdAt": milliseconds,
    "lastUsedAt": milliseconds,
    "expiresAt": milliseconds,
    "ip": any_text,
    "userAgent": any_text,
    "isCurrentSession": boolean,
}

area.required("SESS-LIST-01", "§4 Sign-in", "The list of sessions answers 200 and JSON", "notdev")
area.recommended("SESS-LIST-02", "D-13", "It has one entry for each session, the newest first", "notdev")
area.recommended("SESS-LIST-03", "D-13", "It holds no token", "notdev")
area.required("SESS-LIST-04", "§2 Session", "It holds nothing of another user's sessions", "notdev")
area.required("SESS-DEL-01", "§4 Sign-in", "Ending one's sessions answers 200", "notdev")
area.recommended("SESS-DEL-02", "D-13", "It ends all, all but one, or one, as it was asked to", "notdev")
area.required("SESS-DEL-03", "§2 Session", "It ends no session of another user", "notdev")


async def _list(run: Run, session: Session) -> Answered:
    return await run.n.get("/auth/sessions", token=session.access)


async def _end(run: Run, session: Session, body: dict[str, Any] | None = None) -> Answered:
    given = () if body is None else (body,)
    return await run.n.delete("/auth/sessions", *given, token=session.access)


async def _current(run: Run, session: Session) -> str:
    listed = (await _list(run, session)).expect(200).shape({"sessions": array(_SESSION)})["sessions"]
    current = [one["id"] for one in listed if one["isCurrentSession"]]
    require(len(current) == 1, f"{len(current)} sessions are the current one")
    return str(current[0])


@area.scenario("SESS-LIST-01", "SESS-LIST-02", "SESS-LIST-03", "SESS-LIST-04", needs=("notdev",))
async def the_list(run: Run) -> None:
    own, other = await somebody(run), await somebody(run)
    mine = await sessions(run, own, run.instance.auth.max_active_sessions)
    theirs = await sign_in(run, other)
    answer = await _list(run, mine[-1])
    with run.verdict("SESS-LIST-01"):
        answer.ok()
    with run.verdict("SESS-LIST-03"):
        no_trace(answer, *(token for one in (*mine, theirs) for token in (one.access, one.refresh)))
    with run.verdict("SESS-LIST-02"):
        listed = answer.shape({"sessions": array(_SESSION)})["sessions"]
        require(len(listed) == len(mine), f"{len(mine)} sessions are {len(listed)} in the list")
        made = [one["createdAt"] for one in listed]
        require(made == sorted(made, reverse=True), "the newest session is not the first")
        current = [await _current(run, session) for session in mine]
        require(current == [one["id"] for one in listed][::-1], "each session should be its own current one")
    with run.verdict("SESS-LIST-04"):
        told = (await _list(run, theirs)).ok()
        no_trace(answer, other.id, other.email, *_ids(told))


def _ids(told: Any) -> list[str]:
    """Return whatever is called an id in an answer of unknown shape."""
    if isinstance(told, dict):
        own = [value for key, value in told.items() if key.lower().endswith("id") and isinstance(value, str)]
        return own + [id for value in told.values() for id in _ids(value)]
    return [id for value in told for id in _ids(value)] if isinstance(told, list) else []


@area.scenario("SESS-DEL-01", "SESS-DEL-03", needs=("notdev",))
async def ending_ones_own(run: Run) -> None:
    own, other = await somebody(run), await somebody(run)
    mine, theirs = await sign_in(run, own), await sign_in(run, other)
    with run.verdict("SESS-DEL-01"):
        (await _end(run, mine)).expect(200)
    with run.verdict("SESS-DEL-03"):
        await belongs_to(run, theirs, other.email)
        await still_good(run, theirs)


@area.scenario("SESS-DEL-02", needs=("notdev",))
async def which_ones_end(run: Run) -> None:
    if run.instance.auth.max_active_sessions < 3:
        inapplicable(run, "needs three sessions of a user", "SESS-DEL-02")
        return
    own, other = await somebody(run), await somebody(run)
    theirs = await sign_in(run, other)
    with run.verdict("SESS-DEL-02"):
        first, second, third = await sessions(run, own, 3)
        answer = await _end(run, third, {"sessionId": await _current(run, first)})
        answer.expect(200).shape({"success": True, "revoked": 1})
        fates = [await fate(run, session) for session in (first, second)]
        require(fates == ["is over", "lives"], f"one session was named: it {fates[0]}, the other {fates[1]}")
        (await _end(run, third, {"sessionId": unknown(run)})).error(404)
        (await _end(run, third, {"sessionId": await _current(run, theirs)})).error(404)
        await still_good(run, theirs)
        (await _end(run, third, {"refreshToken": third.refresh})).expect(200).shape({"success": True})
        third = await still_good(run, third)
        fourth = await sign_in(run, own)
        (await _end(run, third)).expect(200).shape({"success": True, "revoked": 2})
        for session in (second, third, fourth):
            await ended(run, session)
            require(await answers_to(run, session) == 401, "an access token outlives its session")
