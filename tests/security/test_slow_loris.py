"""Thousands of connections that send a byte at a time, or nothing: others are served, and they end.

Five kinds of 500 each against a server in a process of its own, over real sockets.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from benchmarks.unread import resident
from teamchat.testing import Server
from tests.harness import running

EACH = 500
MIB = 1024 * 1024
MOST_GROWN = 150 * MIB
DEADLINE_SECONDS = 150.0
BETWEEN_BYTES = 1.0
TIMES_ASKED = 40

pytestmark = [pytest.mark.slow, pytest.mark.alone]

Kind = Callable[[trio.SocketStream, bytes], Awaitable[None]]


async def _nothing(stream: trio.SocketStream, _: bytes) -> None:
    """Is connected, and that is all."""
    await stream.receive_some()


async def _half_a_head(stream: trio.SocketStream, _: bytes) -> None:
    await stream.send_all(b"GET /health HTTP/1.1\r\nHost: here\r\n")
    await _trickle(stream, b"X-Padding: " + b"a" * 100_000)


async def _a_body(stream: trio.SocketStream, token: bytes) -> None:
    head = (
        b"POST /channels HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer %b\r\nContent-Length: 9000\r\n\r\n"
    )
    await stream.send_all(head % token)
    await _trickle(stream, b'{"name": "' + b"a" * 8000)


async def _chunks(stream: trio.SocketStream, token: bytes) -> None:
    head = b"POST /channels HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer %b\r\n" % token
    await stream.send_all(head + b"Transfer-Encoding: chunked\r\n\r\n")
    await _trickle(stream, b"1\r\n{\r\n" * 1000, size=6)


async def _unknown_body(stream: trio.SocketStream, _: bytes) -> None:
    """Sends the body of a sign-in, for which nobody has to be anybody."""
    await stream.send_all(b"POST /auth/dev-login HTTP/1.1\r\nHost: here\r\nContent-Length: 9000\r\n\r\n")
    await _trickle(stream, b'{"email": "' + b"a" * 8000)


KINDS: tuple[Kind, ...] = (_nothing, _half_a_head, _a_body, _chunks, _unknown_body)


async def _trickle(stream: trio.SocketStream, data: bytes, size: int = 1) -> None:
    """Send so few bytes at a time until the server has ended the connection."""
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _end() -> None:
            while await stream.receive_some():
                pass
            nursery.cancel_scope.cancel()

        for start in range(0, len(data), size):
            await stream.send_all(data[start : start + size])
            await trio.sleep(BETWEEN_BYTES)


@asynccontextmanager
async def attacked(port: int, token: str) -> AsyncIterator[trio.Event]:
    """Open all connections, and yield what happens once the server has ended every one of them."""
    is_open: list[str] = []
    all_open, all_ended = trio.Event(), trio.Event()

    async def attack(kind: Kind) -> None:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        is_open.append(kind.__name__)
        if len(is_open) == EACH * len(KINDS):
            all_open.set()
        async with stream:
            await all_open.wait()
            try:
                await kind(stream, token.encode())
            except* trio.BrokenResourceError:
                pass
            is_open.remove(kind.__name__)
            if not is_open:
                all_ended.set()

    async with trio.open_nursery() as nursery:
        for kind in KINDS:
            for _ in range(EACH):
                nursery.start_soon(attack, kind)
        with trio.fail_after(DEADLINE_SECONDS):
            await all_open.wait()
        try:
            yield all_ended
        except trio.TooSlowError:
            raise AssertionError(f"still open: {Counter(is_open)}") from None
        nursery.cancel_scope.cancel()


@pytest.fixture
def descriptors() -> None:
    wanted, (soft, hard) = 2 * EACH * len(KINDS), resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        pytest.skip(f"this machine allows a process {hard} descriptors, and this takes {wanted}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


@pytest.mark.usefixtures("descriptors")
@pytest.mark.parametrize("http1", ["native", "hypercorn"])
async def test_who_comes_forward_a_byte_at_a_time_holds_up_nobody_and_is_cut(
    tmp_path: Path, http1: str
) -> None:
    async with running(tmp_path, server={"http1": http1}) as server:
        await _prove(server)


async def _prove(server: Server) -> None:
    async with await server.sign_in("eve@example.org") as eve, await server.sign_in() as ada:
        [channel] = (await ada.get("/channels")).json()["channels"]
        token = eve.headers["authorization"].removeprefix("Bearer ")
        before = resident(server.process.pid)
        async with attacked(int(server.base.rpartition(":")[2]), token) as all_ended:
            for number in range(TIMES_ASKED):
                path = f"/channels/{channel['id']}/messages"
                assert (await ada.post(path, json={"content": str(number)})).status_code == 200
                assert (await ada.get(path)).status_code == 200
            grown = resident(server.process.pid) - before
            assert grown < MOST_GROWN, f"grown by {grown / MIB:.0f} MiB"
            with trio.fail_after(DEADLINE_SECONDS):
                await all_ended.wait()
        assert (await ada.get("/health")).status_code == 200
