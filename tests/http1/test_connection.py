"""One connection: one request after the other, what is refused, and what a client finds at its end."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from teamchat.http.http1 import connection as module
from teamchat.http.http1.exchange import READ_BYTES
from tests.http1.apps import CLOSE, GET, body_of, echo, finish, hello, post, start
from tests.http1.conftest import PATIENCE, Serving, connected

pytestmark = pytest.mark.usefixtures("wire")


async def test_the_application_sees_the_request_as_asgi_describes_it(wire: str) -> None:
    request = b"POST /a%20b?c=%20 HTTP/1.1\r\nHost: x\r\nX-Y: z\r\nContent-Length: 2\r\n\r\nhi"
    async with connected(echo) as client:
        seen = json.loads((await client.ask(request, "POST")).body)
    assert (seen["type"], seen["method"], seen["http_version"], seen["scheme"]) == (
        "http",
        "POST",
        "1.1",
        "https" if wire == "tls" else "http",
    )
    assert (seen["path"], seen["raw_path"], seen["query"], seen["root_path"]) == (
        "/a b",
        "/a%20b",
        "c=%20",
        "",
    )
    assert seen["headers"] == [["host", "x"], ["x-y", "z"], ["content-length", "2"]]
    assert seen["body"] == "hi"


async def test_a_connection_serves_one_request_after_the_other() -> None:
    async with connected(hello) as client:
        for _ in range(3):
            assert (await client.ask(GET)).body == b"hello"
        assert await client.is_open()


async def test_requests_that_come_at_once_are_answered_in_order() -> None:
    async with connected(echo) as client:
        await client.send(post(b"one") + post(b"two") + GET)
        assert [json.loads((await client.answer()).body)["body"] for _ in range(3)] == ["one", "two", ""]


async def test_nothing_of_a_request_reaches_the_application_before_the_answer_to_the_one_before() -> None:
    seen: list[str] = []
    go = trio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["path"])
        if scope["path"] == "/":
            await go.wait()
        await hello(scope, receive, send)

    async with connected(slow) as client:
        await client.send(GET + GET.replace(b"/ ", b"/2 "))
        await trio.testing.wait_all_tasks_blocked()
        assert seen == ["/"]
        go.set()
        assert (await client.answer()).body == (await client.answer()).body == b"hello"
    assert seen == ["/", "/2"]


async def test_what_is_read_ahead_is_bounded(autojump_clock: Any) -> None:
    async def listens(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async with connected(listens) as client:
        await client.send(GET)
        with trio.move_on_after(1):
            while True:
                await client.send(GET * 100)
        assert len(client.connection.transport.unread) <= 2 * READ_BYTES


@pytest.mark.parametrize(
    "request_", [CLOSE, b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"]
)
async def test_a_client_that_wants_it_so_is_closed_after_its_answer(request_: bytes) -> None:
    async with connected(hello) as client:
        answer = await client.ask(request_)
        assert (answer.body, answer.header("connection")) == (b"hello", "close")
        assert await client.rest() == b""


async def test_an_application_may_close_the_connection() -> None:
    async def closing(scope: Any, receive: Any, send: Any) -> None:
        await start(send, 200, (b"Connection", b"close"))
        await finish(send, b"bye")

    async with connected(closing) as client:
        answer = await client.ask(GET)
        assert [pair for pair in answer.headers if pair[0] == "connection"] == [("connection", "close")]
        assert await client.rest() == b""


async def test_a_connection_serves_a_bounded_number_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REQUESTS", 2)
    async with connected(hello) as client:
        assert (await client.ask(GET)).header("connection") is None
        assert (await client.ask(GET)).header("connection") == "close"
        assert await client.rest() == b""


# A client that goes


async def test_a_client_that_ends_its_side_after_its_request_is_answered() -> None:
    go = trio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await go.wait()
        await hello(scope, receive, send)

    async with connected(slow) as client:
        await client.send(GET)
        await client.stream.send_eof()
        await trio.testing.wait_all_tasks_blocked()
        go.set()
        assert (await client.answer()).body == b"hello"
        assert await client.rest() == b""


async def test_an_application_that_listens_learns_that_the_client_has_gone_and_is_not_cancelled() -> None:
    told = trio.Event()

    async def listens(scope: Any, receive: Any, send: Any) -> None:
        assert await receive() == {"type": "http.request", "body": b"", "more_body": False}
        assert (await receive())["type"] == "http.disconnect"
        await trio.lowlevel.checkpoint()
        told.set()

    async with connected(listens) as client:
        await client.send(GET)
        await trio.testing.wait_all_tasks_blocked()
        await client.stream.aclose()
        with trio.fail_after(PATIENCE):
            await told.wait()
            await client.ended.wait()


async def test_an_application_that_listens_is_told_when_its_answer_is_complete() -> None:
    told: list[str] = []

    async def both(scope: Any, receive: Any, send: Any) -> None:
        async def listen() -> None:
            await receive()
            told.append((await receive())["type"])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await trio.testing.wait_all_tasks_blocked()
            await hello(scope, receive, send)

    async with connected(both) as client:
        for _ in range(2):
            assert (await client.ask(GET)).body == b"hello"
        assert await client.is_open()
    assert told == ["http.disconnect"] * 2


async def test_a_body_that_breaks_off_is_a_disconnect() -> None:
    ends: list[str] = []

    async def reads(scope: Any, receive: Any, send: Any) -> None:
        with pytest.raises(EOFError):
            await body_of(receive)
        ends.append("gone")
        await hello(scope, receive, send)

    async with connected(reads) as client:
        await client.send(post(b"hello")[:-1])
        await client.stream.send_eof()
        assert (await client.answer()).body == b"hello"
    assert ends == ["gone"]


# What is refused


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nExpect: x\r\nContent-Length: 5\r\n\r\nhello", 417),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (b"GET /" + b"a" * 40_000, 414),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 40_000, 431),
    ],
)
async def test_d01_a_request_that_is_none_is_answered_in_the_one_shape_of_errors(
    request_: bytes, status: int
) -> None:
    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError(scope)

    async with connected(never) as client:
        answer = await client.ask(request_ + GET)
        assert answer.error(status)
        assert answer.header("connection") == "close"
        assert answer.header("date")
        assert await client.rest() == b""
        await client.send(b"x" * 1000)
        assert await client.is_open(), "it takes what still comes, lest the answer be lost"
        await client.stream.send_eof()
        await client.ended.wait()


async def test_a_request_that_breaks_off_is_answered_too() -> None:
    async with connected(hello) as client:
        await client.send(b"GET / HTTP/1.1\r\nHost")
        await client.stream.send_eof()
        assert (await client.answer()).error(400)


@pytest.mark.parametrize(("length", "stays"), [(0, True), (5, False)])
async def test_options_of_the_whole_server_are_answered_here(length: int, stays: bool) -> None:
    request = b"OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length
    async with connected(hello) as client:
        answer = await client.ask(request, "OPTIONS")
        assert (answer.status, answer.header("allow")) == (
            204,
            "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        )
        assert answer.header("connection") == (None if stays else "close")
        await client.stream.send_eof()
        await client.ended.wait()


async def test_the_answer_to_options_of_the_whole_server_is_not_lost_when_a_body_follows() -> None:
    """RFC 9112, section 9.6."""
    async with connected(hello) as client:
        answer = await client.ask(
            b"OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", "OPTIONS"
        )
        assert (answer.status, answer.header("connection")) == (204, "close")
        await client.send(b"x" * 100_000)
        assert await client.is_open(), "it takes what still comes"
        await client.stream.send_eof()
        await client.ended.wait()


# When the server stops


async def test_an_idle_client_is_let_go_at_once_when_the_server_stops() -> None:
    serving = Serving()
    async with connected(hello, serving) as client:
        await client.ask(GET)
        await trio.testing.wait_all_tasks_blocked()
        serving.is_stopping = True
        client.connection.stop()
        assert await client.rest() == b""


async def test_a_request_that_was_sent_before_the_server_stopped_is_answered() -> None:
    serving = Serving()
    async with connected(hello, serving) as client:
        await client.ask(GET)
        await trio.testing.wait_all_tasks_blocked()
        client.send_at_once(GET)  # in one step with the stop
        serving.is_stopping = True
        client.connection.stop()
        answer = await client.answer()
        assert (answer.body, answer.header("connection")) == (b"hello", "close")
        assert await client.rest() == b""


async def test_a_running_request_is_told_to_be_the_last_when_the_server_stops() -> None:
    serving, go = Serving(), trio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await go.wait()
        await hello(scope, receive, send)

    async with connected(slow, serving) as client:
        await client.send(GET)
        await trio.testing.wait_all_tasks_blocked()
        serving.is_stopping = True
        client.connection.stop()
        go.set()
        assert (await client.answer()).header("connection") == "close"
        assert await client.rest() == b""
