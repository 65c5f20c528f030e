"""Hypercorn's connections: accepted, and ended when the server stops, like those of `http1`."""

from __future__ import annotations

import logging
import socket
import ssl
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import trio
from hypercorn.config import Config
from hypercorn.logging import Logger
from hypercorn.trio.worker_context import WorkerContext

from teamchat.http.hypercorn.connection import HEADER_SECONDS, Connection
from teamchat.http.hypercorn.handed import Handed
from teamchat.http.limiter import ConnectionLimiter
from teamchat.observability.logs import get_logger
from teamchat.web.asgi import AsgiApp

if TYPE_CHECKING:
    from teamchat.http.http1.connection import Connection as HttpConnection

_log = get_logger(__name__)


class _SilentLogger(Logger):
    """Says that a request failed, and where; nothing of the request, nothing of the error's message."""

    async def access(self, request: Any, response: Any, request_time: float) -> None:
        pass

    async def exception(self, message: str, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        error = sys.exception()
        _log.error("a request failed", exc_info=error)


def configuration() -> Config:
    """Return Hypercorn's configuration for teamchat."""
    chosen = Config()
    chosen.accesslog = None
    chosen.errorlog = logging.getLogger("teamchat.http")
    chosen.logger_class = _SilentLogger
    chosen.include_server_header = False
    chosen.ssl_handshake_timeout = HEADER_SECONDS
    chosen.h11_max_incomplete_size = 32 * 1024
    chosen.keep_alive_max_requests = 100_000
    # Parts of a body that wait for the application, each of up to 64 KiB: a file is no more in memory.
    chosen.max_app_queue_size = 2
    return chosen


class HttpServer:
    """Serves an ASGI application on listening sockets until it is stopped."""

    def __init__(
        self,
        app: AsgiApp,
        listeners: Sequence[trio.SocketListener],
        proxies: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._app = app
        self._tls = tls
        self._listeners = listeners
        self._config = configuration()
        self._context = WorkerContext(None)
        self._limiter: ConnectionLimiter[Connection] = ConnectionLimiter(proxies)

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
                await self._context.terminated.set()
                with trio.move_on_after(grace):
                    await self._limiter.until_empty()
            finally:
                for connection in self._limiter.all():
                    connection.abort()

    def _take_in(self, connections: trio.Nursery, accepted: trio.socket.SocketType, peer: Any) -> None:
        if not self._limiter.has_room(peer):
            accepted.close()  # What is told to the others may be no word of TLS.
            return
        stream = trio.SocketStream(accepted)
        _drop_vanished_clients(stream)
        wrapped = stream if self._tls is None else _under_tls(stream, self._tls)
        connection = Connection(self._app, self._config, self._context, wrapped, self._limiter)
        self._limiter.enter(connection, peer)
        connections.start_soon(self._serve, connection, name="connection")

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.run()
        finally:
            self._limiter.leave(connection)
            connection.abort()  # Its socket is open after a handshake that failed.


class Http2:
    """Serves the connections of `teamchat.http.http1` that have agreed upon HTTP/2."""

    def __init__(self, app: AsgiApp, limiter: ConnectionLimiter[Any]) -> None:
        self._app = app
        self._limiter = limiter
        self._config = configuration()
        self._context = WorkerContext(None)

    async def serve(self, connection: HttpConnection) -> None:
        """Serve one to its end. Whose it is counts and drops it."""
        handed = Handed(connection.transport)
        await Connection(
            self._app, self._config, self._context, handed, self._limiter, counted_as=connection
        ).run()

    async def stop(self) -> None:
        """Let all of them go that ask for nothing, and the others after their answers."""
        await self._context.terminated.set()


def _under_tls(stream: trio.SocketStream, tls: ssl.SSLContext) -> trio.SSLStream[trio.SocketStream]:
    # Clients of HTTP close without the farewell of TLS; a message says itself where it ends.
    return trio.SSLStream(stream, tls, server_side=True, https_compatible=True)


def _drop_vanished_clients(stream: trio.SocketStream) -> None:
    """Have the kernel give up on a client that acknowledges nothing for a minute, not for a quarter hour."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        with suppress(OSError):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000)
