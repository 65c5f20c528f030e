"""Hypercorn, serving plain HTTP/1.1 in this server's nursery; the one module that knows of it.

Hypercorn's Trio connection is right but for a few things, which the subclass here mends:

* A write to a client that stopped reading waits for ever, shielded from every deadline, and SIGTERM with
  it.  Here a write that makes no progress for 30 seconds drops the connection.
* An application that is cancelled while its response ends (quart-trio is) takes the renewal of the
  keep-alive timer with it, and idle connections live for ever.  Here the connection's own business is
  shielded.
* A request's headers get 10 seconds from their first byte, an idle connection 75.
* When the server stops, connections get a bounded time to finish, and are then dropped.

It also refuses a request with both Content-Length and Transfer-Encoding, of which a proxy in front might
believe the other one, and it logs no request and no message of an error.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.logging import Logger
from hypercorn.trio.tcp_server import MAX_RECV, TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import wrap_app

from teamchat.logs import get_logger
from teamchat.web.events import ABORT, AsgiApp, Receive, Scope, Send, refuse

WRITE_SECONDS = 30.0
HEADER_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 75
_PIECE = 64 * 1024

_log = get_logger(__name__)


class _SilentLogger(Logger):
    """Says that a request failed, and where; nothing of the request, nothing of the error's message."""

    async def access(self, request: Any, response: Any, request_time: float) -> None:
        pass

    async def exception(self, message: str, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        error = sys.exception()
        _log.error("a request failed", exc_info=error)


def _config() -> Config:
    """Return Hypercorn's configuration for teamchat."""
    chosen = Config()
    chosen.accesslog = None
    chosen.errorlog = logging.getLogger("teamchat.http")
    chosen.logger_class = _SilentLogger
    chosen.include_server_header = False
    chosen.alpn_protocols = ["http/1.1"]
    chosen.h11_max_incomplete_size = 32 * 1024
    chosen.keep_alive_timeout = KEEP_ALIVE_SECONDS
    chosen.keep_alive_max_requests = 100_000
    return chosen


class _Connection(TCPServer):
    """One client's connection."""

    def __init__(
        self, app: AsgiApp, config: Config, context: WorkerContext, stream: trio.SocketStream
    ) -> None:
        guarded = wrap_app(partial(_guarded, app, self.abort), config.wsgi_max_body_size, "asgi")
        super().__init__(guarded, config, context, ConnectionState({}), cast(Any, stream))
        self._socket = stream.socket
        self._scope = trio.CancelScope()
        self._idle_seconds = HEADER_SECONDS
        self._awaits_request = True

    async def run(self) -> None:
        with self._scope:
            try:
                await super().run()
            except Exception as error:  # One connection's failure must not reach the others' nursery.
                _log.error("a connection failed", exc_info=error)
                self.abort()

    def abort(self) -> None:
        """Drop the connection at once, whatever is still to be written."""
        self._socket.close()
        self._scope.cancel()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, RawData):
            with trio.CancelScope(shield=True):
                await self._write(event.data)
            if self._scope.cancel_called:  # An application that does nothing but write must end here.
                await trio.lowlevel.checkpoint_if_cancelled()
            return
        with trio.CancelScope(shield=True):
            if isinstance(event, Updated):
                self._awaits_request = event.idle
                self._idle_seconds = KEEP_ALIVE_SECONDS
            await super().protocol_send(event)

    async def _write(self, data: bytes) -> None:
        """Write in pieces, each with a deadline, so that a slow client is not taken for a stalled one."""
        async with self.send_lock:
            try:
                for start in range(0, len(data), _PIECE):
                    with trio.fail_after(WRITE_SECONDS):
                        await self.stream.send_all(data[start : start + _PIECE])
            except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
                self.abort()

    async def _read_data(self) -> None:
        while True:
            try:
                data = await self.stream.receive_some(MAX_RECV)
            except (trio.ClosedResourceError, trio.BrokenResourceError):
                break
            if data and self._awaits_request:
                self._awaits_request = False
                await self.idle_task.restart(self._task_group, self._header_timeout)
            await self.protocol.handle(RawData(bytes(data)))
            if not data:
                break
        await self.protocol.handle(Closed())

    async def _idle_timeout(self) -> None:
        await self._close_after(self._idle_seconds)

    async def _header_timeout(self) -> None:
        await self._close_after(HEADER_SECONDS)

    async def _close_after(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await self.context.terminated.wait()
        with trio.CancelScope(shield=True):
            await self._initiate_server_close()

    async def _close(self) -> None:
        with trio.CancelScope(shield=True):
            await super()._close()


async def _guarded(
    app: AsgiApp, abort: Callable[[], None], scope: Scope, receive: Receive, send: Send
) -> None:
    """Call the application, unless two headers contradict each other about where the request ends."""
    names = {name for name, _ in scope["headers"]}
    if {b"content-length", b"transfer-encoding"} <= names:
        await refuse(
            send,
            400,
            "Content-Length and Transfer-Encoding can't be sent together.",
            [(b"connection", b"close")],
        )
        return
    scope["extensions"][ABORT] = abort
    await app(scope, receive, send)


class HttpServer:
    """Serves an ASGI application on listening sockets until told to stop."""

    def __init__(self, app: AsgiApp, listeners: Sequence[trio.SocketListener]) -> None:
        self._app = app
        self._listeners = listeners
        self._config = _config()
        self._context = WorkerContext(None)
        self._connections: set[_Connection] = set()
        self._left = trio.Event()
        self._is_over = False

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
                await self._accept(stop, connections, task_status)
                await self._context.terminated.set()
                with trio.move_on_after(grace):
                    await self._all_left()
            finally:
                self._is_over = True
                for connection in tuple(self._connections):
                    connection.abort()

    async def _accept(
        self, stop: trio.Event, connections: trio.Nursery, task_status: trio.TaskStatus[None]
    ) -> None:
        async with trio.open_nursery() as accepting:
            accepting.start_soon(
                partial(trio.serve_listeners, self._serve, list(self._listeners), handler_nursery=connections)
            )
            task_status.started()
            await stop.wait()
            accepting.cancel_scope.cancel()

    async def _serve(self, stream: trio.SocketStream) -> None:
        if self._is_over:
            await trio.aclose_forcefully(stream)
            return
        _drop_vanished_clients(stream)
        connection = _Connection(self._app, self._config, self._context, stream)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            self._left.set()

    async def _all_left(self) -> None:
        while self._connections:
            self._left = trio.Event()
            await self._left.wait()


def _drop_vanished_clients(stream: trio.SocketStream) -> None:
    """Have the kernel give up on a client that acknowledges nothing for a minute, not for a quarter hour."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        with suppress(OSError):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000)
