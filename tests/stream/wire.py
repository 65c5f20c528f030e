"""A stream's two ways to its client, both ending in a real socket that a test reads strictly."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import AsyncIterator, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import trio

from teamchat import events
from teamchat.interfaces import Storage
from teamchat.model import Caller, User
from teamchat.settings import EventsSettings
from teamchat.stream import Hub, Stream, Transport, transport_for
from teamchat.stream.transport import ABORT, EXTENSION

PATIENCE = 10
WAYS = ["direct", "asgi"]


def caller(user: str = "u", session: str = "") -> Caller:
    return Caller(User(user, user, f"{user}@example.org", False), session or f"session-of-{user}")


class SocketDirect:
    """A `DirectStream` on a real socket, as a server would offer it."""

    def __init__(self, connection: trio.SocketStream) -> None:
        self._connection = connection
        self._raw = connection.socket._sock  # type: ignore[attr-defined]
        self.is_aborted = False

    def send_now(self, data: bytes) -> int:
        try:
            return int(self._raw.send(data))
        except BlockingIOError:
            return 0

    async def wait_writable(self) -> None:
        await trio.lowlevel.wait_writable(self._raw)

    def abort(self) -> None:
        self.is_aborted = True
        self._connection.socket.close()


class ServerSide:
    """What a server does for a stream: begin the response, offer a way to the socket, end the response."""

    def __init__(self, way: str, connection: trio.SocketStream) -> None:
        self._connection = connection
        self.direct = SocketDirect(connection)
        extensions = {EXTENSION: self.direct} if way == "direct" else {ABORT: self.direct.abort}
        self.released = trio.Event()
        self.transport: Transport = transport_for(
            {"extensions": extensions}, self.send, lambda: self.released.set()
        )

    async def send(self, part: MutableMapping[str, Any]) -> None:
        """Write a part of the body, as ASGI `send` does."""
        body = part["body"]
        data = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        await self._connection.send_all(data if part["more_body"] else data + b"0\r\n\r\n")

    async def answer(self, stream: Stream) -> None:
        """Write the stream's beginning, and its end once it has come."""
        await self.send({"body": stream.greeting(), "more_body": True})
        stream.start()

    async def end(self) -> None:
        try:
            await self.released.wait()
            if self.transport.is_finished:
                with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    await self.send({"body": b"", "more_body": False})
        finally:
            self._connection.socket.close()


class Client:
    """Reads a response's body from a socket, chunk by chunk, and keeps the events it said."""

    def __init__(self, connection: trio.SocketStream, server: ServerSide, stream: Stream) -> None:
        self.connection = connection
        self.server = server
        self.stream = stream
        self.raw = b""
        self.chunks = 0
        self.comments: list[str] = []
        self.frames: list[str] = []
        self.last = ""
        self._rest = ""
        self._over = False

    async def next(self) -> dict[str, Any]:
        """Return the next event."""
        while not self.frames:
            assert await self._chunk(), "the stream has ended"
        self.last = self.frames.pop(0)
        event: dict[str, Any] = json.loads(self.last.partition("data: ")[2])
        return event

    async def types(self, count: int) -> list[str]:
        return [(await self.next())["type"] for _ in range(count)]

    async def ids(self, count: int) -> list[str]:
        return [(await self.next())["payload"].get("id") for _ in range(count)]

    async def comment(self) -> str:
        while not self.comments:
            assert await self._chunk(), "the stream has ended"
        return self.comments.pop(0)

    async def end(self) -> None:
        """The stream must end properly, and say no more before it does."""
        while await self._chunk():
            pass
        assert self.frames == []
        assert self._over, "the body has no end"

    async def is_dropped(self) -> None:
        """The connection must be dropped in mid body."""
        with trio.fail_after(PATIENCE):
            await self.server.released.wait()
        while await self._chunk():
            pass
        assert not self._over

    @property
    def last_id(self) -> str:
        match = re.match(r"id: ([0-9]+)\ndata: ", self.last)
        assert match, self.last
        return match[1]

    def leave(self) -> None:
        self.connection.socket.close()
        self.stream.leave()
        self.server.released.set()

    async def _chunk(self) -> bool:
        """Read one chunk and return whether there was one."""
        line = await self._until(b"\r\n")
        if line is None:
            return False
        size = int(line, 16)
        while len(self.raw) < size + 2:
            if not await self._read():
                return False
        data, end, self.raw = self.raw[:size], self.raw[size : size + 2], self.raw[size + 2 :]
        assert end == b"\r\n"
        self._over = not size
        self.chunks += 1
        self._keep(data.decode())
        return bool(size)

    def _keep(self, text: str) -> None:
        *whole, self._rest = (self._rest + text).split("\n\n")
        for frame in whole:
            is_event = re.match(r"(id: [0-9]+\n)?data: [^\n]*\Z", frame)
            (self.frames if is_event else self.comments).append(frame)

    async def _until(self, end: bytes) -> bytes | None:
        while end not in self.raw:
            if not await self._read():
                return None
        line, _, self.raw = self.raw.partition(end)
        return line

    async def _read(self) -> bool:
        with trio.fail_after(PATIENCE):
            try:
                data = await self.connection.receive_some(65536)
            except trio.BrokenResourceError:
                return False
        self.raw += data
        return bool(data)


class World:
    """A hub on a storage, and clients that come to it one way or the other."""

    def __init__(self, way: str, storage: Storage, hub: Hub, nursery: trio.Nursery) -> None:
        self.way = way
        self.storage = storage
        self.hub = hub
        self._nursery = nursery
        self.connections: list[trio.SocketStream] = []

    async def opened(
        self,
        who: Caller | None = None,
        last_event_id: str | None = None,
        *,
        starts: bool = True,
        asks: Sequence[str] = (),
        joined_alone: bool = False,
    ) -> Client:
        """Open a stream; the client has read nothing yet."""
        near, far = _socket_pair()
        self.connections += (near, far)
        server = ServerSide(self.way, near)
        stream = await self.hub.open(
            who or caller(), last_event_id, server.transport, asks, joined_alone=joined_alone
        )
        if starts:
            await server.answer(stream)
        self._nursery.start_soon(server.end)
        return Client(far, server, stream)

    async def connected(
        self,
        who: Caller | None = None,
        last_event_id: str | None = None,
        *,
        asks: Sequence[str] = (),
        joined_alone: bool = False,
    ) -> Client:
        client = await self.opened(who, last_event_id, asks=asks, joined_alone=joined_alone)
        assert (await client.next())["type"] == "CONNECTED"
        return client

    async def write(self, *written: events.Event) -> None:
        async with self.storage.write() as tx:
            for event in written:
                await tx.append(event)

    async def at_end(self) -> None:
        """Wait until the hub has handed out the whole log."""
        _, last = await self.storage.log_bounds()
        await until(lambda: self.hub.position == last)
        await trio.testing.wait_all_tasks_blocked()

    async def forget_up_to(self, seq: int) -> None:
        async with self.storage.write() as tx:
            await tx.fetch("delete from events where seq <= $1", seq)


def _socket_pair() -> tuple[trio.SocketStream, trio.SocketStream]:
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
    near.setblocking(False)
    return (
        trio.SocketStream(trio.socket.from_stdlib_socket(near)),
        trio.SocketStream(trio.socket.from_stdlib_socket(far)),
    )


@asynccontextmanager
async def running(
    storage: Storage, way: str, chosen: EventsSettings | None = None, **parts: Any
) -> AsyncIterator[World]:
    seen: Storage = parts.pop("seen_by_hub", storage)
    hub = Hub(seen, chosen or EventsSettings(), **parts)
    async with trio.open_nursery() as clients:
        async with trio.open_nursery() as nursery:
            await nursery.start(hub.run)
            world = World(way, storage, hub, clients)
            try:
                yield world
            finally:
                for connection in world.connections:
                    connection.socket.close()
            nursery.cancel_scope.cancel()
        clients.cancel_scope.cancel()


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE):
        while not condition():
            await trio.lowlevel.checkpoint()


def said(number: object, *audience: str) -> events.Event:
    return events.DeleteMessage(str(number), "c").to(audience or None)


def big(size: int) -> events.Event:
    return events.UpdateServerSettings("x" * size).to()
