"""SSE-SLOW, SSE-MANY: one who does not read delays nobody, and many get everything (decision D-37)."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.steps import messages_at
from teamchat_conformance.checks.stream._area import area, listening_to
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Event, Observer

_EVENTS = 2_000
_WRITERS = 8
_LENGTH = 2_000
_BUFFER = 4_096
_SOON_SECONDS = 2.0
_USERS = 50
_POSTS = 100

area.recommended("SSE-SLOW-01", "D-37", "While one client reads nothing, another gets 2,000 events", "load")
area.recommended("SSE-SLOW-02", "D-37", "Meanwhile requests are answered within 2 seconds", "load")
area.recorded("SSE-SLOW-03", "D-37", "What the one who read nothing gets when reading again", "load")
area.recommended("SSE-MANY-01", "D-35", "Of fifty streams each gets each of a hundred posts once", "load")


@area.scenario("SSE-SLOW-01", "SSE-SLOW-02", "SSE-SLOW-03", needs=["load"])
async def one_who_does_not_read(run: Run) -> None:
    channel = await run.channel()
    slow_user = await run.new_user(name="a slow reader")
    answered: dict[str, float] = {}
    slowest = [0.0]
    async with run.listen(run.v) as healthy, run.listen(slow_user, receive_buffer=_BUFFER) as slow:
        slow.hold()
        async with trio.open_nursery() as nursery:
            for _ in range(_WRITERS):
                nursery.start_soon(_pour, run, channel, answered, slowest)
        with run.verdict("SSE-SLOW-01") as finding:
            await run.fence(healthy)
            came = {event.payload.get("id"): event.at for event in _posts(healthy, channel)}
            require(came.keys() == answered.keys(), f"{len(came)} of {len(answered)} events came")
            delays = sorted(max(0.0, came[id] - answered[id]) for id in came)
            finding.value = {"median": round(statistics.median(delays), 4), "worst": round(delays[-1], 4)}
            require(delays[-1] < run.wait(_SOON_SECONDS), f"an event came {delays[-1]:.1f} s late")
        with run.verdict("SSE-SLOW-02"):
            require(slowest[0] < run.wait(_SOON_SECONDS), f"an answer took {slowest[0]:.1f} s")
        slow.release()
        run.record("SSE-SLOW-03", await _what_is_left(run, slow, channel, list(came)))


async def _pour(run: Run, channel: str, answered: dict[str, float], slowest: list[float]) -> None:
    for _ in range(_EVENTS // _WRITERS):
        began = time.monotonic()
        answer = await run.u.post(messages_at(channel), {"content": run.text().ljust(_LENGTH, "x")})
        slowest[0] = max(slowest[0], time.monotonic() - began)
        answered[answer.ok()["message"]["id"]] = run.recorder.exchanges[answer.exchange - 1].ended


def _posts(observer: Observer, channel: str) -> list[Event]:
    return observer.since(0, "NEW_MESSAGE", channelId=channel)


async def _what_is_left(run: Run, slow: Observer, channel: str, wanted: list[str]) -> str:
    with trio.move_on_after(run.wait(10)):
        while slow.ended_at is None and len(_posts(slow, channel)) < len(wanted):
            await slow.change()
    came = [event.payload["id"] for event in _posts(slow, channel)]
    order = "in order" if came == wanted[: len(came)] else "NOT in order"
    end = "ended properly" if slow.ended_properly else "was cut off"
    ended = "" if slow.ended_at is None else f"; the stream {end}"
    cut = "; a message was cut" if slow.odd_frames else ""
    return f"{len(came)} of {len(wanted)} events, {order}{ended}{cut}"


@area.scenario("SSE-MANY-01", needs=["load"])
async def fifty_streams(run: Run) -> None:
    channel = await run.channel()
    users = [await run.new_user(name=f"listener {number}") for number in range(_USERS)]
    async with listening_to(run, *users) as observers:
        posted = [(await run.post(run.u, channel))["id"] for _ in range(_POSTS)]
        await run.fence(*observers)
        with run.verdict("SSE-MANY-01"):
            for observer in observers:
                came = [event.payload["id"] for event in _posts(observer, channel)]
                require(came == posted, f"{observer.name} got {len(came)} of {_POSTS}, or not in order")
