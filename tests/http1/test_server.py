"""All connections together: how many, how much at once, and how they end."""

from __future__ import annotations

import gc
import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from teamchat.http.http1 import HttpServer
from teamchat.http.http1 import server as module
from tests.http1.apps import GET, echo, hello, start
from tests.http1.conftest import Client, Wire, end_of

PATIENCE = 20


class Served:
    """A running server."""

    def __init__(self, server: HttpServer, port: int) -> None:
        self.server = server
        self.port = port
        self.stop = trio.Event()
        self.ended = trio.Event()

    async def connect(self) -> Client:
        raw = trio.socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            await raw.connect(("127.0.0.1", self.port))
        except OSError:
            raw.close()
            raise
        return Client(await end_of(trio.SocketStream(raw)), trio.Event())


@asynccontextmanager
async def serving(app: Any, grace: float = 0.2) -> AsyncIterator[Served]:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    served = Served(HttpServer(app, listeners, tls=Wire.server), listeners[0].socket.getsockname()[1])

    async def run(task_status: trio.TaskStatus[None]) -> None:
        await served.server.run(served.stop, grace=grace, task_status=task_status)
        served.ended.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(run)
        yield served
        nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("wire")
async def test_a_client_is_told_apart_by_its_address() -> None:
    async with serving(echo) as served:
        client = await served.connect()
        port = client.stream.socket.getsockname()[1]
        body = (await client.ask(GET)).body
        await client.stream.aclose()
    assert f'"client":["127.0.0.1",{port}]'.encode() in body
    assert f'"server":["127.0.0.1",{served.port}]'.encode() in body


@pytest.mark.usefixtures("wire")
async def test_sockets_send_at_once_and_are_given_up_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[socket.socket] = []
    adopt = module.adopt

    def watched(accepted: Any) -> socket.socket:
        raw = adopt(accepted)
        taken.append(raw.dup())
        return raw

    monkeypatch.setattr(module, "adopt", watched)
    async with serving(hello) as served:
        client = await served.connect()
        await client.ask(GET)
        assert taken[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert taken[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
        taken[0].close()
        await client.stream.aclose()


async def test_a_client_that_left_before_it_was_served_is_no_failure() -> None:
    async with serving(hello) as served:
        for _ in range(20):
            client = await served.connect()
            client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            await client.stream.aclose()
        last = await served.connect()
        assert (await last.ask(GET)).body == b"hello"
        await last.stream.aclose()


@pytest.mark.usefixtures("wire")
async def test_a_failing_request_is_logged_without_its_content(caplog: pytest.LogCaptureFixture) -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("fails")

    async with serving(failing) as served:
        client = await served.connect()
        assert (await client.ask(b"GET /?token=secret HTTP/1.1\r\nHost: x\r\nCookie: secret\r\n\r\n")).error(
            500
        )
        await client.stream.aclose()
    [record] = caplog.records
    assert "secret" not in record.getMessage() + str(record.__dict__.get("teamchat_fields"))
    caplog.clear()


# When it stops


async def stream(scope: Any, receive: Any, send: Any) -> None:
    """A stream that ends when the client leaves; while it lives it does nothing, or never stops writing."""
    await start(send)
    while scope["path"] == "/flood":
        await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
    await send({"type": "http.response.body", "body": b"open", "more_body": True})
    while (await receive())["type"] != "http.disconnect":
        pass


@pytest.mark.slow
async def test_it_is_gone_in_time_with_many_streams_and_twenty_readers_that_stall(wire: str) -> None:
    count = 1020 if wire == "plain" else 120  # With small windows as here a handshake waits for the kernel.
    async with serving(stream) as served:
        clients = [await served.connect() for _ in range(count)]
        for number, client in enumerate(clients):
            await client.send(GET.replace(b"/ ", b"/flood ") if number < 20 else GET)
        for client in clients:
            await client.stream.receive_some(1)
        with trio.fail_after(10):
            served.stop.set()
            await served.ended.wait()
        for client in clients:
            await client.stream.aclose()


@pytest.mark.usefixtures("wire")
async def test_it_takes_nobody_in_after_it_was_told_to_stop() -> None:
    go = trio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await go.wait()
        await hello(scope, receive, send)

    async with serving(slow, grace=PATIENCE) as served:
        client = await served.connect()
        await client.send(GET)
        await trio.testing.wait_all_tasks_blocked()
        served.stop.set()
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(OSError, match="refused"):
            await served.connect()
        go.set()
        assert (await client.answer()).header("connection") == "close"
        await served.ended.wait()
        await client.stream.aclose()


@pytest.mark.slow
async def test_an_idle_stream_costs_little() -> None:
    """Measured in the allocator, per stream: connection, task, request, and here the client's side too."""
    async with serving(stream) as served:
        clients: list[Client] = []

        async def open_(count: int) -> None:
            for _ in range(count):
                client = await served.connect()
                clients.append(client)
                await client.send(GET)
                await client.stream.receive_some(1)

        await open_(40)
        gc.collect()
        tracemalloc.start()
        await open_(200)
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        for client in clients:
            await client.stream.aclose()
    assert grown / 200 < 16_000
