"""The extension with which a live stream writes to the socket itself, on both servers."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

from teamchat.http import http1
from teamchat.http import hypercorn as hypercorn_server
from teamchat.stream.transport import ABORT, EXTENSION
from tests.http1.apps import GET, finish, hello, start
from tests.http1.conftest import Client, Wire, end_of

PATIENCE = 10


@pytest.fixture(params=["native", "native, TLS", "hypercorn"])
def server(request: pytest.FixtureRequest) -> Any:
    if request.param == "native, TLS":
        request.getfixturevalue("secure")
        return partial(http1.HttpServer, tls=Wire.server)
    return http1.HttpServer if request.param == "native" else hypercorn_server.HttpServer


@asynccontextmanager
async def serving(server: Any, app: Any) -> AsyncIterator[Client]:
    """Serve `app` on a real socket, and yield a client whose window is small."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(server(app, listeners).run, trio.Event(), grace=1))
        raw = trio.socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await raw.connect(("127.0.0.1", port))
        async with trio.SocketStream(raw) as stream:
            yield Client(await end_of(stream), trio.Event())
        nursery.cancel_scope.cancel()


class Streaming:
    """An application that begins a stream and hands it out."""

    def __init__(self) -> None:
        self.direct: Any = None
        self.opened = trio.Event()
        self.end = trio.Event()
        self.gone = trio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        self.direct = scope["extensions"][EXTENSION]
        self.opened.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen, receive)
            await self.end.wait()
            await finish(send)
            nursery.cancel_scope.cancel()

    async def _listen(self, receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone.set()
        self.end.set()


async def wait_for(event: trio.Event) -> None:
    with trio.fail_after(PATIENCE):
        await event.wait()


async def test_what_is_written_directly_is_part_of_the_body(server: Any) -> None:
    app = Streaming()
    async with serving(server, app) as client:
        await client.send(GET)
        await wait_for(app.opened)
        assert app.direct.send_now(b"6\r\nsecond\r\n") == 11
        app.end.set()
        assert (await client.answer()).body == b"firstsecond"
        # The connection is as good as new.
        app.opened = trio.Event()
        await client.send(GET)
        await wait_for(app.opened)
        assert (await client.answer()).body == b"first"


async def test_a_client_that_does_not_read_takes_nothing_and_then_again_something(server: Any) -> None:
    app, chunk = Streaming(), b"2710\r\n" + b"x" * 10_000 + b"\r\n"
    async with serving(server, app) as client:
        await client.send(GET)
        await wait_for(app.opened)
        while app.direct.send_now(chunk):
            pass
        with trio.fail_after(PATIENCE):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_read_for_ever, client.stream)
                await app.direct.wait_writable()
                assert app.direct.send_now(chunk) > 0
                nursery.cancel_scope.cancel()


async def _write_for_ever(direct: Any) -> None:
    with trio.fail_after(PATIENCE):
        while True:
            direct.send_now(b"1\r\nx\r\n")
            await trio.lowlevel.checkpoint()


async def _read_for_ever(stream: Any) -> None:
    while await stream.receive_some():
        pass


async def test_a_client_that_leaves_an_idle_stream_is_noticed(server: Any) -> None:
    app = Streaming()
    async with serving(server, app) as client:
        await client.send(GET)
        await wait_for(app.opened)
        assert not app.gone.is_set()
        await client.stream.aclose()
        await wait_for(app.gone)


async def test_writing_to_a_client_that_has_left_raises(server: Any) -> None:
    app = Streaming()
    async with serving(server, app) as client:
        await client.send(GET)
        await wait_for(app.opened)
        # Closing with something unread resets the connection.
        await trio.testing.wait_all_tasks_blocked()
        await client.stream.aclose()
        await wait_for(app.gone)
        with pytest.raises((OSError, trio.BrokenResourceError)):
            await _write_for_ever(app.direct)


async def test_a_stream_can_be_dropped_at_once(server: Any) -> None:
    app = Streaming()
    async with serving(server, app) as client:
        await client.send(GET)
        await wait_for(app.opened)
        app.direct.abort()
        assert not (await client.rest()).endswith(b"0\r\n\r\n")
        with pytest.raises((OSError, trio.BrokenResourceError)):
            app.direct.send_now(b"1\r\nx\r\n")
        with pytest.raises((OSError, trio.BrokenResourceError)):
            await app.direct.wait_writable()


@pytest.mark.parametrize(
    ("request_", "offered"),
    [(GET, True), (b"GET / HTTP/1.0\r\n\r\n", False), (GET.replace(b"GET", b"HEAD"), False)],
)
async def test_it_is_offered_for_http_1_1_with_a_body_alone(
    server: Any, request_: bytes, offered: bool
) -> None:
    seen: list[set[str]] = []

    async def looks(scope: Any, receive: Any, send: Any) -> None:
        seen.append(set(scope["extensions"]))
        await hello(scope, receive, send)

    async with serving(server, looks) as client:
        await client.ask(request_, request_[:4].strip().decode())
    [extensions] = seen
    assert ABORT in extensions
    assert (EXTENSION in extensions) is offered


async def test_it_is_of_no_use_before_the_stream_is_open_nor_when_its_length_is_fixed() -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        direct = scope["extensions"][EXTENSION]
        with pytest.raises(trio.BrokenResourceError):
            direct.send_now(b"1\r\nx\r\n")
        await start(send, 200, (b"content-length", b"2"))
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        with pytest.raises(trio.BrokenResourceError):
            direct.send_now(b"1\r\nx\r\n")
        await finish(send, b"b")
        with pytest.raises(trio.BrokenResourceError):
            direct.send_now(b"1\r\nx\r\n")
        direct.abort()  # It has no power over the request that follows.

    async with serving(http1.HttpServer, hasty) as client:
        for _ in range(2):
            assert (await client.ask(GET)).body == b"ab"
