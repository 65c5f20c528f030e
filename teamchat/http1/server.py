"""All connections: taken, bounded, and let go when the server stops.

There are never more connections than there is room for (`teamchat.crowd`); nothing a client does ends the
server; and when the server stops, what is idle ends at once, what runs gets a bounded time, and nothing is
left after it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from teamchat.crowd import Crowd
from teamchat.http1 import response
from teamchat.http1.connection import Connection
from teamchat.http1.head import Refusal
from teamchat.http1.transport import adopt

if TYPE_CHECKING:
    from teamchat.web.asgi import AsgiApp


class HttpServer:
    """Serves an ASGI application on listening sockets until told to stop."""

    def __init__(
        self, app: AsgiApp, listeners: Sequence[trio.SocketListener], proxies: Sequence[str] = ()
    ) -> None:
        self._app = app
        self._listeners = listeners
        self._crowd: Crowd[Connection] = Crowd(proxies)
        self.rests: Callable[[Any], None] = self._crowd.rests
        self.asks: Callable[[Any], None] = self._crowd.asks
        self.is_stopping = False

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
                take = partial(self._take_in, connections)
                await self._crowd.take_in_until(stop, self._listeners, take, task_status)
                self.is_stopping = True
                for connection in self._crowd.all():
                    connection.stop()
                with trio.move_on_after(grace):
                    await self._crowd.until_empty()
            finally:
                self.is_stopping = True
                for connection in self._crowd.all():
                    connection.abort()

    def _take_in(self, connections: trio.Nursery, accepted: trio.socket.SocketType, peer: Any) -> None:
        raw = adopt(accepted)
        if not self._crowd.has_room(peer):
            _turn_away(raw)
            return
        connection = Connection(self._app, self, raw)
        self._crowd.enter(connection, peer)
        connections.start_soon(self._serve, connection, name="connection")

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.run()
        finally:
            self._crowd.leave(connection)


def _turn_away(raw: socket.socket) -> None:
    full = Refusal(503, "The server has too many connections. Try again later.")
    with suppress(OSError):
        raw.send(response.refusal(full, extra=[(b"retry-after", b"5")]))
    raw.close()
