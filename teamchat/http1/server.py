"""All connections: taken, bounded, and let go when the server stops.

What must stay true: there are never more connections than descriptors for them, never more bytes of bodies
in memory than the bound; nothing a client does ends the server or floods its log; and when the server
stops, what is idle ends at once, what runs gets a bounded time, and nothing is left after it.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import trio

from teamchat import measures
from teamchat.http1 import response
from teamchat.http1.connection import Connection
from teamchat.http1.head import Refusal
from teamchat.http1.transport import adopt
from teamchat.logs import get_logger

if TYPE_CHECKING:
    from teamchat.web.events import AsgiApp

BODIES_BYTES = 128 * 1024 * 1024
"""How much of all requests' bodies may be in memory at once."""
MOST_CONNECTIONS = 100_000
_SPARE_DESCRIPTORS = 64
_LOG_SECONDS = 60.0
_AGAIN_SECONDS = 0.1

_log = get_logger(__name__)


class HttpServer:
    """Serves an ASGI application on listening sockets until told to stop."""

    def __init__(self, app: AsgiApp, listeners: Sequence[trio.SocketListener]) -> None:
        self._app = app
        self._listeners = listeners
        self._connections: set[Connection] = set()
        self._most = _most_connections()
        self._room = BODIES_BYTES
        self._left = trio.Event()
        self._told = -inf
        self.is_stopping = False

    def take(self, size: int) -> bool:
        """Take so many bytes of the room for bodies; False if there is not enough."""
        if size > self._room:
            return False
        self._room -= size
        return True

    def give(self, size: int) -> None:
        """Give them back."""
        self._room += size

    async def run(
        self,
        stop: trio.Event,
        *,
        grace: float,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until `stop`; then take no more, close what is idle, and give the rest `grace` seconds."""
        async with trio.open_nursery() as connections:
            try:
                await self._accept_until(stop, connections, task_status)
                self.is_stopping = True
                for connection in tuple(self._connections):
                    connection.stop()
                with trio.move_on_after(grace):
                    await self._all_left()
            finally:
                self.is_stopping = True
                for connection in tuple(self._connections):
                    connection.abort()

    async def _accept_until(
        self, stop: trio.Event, connections: trio.Nursery, task_status: trio.TaskStatus[None]
    ) -> None:
        async with trio.open_nursery() as accepting:
            for listener in self._listeners:
                accepting.start_soon(self._accept_all, listener, connections)
            task_status.started()
            await stop.wait()
            accepting.cancel_scope.cancel()

    async def _accept_all(self, listener: trio.SocketListener, connections: trio.Nursery) -> None:
        async with listener:  # Nobody must wait in the queue of a server that has stopped.
            while True:
                try:
                    accepted, _ = await listener.socket.accept()
                except OSError as error:  # no descriptor or memory left, or a client that left meanwhile
                    self._tell("a connection could not be taken", error.errno)
                    await trio.sleep(_AGAIN_SECONDS)
                else:
                    self._take_in(adopt(accepted), connections)

    def _take_in(self, raw: socket.socket, connections: trio.Nursery) -> None:
        if len(self._connections) >= self._most:
            self._turn_away(raw)
            return
        connection = Connection(self._app, self, raw)
        self._connections.add(connection)
        measures.connections.value += 1
        connections.start_soon(partial(self._serve, connection), name="connection")

    def _turn_away(self, raw: socket.socket) -> None:
        self._tell("there are too many connections", None)
        full = Refusal(503, "The server has too many connections. Try again later.")
        with suppress(OSError):
            raw.send(response.refusal(full, extra=[(b"retry-after", b"5")]))
        raw.close()

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            measures.connections.value -= 1
            if self.is_stopping:
                self._left.set()

    async def _all_left(self) -> None:
        while self._connections:
            self._left = trio.Event()
            await self._left.wait()

    def _tell(self, event: str, number: int | None) -> None:
        """Log at most one line a minute of what clients can bring about at will."""
        if trio.current_time() - self._told >= _LOG_SECONDS:
            self._told = trio.current_time()
            _log.warning(event, connections=len(self._connections), errno=number)


def _most_connections() -> int:
    """Return how many connections there are descriptors for, with some to spare for files."""
    with suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit != resource.RLIM_INFINITY:
            return max(1, min(MOST_CONNECTIONS, limit - max(_SPARE_DESCRIPTORS, limit // 16)))
    return MOST_CONNECTIONS
