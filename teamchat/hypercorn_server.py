"""Hypercorn, serving plain HTTP/1.1 in this server's nursery; the one module that knows of it.

Hypercorn's Trio connection is right but for a few things, which the subclass here mends:

* A write to a client that stopped reading waits for ever, shielded from every deadline, and SIGTERM with
  it.  Here a write that makes no progress for 30 seconds drops the connection.
* An application that is cancelled while its response ends (quart-trio is) takes the renewal of the
  keep-alive timer with it, and idle connections live for ever.  Here the connection's own business is
  shielded.
* A request's headers get 10 seconds from their first byte, an idle connection 75.  One task a connection
  watches over both, where Hypercorn starts a new one with every request.
* The head of a response waits for the first bytes of its body, so that most responses are one write.
* When the server stops, connections get a bounded time to finish, and are then dropped.

HTTP/2 without TLS, which Hypercorn takes up and proxies wave through, is cut off.  A request with both
Content-Length and Transfer-Encoding, of which a proxy in front might believe the other one, is refused.  No
request and no message of an error is logged.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, cast

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.logging import Logger
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.tcp_server import MAX_RECV, TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.typing import Event as Flag
from hypercorn.utils import wrap_app

from teamchat.logs import get_logger
from teamchat.web.events import ABORT, AsgiApp, Receive, Scope, Send, refuse

WRITE_SECONDS = 30.0
HEADER_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 75
_PIECE = 64 * 1024
_SERVED = {"1.0", "1.1"}
_INTERIM = b"HTTP/1.1 1"  # a 1xx response, which has no body and is not to wait

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
    chosen.keep_alive_max_requests = 100_000
    return chosen


class _Timer:
    """Closes a connection that waited too long for a request, and an idle one when the server stops.

    It stands where Hypercorn keeps a task that it starts anew with every request; here one task lives as
    long as the connection, and its deadline moves.
    """

    def __init__(self, stopping: Flag, close: Callable[[], Awaitable[None]]) -> None:
        self._stopping = stopping
        self._close = close
        self._deadline = inf
        self._scope = trio.CancelScope()
        self._runs = False
        self._gone = False

    def give(self, seconds: float) -> None:
        """Give the client `seconds` from now; infinity means that it is the server's turn."""
        self._deadline = self._scope.deadline = trio.current_time() + seconds

    async def restart(self, task_group: Any, action: Callable[[], Awaitable[None]]) -> None:
        """Hypercorn's call when the wait for a request begins: `action` sets the deadline."""
        await action()
        if not self._runs:
            self._runs = True
            task_group.spawn(self._watch)

    async def stop(self) -> None:
        """Hypercorn's call when a request has come."""
        self.give(inf)

    def end(self) -> None:
        """The client has gone: there is nothing to watch over."""
        self._gone = True
        self._scope.cancel()

    async def _watch(self) -> None:
        while not self._stopping.is_set():
            with trio.CancelScope(deadline=self._deadline) as self._scope:
                await self._stopping.wait()
            if self._gone:
                return
            if self._deadline <= trio.current_time():
                break
        if self._deadline < inf:
            with trio.CancelScope(shield=True):
                await self._close()


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
        self._head: bytes | None = b""  # what of a response's head waits; None once it was written
        self._timer = _Timer(context.terminated, self._initiate_server_close)
        self.idle_task = cast(Any, self._timer)

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
            data = self._with_head(event.data)
            if data:
                await self._write(data)
            if self._scope.cancel_called:  # An application that does nothing but write must end here.
                await trio.lowlevel.checkpoint_if_cancelled()
            return
        with trio.CancelScope(shield=True):
            if isinstance(event, Updated):
                self._awaits_request = event.idle
                self._idle_seconds = KEEP_ALIVE_SECONDS
                self._head = b""
            elif self._head:
                head, self._head = self._head, None
                await self._write(head)
            await super().protocol_send(event)

    def _with_head(self, data: bytes) -> bytes:
        """Return what to write now: a head waits for what follows it, were it only the end of the body."""
        if self._head is None or data.startswith(_INTERIM):
            return data
        if not self._head:
            self._head = data
            return b""
        whole, self._head = self._head + data, None
        return whole

    async def _write(self, data: bytes) -> None:
        """Write in pieces, each with a deadline, so that a slow client is not taken for a stalled one."""
        async with self.send_lock:
            try:
                for start in range(0, len(data), _PIECE):
                    with trio.CancelScope(shield=True, deadline=trio.current_time() + WRITE_SECONDS) as limit:
                        await self.stream.send_all(data[start : start + _PIECE])
                    if limit.cancelled_caught:
                        self.abort()
                        break
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self.abort()

    async def _read_data(self) -> None:
        while True:
            try:
                data = await self.stream.receive_some(MAX_RECV)
            except (trio.ClosedResourceError, trio.BrokenResourceError):
                break
            if data and self._awaits_request:
                self._awaits_request = False
                self._timer.give(HEADER_SECONDS)
            await self.protocol.handle(RawData(bytes(data)))
            if not isinstance(self.protocol.protocol, H11Protocol):  # HTTP/2 without TLS was asked for
                self.abort()
            if not data:
                break
        self._timer.end()
        await self.protocol.handle(Closed())

    async def _idle_timeout(self) -> None:
        self._timer.give(self._idle_seconds)

    async def _close(self) -> None:
        with trio.CancelScope(shield=True):
            await super()._close()


async def _guarded(
    app: AsgiApp, abort: Callable[[], None], scope: Scope, receive: Receive, send: Send
) -> None:
    """Call the application, unless a proxy in front may have seen another request than the one that came.

    That is so for HTTP/2 without TLS, which Hypercorn takes up and proxies wave through, and where two
    headers contradict each other about where the request ends.
    """
    if scope["http_version"] not in _SERVED:
        await refuse(send, 505, "This server speaks HTTP/1.1.", [])
        return
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
