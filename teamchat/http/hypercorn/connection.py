"""One client's connection: Hypercorn's, with what it lacks (see the docstring of the package)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import h11
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.tcp_server import MAX_RECV, TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import wrap_app

from teamchat.http.hypercorn import http2
from teamchat.http.hypercorn.handed import Handed
from teamchat.http.hypercorn.timer import Timer
from teamchat.http.hypercorn.unread import WholeRequest, has_body
from teamchat.http.limiter import ConnectionLimiter, Limited
from teamchat.observability.logs import get_logger
from teamchat.stream.transport import ABORT, EXTENSION
from teamchat.web.asgi import AsgiApp, Receive, Scope, Send, refuse

WRITE_SECONDS = 30.0
HEADER_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 75
MOST_AT_ONCE = 200
"""Requests of one connection that may run at once, those included that the client has taken back."""
_PIECE = 64 * 1024
_INTERIM = b"HTTP/1.1 1"  # a 1xx response, which has no body and is not to wait

Secured = trio.SSLStream[trio.SocketStream] | Handed
"""A connection under TLS."""

_log = get_logger(__name__)


class Connection(TCPServer):
    """One client's connection."""

    def __init__(
        self,
        app: AsgiApp,
        config: Config,
        context: WorkerContext,
        stream: trio.SocketStream | Secured,
        limiter: ConnectionLimiter[Any],
        counted_as: Limited | None = None,
    ) -> None:
        guarded = wrap_app(partial(self._guarded, app), config.wsgi_max_body_size, "asgi")
        super().__init__(guarded, config, context, ConnectionState({}), cast(Any, stream))
        self._plain: trio.socket.SocketType | None = None
        self._close_socket: Callable[[], object]
        if isinstance(stream, trio.SocketStream):
            self._plain = stream.socket
            self._close_socket = self._plain.close
        else:
            self._close_socket = stream.transport_stream.socket.close
        self._scope = trio.CancelScope()
        self._limiter = limiter
        self._counted_as = counted_as or self
        self._running = 0
        self._idle_seconds = HEADER_SECONDS
        self._awaits_request = True
        self._head: bytes | None = b""  # what of a response's head waits; None once it was written
        self._timer = Timer(context.terminated, self._initiate_server_close)
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
        self._close_socket()
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
                (self._limiter.rests if event.idle else self._limiter.asks)(self._counted_as)
                self._idle_seconds = KEEP_ALIVE_SECONDS
                self._head = b"" if self._speaks_http_1 else None
            elif self._head:
                head, self._head = self._head, None
                await self._write(head)
            await super().protocol_send(event)

    def _with_head(self, data: bytes) -> bytes:
        """Return what to write now: a head waits for what follows it, were it only the end of the body."""
        if self._head is None or not self._speaks_http_1 or data.startswith(_INTERIM):
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
        protocol = self.protocol.protocol
        if isinstance(protocol, H11Protocol):
            protocol._send_error_response = partial(_refuse_malformed, protocol)  # type: ignore[method-assign]
        elif self._plain is None:
            http2.hold_back(protocol)
            http2.refuse_malformed(protocol)
        while True:
            try:
                data = await self.stream.receive_some(MAX_RECV)
            except (trio.ClosedResourceError, trio.BrokenResourceError):
                break
            if data and self._awaits_request:
                self._awaits_request = False
                self._timer.give(HEADER_SECONDS)
            await self.protocol.handle(RawData(bytes(data)))
            if self._plain is not None and not self._speaks_http_1:  # HTTP/2 without TLS was asked for
                self.abort()
            if not data:
                break
        self._timer.end()
        await self.protocol.handle(Closed())
        if isinstance(self.protocol.protocol, H2Protocol):
            await http2.let_go(self.protocol.protocol)

    async def _idle_timeout(self) -> None:
        self._timer.give(self._idle_seconds)

    async def _close(self) -> None:
        with trio.move_on_after(WRITE_SECONDS, shield=True):
            await super()._close()

    @property
    def _speaks_http_1(self) -> bool:
        return isinstance(self.protocol.protocol, H11Protocol)

    async def _guarded(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, unless a proxy in front may have seen another request than the one that came.

        That is so for HTTP/2 without TLS, which Hypercorn takes up and proxies wave through, and where two
        headers contradict each other about where the request ends.
        """
        version = scope["http_version"]
        if self._plain is not None and version not in {"1.0", "1.1"}:
            await refuse(send, 505, "This server speaks HTTP/1.1.", [])
            return
        if version == "2" and (refused := http2.refusal(scope)) is not None:
            await refuse(send, *refused, [])
            return
        names = {name for name, _ in scope["headers"]}
        if {b"content-length", b"transfer-encoding"} <= names:
            contradiction = "Content-Length and Transfer-Encoding can't be sent together."
            await refuse(send, 400, contradiction, [(b"connection", b"close")])
            return
        if self._plain is not None and version == "1.1" and scope["method"] != "HEAD":
            scope["extensions"][EXTENSION] = _Direct(self._plain, self.abort)
        if self._running == MOST_AT_ONCE:
            self.abort()
            return
        self._running += 1
        try:
            if version == "2":
                await self._run_one_of_many(app, scope, receive, send)
            else:
                scope["extensions"][ABORT] = self.abort
                if has_body(scope):
                    request = WholeRequest(receive, send)
                    receive, send = request.receive, request.send
                await app(scope, receive, send)
        finally:
            self._running -= 1

    async def _run_one_of_many(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        protocol = cast(H2Protocol, self.protocol.protocol)
        exchange = http2.Exchange(protocol, send)
        scope["extensions"][ABORT] = exchange.abort
        try:
            await exchange.run(app, scope, receive)
        finally:
            if protocol.idle and not self._awaits_request:  # Hypercorn is silent on what was taken back.
                await self.protocol_send(Updated(idle=True))


class _Direct:
    """The stream that is written directly (`teamchat.stream.transport.DirectStream`)."""

    __slots__ = ("_socket", "abort")

    def __init__(self, raw: trio.socket.SocketType, abort: Callable[[], None]) -> None:
        self._socket = raw
        self.abort = abort

    def send_now(self, data: bytes) -> int:
        try:
            return os.write(self._socket.fileno(), data)
        except BlockingIOError:
            return 0

    async def wait_writable(self) -> None:
        if self._socket.fileno() < 0:
            raise trio.BrokenResourceError("the connection was dropped")
        await trio.lowlevel.wait_writable(self._socket)


async def _refuse_malformed(protocol: H11Protocol, status: int) -> None:
    """Answer what h11 could not read in the one shape of errors (decision D-01); it sends an empty body."""
    sentence = "The headers are too large." if status == 431 else "The request is malformed."
    body = json.dumps({"error": sentence}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await protocol._send_h11_event(h11.Response(status_code=status, headers=headers))
    await protocol._send_h11_event(h11.Data(data=body))
    await protocol._send_h11_event(h11.EndOfMessage())
