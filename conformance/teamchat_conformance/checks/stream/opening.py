"""SSE-OPEN, SSE-CONN: who gets a stream, how it is answered, and its first message."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from teamchat_conformance.checks.steps import at
from teamchat_conformance.checks.stream._area import area, expiry, knock
from teamchat_conformance.events import CONNECTED
from teamchat_conformance.expect import check_shape, require
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

_FIRST_BYTE_SECONDS = 2.0
_CLOCK_SECONDS = 5.0
_ROUNDS = 50

area.required("SSE-OPEN-01", "§4 Event stream", "The access token in the query opens a text/event-stream")
area.required("SSE-OPEN-02", "§5 rule 17", "The access token in the Authorization header opens it too")
area.required("SSE-OPEN-03", "§7", "A token that is none is refused with 401 and an error, in both places")
area.required("SSE-OPEN-04", "§2 Tokens", "An expired access token is refused with 401", "short")
area.required("SSE-OPEN-05", "§5 rule 17", "Refresh tokens and webhook tokens are no access tokens: 401")
area.recorded("SSE-OPEN-06", "§5 rule 17", "A good token in one place and a bad one in the other")
area.recorded("SSE-OPEN-07", "§4 Event stream", "No Accept header, */*, and application/json")
area.recommended(
    "SSE-OPEN-08", "HTML Standard §9.2", "Not stored, not held back, of no known length; any charset is utf-8"
)
area.recommended("SSE-OPEN-09", "HTML Standard §9.2", "The first byte comes within 2 seconds")
area.required("SSE-OPEN-10", "D-22", "The token of a removed user is refused with 401")
area.required("SSE-CONN-01", "§6", "CONNECTED tells message, timestamp, userId, connectionId, all strings")
area.required("SSE-CONN-02", "§6", "CONNECTED names the user whose token it was")
area.recommended("SSE-CONN-03", "§6", "Two streams of a user have different connectionIds")
area.recommended("SSE-CONN-04", "§6", "CONNECTED's timestamp is ISO 8601, within 5 s of the Date header")
area.recommended("SSE-CONN-05", "§6", "CONNECTED comes once on a stream")
area.recommended("SSE-CONN-06", "D-34", "What is posted the moment CONNECTED is read arrives, every time")
area.monitor("SSE-CONN-05")


@area.scenario(
    "SSE-OPEN-01", "SSE-OPEN-02", "SSE-OPEN-08", "SSE-OPEN-09",
    "SSE-CONN-01", "SSE-CONN-02", "SSE-CONN-03", "SSE-CONN-04",
)  # fmt: skip
async def a_stream_opens(run: Run) -> None:
    for id, in_query in (("SSE-OPEN-01", True), ("SSE-OPEN-02", False)):
        with run.verdict(id):
            async with run.listen(run.u, in_query=in_query) as opened:
                _is_stream(opened)
    asked_at = run.recorder.now()
    async with run.listen(run.u, in_query=True) as one, run.listen(run.u) as other:
        with run.verdict("SSE-OPEN-08"):
            _is_not_held_back(one)
        with run.verdict("SSE-OPEN-09"):
            took = one.pieces[0][0] - asked_at
            require(took < run.wait(_FIRST_BYTE_SECONDS), f"the first byte came after {took:.1f} s")
        first, second = one.events[0].payload, other.events[0].payload
        with run.verdict("SSE-CONN-01"):
            wrong = check_shape(first, CONNECTED, "CONNECTED's payload")
            require(not wrong, wrong)
        with run.verdict("SSE-CONN-02"):
            require(first.get("userId") == run.u.user_id, f"CONNECTED is for {first.get('userId')}")
        with run.verdict("SSE-CONN-03"):
            same = first.get("connectionId") == second.get("connectionId")
            require(not same, f"two streams have the connectionId {first.get('connectionId')}")
        with run.verdict("SSE-CONN-04"):
            _is_now(str(first.get("timestamp")), _header(one, "date"))


@area.scenario("SSE-OPEN-03", "SSE-OPEN-05", "SSE-OPEN-06", "SSE-OPEN-07", "SSE-OPEN-10")
async def no_stream_without_an_access_token(run: Run) -> None:
    with run.verdict("SSE-OPEN-03"):
        for in_query in (True, False):
            (await knock(run, "no.such.token", in_query=in_query)).error(401)
        (await knock(run, None)).error(401)
        (await knock(run, "", in_query=True)).error(401)
    hook = await run.webhook(await run.channel())
    with run.verdict("SSE-OPEN-05"):
        for token in filter(None, (run.u.refresh_token, str(hook["token"]))):
            (await knock(run, token, in_query=True)).error(401)
            (await knock(run, token)).error(401)
    good, bad = [("Authorization", f"Bearer {run.u.token}")], [("Authorization", "Bearer bad")]
    in_header = await knock(run, "bad", in_query=True, headers=good)
    good_query = await knock(run, run.u.token, in_query=True, headers=bad)
    run.record("SSE-OPEN-06", {"good in header": in_header.status, "good in query": good_query.status})
    accepts = {str(accept): await knock(run, run.u.token, accept=accept) for accept in _ACCEPTS}
    run.record("SSE-OPEN-07", {accept: answer.status for accept, answer in accepts.items()})
    leaver = await run.new_user(name="someone who is removed")
    (await run.a.delete(at("users", leaver.user_id))).expect(200)
    with run.verdict("SSE-OPEN-10"):
        (await knock(run, leaver.token)).error(401)


_ACCEPTS = (None, "*/*", "application/json")


@area.scenario("SSE-OPEN-04", needs=["short"])
async def no_stream_for_an_expired_token(run: Run) -> None:
    token = (await run.sign_in.session(run.u.email, run.u.password))["accessToken"]
    await expiry(run, token)
    with run.verdict("SSE-OPEN-04"):
        (await knock(run, token, in_query=True)).error(401)
        (await knock(run, token)).error(401)


@area.scenario("SSE-CONN-06")
async def nothing_falls_between_connected_and_live(run: Run) -> None:
    channel = await run.channel()
    with run.verdict("SSE-CONN-06"):
        for _ in range(_ROUNDS):
            async with run.listen(run.v) as observer:
                message = await run.post(run.u, channel)
                await observer.expect("NEW_MESSAGE", seconds=run.wait(5), id=message["id"])


def _header(observer: Observer, name: str) -> str:
    return next((value for key, value in observer.headers if key.lower() == name), "")


def _is_stream(observer: Observer) -> None:
    kind = _header(observer, "content-type").partition(";")[0].strip().lower()
    require(observer.status == 200, f"GET /events: expected 200, got {observer.status}")
    require(kind == "text/event-stream", f"GET /events is {kind or 'of no type'}, not text/event-stream")


def _is_not_held_back(observer: Observer) -> None:
    require(not _header(observer, "content-length"), "a stream with a Content-Length")
    coding = _header(observer, "content-encoding").lower()
    require(coding in ("", "identity"), f"a stream with Content-Encoding {coding}")
    control = _header(observer, "cache-control").lower()
    require("no-cache" in control or "no-store" in control, f"Cache-Control is {control!r}")
    _, given, charset = _header(observer, "content-type").lower().partition("charset=")
    require(not given or charset.strip('" ') == "utf-8", f"the charset is {charset}")


def _is_now(timestamp: str, date: str) -> None:
    try:
        told = datetime.fromisoformat(timestamp)
    except ValueError:
        raise Miss(f"the timestamp {timestamp!r} is not ISO 8601") from None
    told = told if told.tzinfo else told.replace(tzinfo=UTC)
    clock = parsedate_to_datetime(date) if date else datetime.now(UTC)
    away = abs((told - clock).total_seconds())
    require(away < _CLOCK_SECONDS + 1, f"the timestamp {timestamp} is {away:.0f} s from {clock.isoformat()}")
