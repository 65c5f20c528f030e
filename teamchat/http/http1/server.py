"""All connections: accepted, limited, and ended when the server stops.

There are never more connections than `teamchat.http.limiter` allows, and nothing a client does ends the
server. When the server stops, idle connections end at once, running requests get a limited time, and nothing
is left.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import trio

from teamchat.http.http1 import response
from teamchat.http.http1.connection import Connection
from teamchat.http.http1.head import Refusal
from teamchat.http.http1.transport import adopt
from teamchat.http.limiter import ConnectionLimiter

if TYPE_CHECKING:
    from teamchat.web.asgi import AsgiApp


class Http2(Protocol):
    """What serves connections that have agreed upon HTTP/2 within TLS."""

    async def serve(self, connection: Connection) -> None:
        """Serve one to its end."""

    async def stop(self) -> None:
        """Let all of them go that ask for nothing, and the others after their answers."""


class HttpServer:
    """Serves an ASGI application on listening sockets until it is stopped.

    With `tls` it speaks HTTPS. Connections that agree upon HTTP/2, if `tls` offers it, are given to what
    `http2` makes.
    """

    def __init__(
        self,
        app: AsgiApp,
        listeners: Sequence[trio.SocketListener],
        proxies: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
        http2: Callable[[AsgiApp, ConnectionLimiter[Connection]], Http2] | None = None,
    ) -> None:
        self._app = app
        self._tls = tls
        self._listeners = listeners
        self._limiter: ConnectionLimiter[Connection] = ConnectionLimiter(proxies)
        self._http2 = None if http2 is None else http2(app, self._limiter)
        self.rests: Callable[[Any], None] = self._limiter.rests
        self.asks: Callable[[Any], None] = self._limiter.asks
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
                await self._limiter.take_in_until(stop, self._listeners, take, task_status)
                self.is_stopping = True
                for connection in self._limiter.all():
                    connection.stop()
                if self._http2 is not None:
                    await self._http2.stop()
                with trio.move_on_after(grace):
                    await self._limiter.until_empty()
            finally:
                self.is_stopping = True
                for connection in self._limiter.all():
                    connection.abort()

    def _take_in(self, connections: trio.Nursery, accepted: trio.socket.SocketType, peer: Any) -> None:
        raw = adopt(accepted)
        if not self._limiter.has_room(peer):
            if self._tls is None:  # What is said here would be no word of TLS.
                _say_full(raw)
            raw.close()
            return
        connection = Connection(self._app, self, raw, self._tls)
        self._limiter.enter(connection, peer)
        connections.start_soon(self._serve, connection, name="connection")

    async def serve_http2(self, connection: Connection) -> None:
        """Serve a connection that has agreed upon HTTP/2, in its own task."""
        if self._http2 is not None:
            await self._http2.serve(connection)

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.run()
        finally:
            self._limiter.leave(connection)


def _say_full(raw: socket.socket) -> None:
    full = Refusal(503, "The server has too many connections. Try again later.")
    with suppress(OSError):
        raw.send(response.refusal(full, extra=[(b"retry-after", b"5")]))
