"""HTTP/2, where one connection carries many requests: what it may have running at once is bounded."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest
import trio

from teamchat import tls
from teamchat.hypercorn_server import HttpServer, connection
from teamchat.hypercorn_server.connection import MOST_AT_ONCE
from teamchat.testing import DEADLINE
from tests.test_tls import certificate


class Slow:
    """An application that answers when it is told to, and counts how many requests it has."""

    def __init__(self) -> None:
        self.go = trio.Event()
        self.running = self.most = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def has(self, count: int) -> None:
        with trio.fail_after(DEADLINE):
            while self.running < count:
                await trio.lowlevel.checkpoint()


class Client:
    """One connection."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self._stream = stream
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._h2.initiate_connection()

    async def ask(self, count: int, *, and_take_back: bool) -> None:
        asked = [(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/")]
        for _ in range(count):
            number = self._h2.get_next_available_stream_id()
            self._h2.send_headers(number, asked, end_stream=True)
            if and_take_back:
                self._h2.reset_stream(number)
        await self._stream.send_all(self._h2.data_to_send())

    async def ask_for_ever(self) -> None:
        while True:
            await self.ask(50, and_take_back=True)

    async def answer(self) -> bytes:
        """Read one answer, and give back the window that it takes."""
        body, is_complete = b"", False
        with trio.fail_after(DEADLINE):
            while not is_complete:
                for event in self._h2.receive_data(await self._stream.receive_some()):
                    if isinstance(event, h2.events.DataReceived):
                        body += event.data
                        self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    is_complete = is_complete or isinstance(event, h2.events.StreamEnded)
                await self._stream.send_all(self._h2.data_to_send())
        return body

    async def until_dropped(self) -> None:
        with trio.fail_after(DEADLINE):
            try:
                while await self._stream.receive_some():
                    pass
            except trio.BrokenResourceError:
                return


@asynccontextmanager
async def connected(app: Any, directory: Path) -> AsyncIterator[Client]:
    made = certificate(directory)
    trust = ssl.create_default_context(cafile=made.certificate)
    trust.set_alpn_protocols(["h2"])
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server = HttpServer(app, listeners, tls=tls.context(made))
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: server.run(trio.Event(), grace=0, task_status=task_status))
        raw = await trio.open_tcp_stream("127.0.0.1", listeners[0].socket.getsockname()[1])
        stream = trio.SSLStream(raw, trust, server_hostname="localhost", https_compatible=True)
        yield Client(stream)
        await trio.aclose_forcefully(stream)
        nursery.cancel_scope.cancel()


async def test_requests_that_are_taken_back_at_once_do_not_pile_up(tmp_path: Path) -> None:
    """CVE-2023-44487, the rapid reset: what is taken back counts as open no more, but still runs."""
    app = Slow()
    async with connected(app, tmp_path) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.until_dropped)
        with pytest.raises(trio.BrokenResourceError), trio.fail_after(DEADLINE):
            await client.ask_for_ever()
    assert app.most == MOST_AT_ONCE
    assert app.running == 0


async def test_a_client_that_changes_its_mind_is_served(tmp_path: Path) -> None:
    app = Slow()
    async with connected(app, tmp_path) as client:
        await client.ask(90, and_take_back=True)
        await client.ask(90, and_take_back=False)
        await app.has(180)
        app.go.set()


async def test_a_client_that_gives_no_window_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow reader whose socket is never full: nothing of the answer is sent, so nothing blocks there."""
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.1)
    ended = trio.Event()

    async def large(scope: Any, receive: Any, send: Any) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x" * 200_000})
        finally:
            ended.set()

    async with connected(large, tmp_path) as client:
        await client.ask(1, and_take_back=False)
        await client.until_dropped()
        with trio.fail_after(DEADLINE):
            await ended.wait()


async def test_a_large_answer_comes_whole(tmp_path: Path) -> None:
    body = bytes(range(256)) * 1000

    async def large(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async with connected(large, tmp_path) as client:
        await client.ask(1, and_take_back=False)
        assert await client.answer() == body
