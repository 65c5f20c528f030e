"""Deadlines: what a client does not do in time ends its connection; who is slow is served."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from teamchat.http.http1 import connection as module
from teamchat.http.http1.exchange import BODY_PATIENCE
from teamchat.http.http1.transport import WRITE_SECONDS
from tests.http1.apps import GET, echo, finish, hello, start
from tests.http1.conftest import connected

pytestmark = pytest.mark.usefixtures("wire")


async def test_an_idle_connection_is_closed_in_silence_after_75_seconds(autojump_clock: Any) -> None:
    async with connected(hello) as client:
        await client.ask(GET)
        since = trio.current_time()
        assert await client.rest() == b""
        assert trio.current_time() - since == pytest.approx(module.KEEP_ALIVE_SECONDS)


async def test_a_client_that_never_asks_is_closed_after_10_seconds(autojump_clock: Any) -> None:
    async with connected(hello) as client:
        since = trio.current_time()
        assert await client.rest() == b""
        assert trio.current_time() - since == pytest.approx(module.HEADER_SECONDS)


async def test_headers_that_trickle_in_get_10_seconds_from_their_first_byte(autojump_clock: Any) -> None:
    async with connected(hello) as client:
        await client.ask(GET)
        await trio.sleep(20)
        since = trio.current_time()
        for byte in GET[:9]:
            await client.send(bytes([byte]))
            await trio.sleep(1)
        assert (await client.answer()).error(408)
        assert trio.current_time() - since == pytest.approx(module.HEADER_SECONDS)
        assert await client.rest() == b""


async def test_a_body_that_does_not_come_is_given_up(autojump_clock: Any) -> None:
    async with connected(echo) as client:
        since = trio.current_time()
        answer = await client.ask(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhello", "POST")
        assert answer.error(408)
        assert trio.current_time() - since == pytest.approx(BODY_PATIENCE)
        assert await client.rest() == b""


async def test_a_body_that_trickles_is_given_up_and_a_slow_one_is_not(autojump_clock: Any) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 81920\r\n\r\n"
    for size, status in ((4096, 200), (512, 408)):
        async with connected(echo) as client:
            await client.send(head)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_trickle, client, size)
                assert (await client.answer("POST")).status == status
                nursery.cancel_scope.cancel()


async def _trickle(client: Any, size: int) -> None:
    for _ in range(81920 // size):
        await client.send(b"a" * size)
        await trio.sleep(2)


async def flood(scope: Any, receive: Any, send: Any) -> None:
    await start(send)
    while True:
        await send({"type": "http.response.body", "body": b"x" * 200_000, "more_body": True})


async def test_a_reader_that_stalls_is_dropped_after_30_seconds(autojump_clock: Any) -> None:
    async with connected(flood) as client:
        since = trio.current_time()
        await client.send(GET)
        await client.ended.wait()
        assert trio.current_time() - since == pytest.approx(WRITE_SECONDS)


async def test_a_reader_that_is_slow_is_not_taken_for_one_that_stalls(autojump_clock: Any) -> None:
    async def large(scope: Any, receive: Any, send: Any) -> None:
        await start(send, 200, (b"content-length", b"4000000"))
        await finish(send, b"x" * 4_000_000)

    size = 0
    async with connected(large) as client:
        await client.send(GET)
        while size < 4_000_000:
            await trio.sleep(20)
            piece = await client.stream.receive_some(300_000)
            assert piece
            size += len(piece)
        assert trio.current_time() > 200
