"""The two HTTP servers by themselves: whatever clients do, connections end in time and stops are clean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio

from teamchat.http import http1
from teamchat.http import hypercorn as hypercorn_server
from teamchat.http.http1 import connection as http1_connection
from teamchat.http.http1 import exchange as http1_exchange
from teamchat.http.http1 import transport as http1_transport
from teamchat.http.hypercorn import connection as hypercorn_connection
from teamchat.http.hypercorn import unread
from teamchat.stream import slow_clients

PATIENCE = 30


async def ask(port: int, request: str) -> str:
    """Send a request, then nothing more, and return all that comes until the server closes or answers."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(request.encode())
        with trio.fail_after(PATIENCE):
            return (await stream.receive_some()).decode("latin-1")


@pytest.fixture(params=["native", "hypercorn"])
def server(request: pytest.FixtureRequest) -> Any:
    """Each of the two servers (``server.http1``)."""
    return {"native": http1.HttpServer, "hypercorn": hypercorn_server.HttpServer}[request.param]


# Where each of them keeps what these tests change.
CONNECTIONS = {http1.HttpServer: http1_connection, hypercorn_server.HttpServer: hypercorn_connection}
WRITING = {http1.HttpServer: http1_transport, hypercorn_server.HttpServer: hypercorn_connection}


@asynccontextmanager
async def http(
    server: Any, app: Any, *, grace: float = 5
) -> AsyncIterator[tuple[int, trio.Event, trio.Event]]:
    """Serve `app`; yield the port, the event that stops the server, and the one that tells it has ended."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    serving, stop, ended = server(app, listeners), trio.Event(), trio.Event()

    async def main(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await serving.run(stop, grace=grace, task_status=task_status)
        ended.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(main)
        yield listeners[0].socket.getsockname()[1], stop, ended
        nursery.cancel_scope.cancel()


async def hello(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


async def flood(scope: Any, receive: Any, send: Any) -> None:
    """Send without end; never look at whether the client is there."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})


async def failing(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"too long for that", "more_body": True})


GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def wait_for(event: trio.Event) -> None:
    with trio.fail_after(PATIENCE):
        await event.wait()


async def read_all(stream: trio.SocketStream) -> bytes:
    """Return everything until the server closes."""
    data = b""
    with trio.fail_after(PATIENCE):
        while piece := await stream.receive_some():
            data += piece
    return data


async def read_until(stream: trio.SocketStream, ending: bytes) -> None:
    data = b""
    with trio.fail_after(PATIENCE):
        while not data.endswith(ending):
            piece = await stream.receive_some()
            assert piece, data
            data += piece


async def test_an_idle_connection_closes_at_once_when_the_server_stops(server: Any) -> None:
    async with (
        http(server, hello) as (port, stop, ended),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(GET.encode())
        await read_until(stream, b"hello")
        stop.set()
        assert await read_all(stream) == b""
        await wait_for(ended)


async def test_a_running_request_is_finished_when_the_server_stops(server: Any) -> None:
    asked, go = trio.Event(), trio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        asked.set()
        await go.wait()
        await hello(scope, receive, send)

    async with (
        http(server, slow) as (port, stop, ended),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(GET.encode())
        await wait_for(asked)
        stop.set()
        await trio.testing.wait_all_tasks_blocked()
        go.set()
        assert (await read_all(stream)).endswith(b"hello")
        await wait_for(ended)


async def test_a_reader_that_stalls_does_not_hold_the_server_up(server: Any) -> None:
    async with (
        http(server, flood, grace=0.1) as (port, stop, ended),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(GET.encode())
        await stream.receive_some(1)
        stop.set()
        await wait_for(ended)


async def test_a_reader_that_stalls_is_cut(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WRITING[server], "WRITE_SECONDS", 0.05)
    monkeypatch.setattr(slow_clients, "MOST_SECONDS", 0.05)
    ended = trio.Event()

    async def flooding(*arguments: Any) -> None:
        try:
            await flood(*arguments)
        finally:
            ended.set()

    async with (
        http(server, flooding) as (port, _, _),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(GET.encode())
        await wait_for(ended)


async def test_an_idle_connection_is_closed_after_its_time(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CONNECTIONS[server], "KEEP_ALIVE_SECONDS", 0.05)
    async with http(server, hello) as (port, _, _), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(GET.encode())
        assert (await read_all(stream)).endswith(b"hello")


async def test_a_client_that_leaves_takes_its_connection_along(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = http1_connection.Connection if server is http1.HttpServer else hypercorn_connection.Connection
    left, run = trio.Event(), kind.run

    async def watched(connection: Any) -> None:
        await run(connection)
        left.set()

    monkeypatch.setattr(kind, "run", watched)
    async with http(server, hello) as (port, _, _):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(GET.encode())
            await read_until(stream, b"hello")
        await wait_for(left)


@pytest.mark.parametrize("begun", ["", "GET / HTTP/1.1\r\nHost:"])
async def test_headers_must_come_in_time(server: Any, monkeypatch: pytest.MonkeyPatch, begun: str) -> None:
    monkeypatch.setattr(CONNECTIONS[server], "HEADER_SECONDS", 0.05)
    async with http(server, hello) as (port, _, _), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(begun.encode())
        told = await read_all(stream)
        assert told.startswith(b"HTTP/1.1 408") if begun and server is http1.HttpServer else told == b""


async def test_one_connections_failure_leaves_the_others_alone(server: Any) -> None:
    async def mixed(scope: Any, receive: Any, send: Any) -> None:
        await (failing if scope["path"] == "/failing" else hello)(scope, receive, send)

    async with http(server, mixed) as (port, _, _):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(GET.replace("/ ", "/failing ").encode())
            await read_all(stream)
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(GET.encode())
            await read_until(stream, b"hello")


async def test_an_application_that_is_cancelled_as_it_answers_leaves_a_connection_that_goes_on(
    server: Any,
) -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await hello(scope, receive, send)

    async with (
        http(server, hasty) as (port, stop, _),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        for _ in range(3):
            await stream.send_all(GET.encode())
            await read_until(stream, b"hello")
        stop.set()
        assert await read_all(stream) == b"", "its keep-alive timer still runs"


# GET, http, / of the static table, and the authority "a" (RFC 7541, appendix A), in a HEADERS frame.
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0" + b"\0\0\6\1\5\0\0\0\1\x82\x86\x84\x41\x01a"
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    b"Upgrade: h2c\r\nHTTP2-Settings: \r\n\r\n"
)


@pytest.mark.parametrize("start", [HTTP_2, UPGRADE])
async def test_http_2_without_tls_is_cut_off_or_the_wish_for_it_ignored(server: Any, start: bytes) -> None:
    """RFC 9110, section 7.8, lets a server ignore an upgrade; Hypercorn can't, and must be cut off."""
    asked = []

    async def asks(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope)
        await hello(scope, receive, send)

    data = b""
    async with http(server, asks) as (port, _, _), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(start)
        await stream.send_eof()
        with suppress(trio.BrokenResourceError), trio.fail_after(PATIENCE):
            while piece := await stream.receive_some():
                data += piece
    if server is http1.HttpServer and start == UPGRADE:
        assert data.startswith(b"HTTP/1.1 200")
    else:
        assert not asked


async def test_a_body_that_comes_after_the_answer_and_is_not_read_leaves_a_connection_that_goes_on(
    server: Any,
) -> None:
    async with (
        http(server, hello) as (port, _, _),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        for _ in range(3):
            await stream.send_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n")
            await read_until(stream, b"hello")
            await stream.send_all(b"{}")
        await stream.send_all(GET.encode())
        await read_until(stream, b"hello")


async def test_a_body_that_never_comes_ends_the_connection(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread, "DRAIN_SECONDS", 0.05)
    monkeypatch.setattr(http1_exchange, "BODY_PATIENCE", 0.05)
    monkeypatch.setattr(http1_connection, "LINGER_SECONDS", 0.05)
    async with (
        http(server, hello) as (port, _, _),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n")
        assert (await read_all(stream)).endswith(b"hello")


async def test_a_length_given_twice_over_is_refused(server: Any) -> None:
    request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    async with http(server, hello) as (port, _, _):
        assert (await ask(port, request)).startswith("HTTP/1.1 400")


async def test_the_server_does_not_say_what_it_runs_on(server: Any) -> None:
    async with http(server, hello) as (port, _, _):
        assert "hypercorn" not in (await ask(port, GET)).lower()
