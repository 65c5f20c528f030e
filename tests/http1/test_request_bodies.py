"""The body of a request on the wire: when it is read, what of it is passed over, and how much may be held."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from teamchat.http.http1 import connection as module
from teamchat.http.http1.exchange import DRAIN_BYTES
from teamchat.web.asgi import WHOLE_BODY
from tests.http1.apps import GET, body_of, echo, finish, hello, ignore, post, start
from tests.http1.conftest import connected

pytestmark = pytest.mark.usefixtures("wire")


async def test_100_continue_is_sent_when_the_body_is_asked_for_and_not_before(autojump_clock: Any) -> None:
    asked, go = trio.Event(), trio.Event()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        asked.set()
        await go.wait()
        await echo(scope, receive, send)

    async with connected(guarded) as client:
        await client.send(post(b"", b"Expect: 100-continue").replace(b"Length: 0", b"Length: 5"))
        await asked.wait()
        with trio.move_on_after(5) as nothing:
            await client.stream.receive_some()
        assert nothing.cancelled_caught
        go.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send, b"hello")
            answer = await client.answer("POST")
        assert answer.interim == [100]
        assert json.loads(answer.body)["body"] == "hello"
        assert await client.is_open()


async def test_100_continue_is_not_sent_into_an_answer_that_has_begun() -> None:
    async def early(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        await send({"type": "http.response.body", "body": b"hello", "more_body": True})
        await finish(send, await body_of(receive))

    async with connected(early) as client:
        await client.send(post(b"", b"Expect: 100-continue").replace(b"Length: 0", b"Length: 5"))
        await trio.testing.wait_all_tasks_blocked()
        await client.send(b"world")
        assert (await client.answer("POST")).body == b"helloworld"


async def test_a_client_that_waits_for_100_in_vain_gets_its_answer_and_is_closed() -> None:
    """RFC 9110, section 10.1.1: whether the body will come can't be known."""
    async with connected(ignore) as client:
        await client.send(post(b"", b"Expect: 100-continue").replace(b"Length: 0", b"Length: 5"))
        answer = await client.answer("POST")
        assert (answer.interim, answer.status, answer.header("connection")) == ([], 200, "close")


@pytest.mark.parametrize("apart", [False, True])
async def test_a_body_is_there_at_once_if_it_came_with_its_head(apart: bool) -> None:
    seen: list[bytes | None] = []

    async def taking(scope: Any, receive: Any, send: Any) -> None:
        whole = scope["extensions"][WHOLE_BODY]
        found = whole()
        rest = b"" if found is not None else await body_of(receive)
        seen.extend((found, whole()))
        await start(send, 200)
        await finish(send, (found or b"") + rest)

    request = post(b"hello")
    async with connected(taking) as client:
        await client.send(request[:-2] if apart else request + GET)
        if apart:
            await trio.testing.wait_all_tasks_blocked()
            await client.send(request[-2:] + GET)
        assert (await client.answer("POST")).body == b"hello"
        assert seen[:2] == ([None, None] if apart else [b"hello", None])
        assert (await client.answer()).body == b""  # What came after it is the next request, which has none.


async def test_a_small_body_that_nobody_reads_is_passed_over() -> None:
    async with connected(ignore) as client:
        assert (await client.ask(post(b"x" * DRAIN_BYTES) + GET)).header("connection") is None
        assert (await client.answer()).body == b"hello"


async def test_a_large_body_that_nobody_reads_closes_the_connection_but_not_before_the_answer_is_read() -> (
    None
):
    """RFC 9112, section 9.6."""
    async with connected(ignore) as client:
        await client.send(post(b"x" * (DRAIN_BYTES + 1)))
        answer = await client.answer()
        assert (answer.body, answer.header("connection")) == (b"hello", "close")
        await client.send(b"x" * 100_000)
        assert await client.rest() == b""
        await client.stream.send_eof()
        await client.ended.wait()


async def test_the_rest_of_a_body_is_awaited_for_a_bounded_time(autojump_clock: Any) -> None:
    async with connected(ignore) as client:
        await client.send(post(b"x" * (DRAIN_BYTES + 1))[:-10])
        since = trio.current_time()
        assert (await client.answer()).body == b"hello"
        await client.ended.wait()
        assert trio.current_time() - since == pytest.approx(module.LINGER_SECONDS)


async def test_chunks_arrive_as_one_body() -> None:
    request = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connected(echo) as client:
        answer = await client.ask(request + b"2\r\nhe\r\n3;x\r\nllo\r\n0\r\nA: b\r\n\r\n" + GET, "POST")
        assert json.loads(answer.body)["body"] == "hello"
        assert json.loads((await client.answer()).body)["method"] == "GET"


async def test_malformed_chunks_are_a_400_and_the_end() -> None:
    request = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connected(echo) as client:
        await client.send(request + b"2\r\nhexx\r\n" + GET)
        assert "chunks" in (await client.answer("POST")).error(400)
        await client.stream.send_eof()
        assert await client.rest() == b""


async def test_a_body_that_fails_once_the_answer_has_begun_is_a_disconnect() -> None:
    told: list[str] = []

    async def early(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        await send({"type": "http.response.body", "body": b"hello", "more_body": True})
        told.extend([(await receive())["type"], (await receive())["type"]])
        await finish(send)

    request = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n"
    async with connected(early) as client:
        answer = await client.ask(request, "POST")
        assert (answer.body, answer.header("connection")) == (b"hello", "close")
        await client.stream.send_eof()
        assert await client.rest() == b""
    assert told == ["http.disconnect"] * 2


async def test_a_body_that_is_asked_for_after_the_answer_is_a_disconnect() -> None:
    told: list[str] = []

    async def late(scope: Any, receive: Any, send: Any) -> None:
        await hello(scope, receive, send)
        told.append((await receive())["type"])

    async with connected(late) as client:
        assert (await client.ask(post(b"body") + GET, "POST")).body == b"hello"
        assert (await client.answer()).body == b"hello"
    assert told == ["http.disconnect"] * 2
