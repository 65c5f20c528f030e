"""SSE-LIFE: how long a stream lasts, what keeps it alive, what ends it, and who suffers when one goes."""

from __future__ import annotations

import statistics
import struct
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import trio

from teamchat_conformance.checks.steps import at
from teamchat_conformance.checks.stream._area import area, expiry
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

_KEEP_ALIVE_SECONDS = 20.0
_IDLE_SECONDS = 95.0
_MOST_STREAMS = 20
_TIMES = 100
_LINGER = struct.pack("ii", 1, 0)

area.recommended("SSE-LIFE-01", "D-33", "A quiet stream gets a comment line every 15 seconds")
area.recommended("SSE-LIFE-02", "D-33", "After 95 quiet seconds a stream is open, and gets events", "slow")
area.recommended("SSE-LIFE-03", "D-37", "A stream outlives the access token it was opened with", "short")
area.required("SSE-LIFE-05", "§1, D-35", "Two streams of one user both get every event")
area.recommended("SSE-LIFE-06", "D-37", "Of 21 streams of one user the oldest is closed, and 20 stay")
area.recommended("SSE-LIFE-07", "D-37", "After a hundred streams opened and dropped the next opens as soon")
area.recommended("SSE-LIFE-08", "D-37", "A stream that is reset by its client troubles nobody else")
area.recommended("SSE-LIFE-09", "D-37", "Signing out, ending sessions, and removal of a user end streams")
area.recorded("SSE-LIFE-11", "§6", "A client that closes its sending side after the request")


@area.scenario("SSE-LIFE-01", "SSE-LIFE-06", "SSE-LIFE-07", "SSE-LIFE-08", "SSE-LIFE-11")
async def while_a_stream_is_quiet(run: Run) -> None:
    many = await run.new_user(name="someone with many streams")
    async with run.listen(run.w) as quiet:
        with run.verdict("SSE-LIFE-07"):
            await _opens_and_drops(run)
        with run.verdict("SSE-LIFE-06"):
            await _one_too_many(run, many)
        with run.verdict("SSE-LIFE-08"):
            for _ in range(5):
                await _is_reset(run)
            await run.fence(quiet)
            (await run.n.get("/health")).expect(200)
        run.record("SSE-LIFE-11", await _half_closed(run))
        with run.verdict("SSE-LIFE-01"):
            await _comment(quiet, run.wait(_KEEP_ALIVE_SECONDS))


async def _opens_and_drops(run: Run) -> None:
    times = []
    for _ in range(_TIMES + 1):
        began = run.recorder.now()
        async with run.listen(run.v):
            times.append(run.recorder.now() - began)
    usual = statistics.median(times[:10])
    most = max(10 * usual, run.wait(0.5))
    require(times[-1] < most, f"stream {len(times)} opened in {times[-1]:.2f} s, the first in {usual:.2f} s")


async def _one_too_many(run: Run, actor: Any) -> None:
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(run.listen(actor)) for _ in range(_MOST_STREAMS + 1)]
        await streams[0].ended(run.wait(5))
        await run.fence(*streams[1:])
        ended = [number for number, one in enumerate(streams[1:], 2) if one.ended_at is not None]
        require(not ended, f"the streams number {ended} were closed too")


async def _is_reset(run: Run) -> None:
    """Open a stream, read a little, and reset the connection."""
    parts = urlsplit(run.instance.base_url)
    if parts.scheme == "https":
        return
    stream = await trio.open_tcp_stream(parts.hostname or "", parts.port or 80)
    lines = (
        f"GET {parts.path}/events HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Authorization: Bearer {run.v.token}",
    )
    await stream.send_all("\r\n".join([*lines, "", ""]).encode())
    with trio.move_on_after(run.wait(5)):
        await stream.receive_some(64)
    stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, _LINGER)
    await trio.aclose_forcefully(stream)


async def _half_closed(run: Run) -> str:
    if run.instance.base_url.startswith("https"):
        return "not tried over TLS"
    async with run.listen(run.v, half_close=True) as observer:
        message = await run.post(run.u, await run.channel())
        with trio.move_on_after(run.wait(5)):
            while observer.ended_at is None and not observer.since(0, "NEW_MESSAGE", id=message["id"]):
                await observer.change()
        return "the stream goes on" if observer.ended_at is None else "the stream ends"


async def _comment(observer: Observer, seconds: float) -> None:
    with trio.move_on_after(seconds):
        while not observer.comments and observer.ended_at is None:
            await observer.change()
    require(observer.ended_at is None, "the quiet stream ended")
    require(observer.comments, f"no comment line within {seconds:g} s")


@area.scenario("SSE-LIFE-02", needs=["slow"])
async def after_a_long_silence(run: Run) -> None:
    async with run.listen(run.v) as observer:
        with trio.move_on_after(_IDLE_SECONDS):
            await observer.ended(2 * _IDLE_SECONDS)
        with run.verdict("SSE-LIFE-02"):
            await run.fence(observer)


@area.scenario("SSE-LIFE-03", needs=["short"])
async def longer_than_its_token(run: Run) -> None:
    token = (await run.sign_in.session(run.u.email, run.u.password))["accessToken"]
    async with run.listen(run.u, token=token) as observer:
        await expiry(run, token)
        with run.verdict("SSE-LIFE-03"):
            await run.fence(observer)


@area.scenario("SSE-LIFE-05")
async def two_streams_of_one(run: Run) -> None:
    channel = await run.channel()
    async with run.listen(run.u) as one, run.listen(run.u, in_query=True) as other:
        posted = [(await run.post(run.v, channel))["id"] for _ in range(20)]
        with run.verdict("SSE-LIFE-05"):
            await run.fence(one, other)
            for observer in (one, other):
                came = [event.payload["id"] for event in observer.since(0, "NEW_MESSAGE", channelId=channel)]
                require(came == posted, f"{len(came)} of {len(posted)} events came on one of two streams")


@area.scenario("SSE-LIFE-09")
async def what_ends_a_stream(run: Run) -> None:
    removed = await run.new_user(name="someone who is removed")
    ended = await run.new_user(name="someone who ends all sessions")
    gone = await run.new_user(name="someone who signs out")
    async with run.listen(removed) as first, run.listen(ended) as second, run.listen(gone) as third:
        with run.verdict("SSE-LIFE-09"):
            (await run.a.delete(at("users", removed.user_id))).expect(200)
            await first.ended(run.wait(5))
            (await ended.delete("/auth/sessions")).expect(200)
            await second.ended(run.wait(5))
            body = {"refreshToken": gone.refresh_token} if gone.refresh_token else {}
            (await gone.post("/auth/logout", body)).expect(200)
            await third.ended(run.wait(5))
