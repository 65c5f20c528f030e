"""One client's connection, in one task: a request is read, handed over and answered; then the next.

Nothing of a request reaches the application before the answer to the previous one is complete. Whatever a
client does or fails to do ends by a deadline. What the client must still be able to read is written before
the connection closes (RFC 9112, section 9.6), and an incomplete answer never looks complete.
"""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any, Protocol

import trio

from teamchat.errors import Problem
from teamchat.http.http1 import response
from teamchat.http.http1.exchange import READ_BYTES, Exchange, State
from teamchat.http.http1.head import Head, HeadReader, Refusal
from teamchat.http.http1.tls import TlsTransport
from teamchat.http.http1.transport import Address, Transport
from teamchat.observability.logs import get_logger
from teamchat.stream.transport import ABORT, EXTENSION
from teamchat.web.asgi import WHOLE_BODY

if TYPE_CHECKING:
    from teamchat.web.asgi import AsgiApp

HEADER_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 75.0
LINGER_SECONDS = 5.0
MOST_REQUESTS = 100_000
_HEAD_BYTES = 16 * 1024
_ASGI = {"version": "3.0", "spec_version": "2.3"}

_log = get_logger(__name__)


class Serving(Protocol):
    """What a connection needs to know of the server it belongs to."""

    is_stopping: bool

    def rests(self, connection: Any, /) -> None:
        """Take note that it waits for a request, and may have to make room for others."""

    def asks(self, connection: Any, /) -> None:
        """Take note that it has sent a whole head."""

    async def serve_http2(self, connection: Any, /) -> None:
        """Serve it in its own place, for it has agreed upon HTTP/2."""


class Connection:
    """One client's connection. `run` serves it to its end."""

    __slots__ = (
        "_app",
        "_client",
        "_scope",
        "_served",
        "_server",
        "_tls",
        "_waiting",
        "serving",
        "transport",
    )

    def __init__(
        self, app: AsgiApp, serving: Serving, raw: socket.socket, tls: ssl.SSLContext | None = None
    ) -> None:
        self._app = app
        self.serving = serving
        self._tls = None if tls is None else TlsTransport(raw, tls)
        self.transport: Transport = self._tls or Transport(raw)
        self._scope = trio.CancelScope()
        self._waiting: trio.CancelScope | None = None
        self._served = 0
        self._client: Address = None
        self._server: Address = None

    @property
    def takes_more(self) -> bool:
        """Whether another request may follow the one that is served."""
        return not self.serving.is_stopping and self._served < MOST_REQUESTS

    async def run(self) -> None:
        """Serve the client until it leaves, is dropped, or the server stops."""
        try:
            with self._scope:
                self._client, self._server = self.transport.addresses()
                if self._tls is not None and await self._agree(self._tls) == "h2":
                    await self.serving.serve_http2(self)
                else:
                    await self._serve()
        except OSError:
            pass  # It had gone before it was served, or did not speak TLS.
        except Exception as error:  # One connection's failure must not reach the others' nursery.
            _log.error("a connection failed", exc_info=error)
        finally:
            self.transport.close()

    def abort(self) -> None:
        """Drop the connection at once, whatever is still to be written."""
        self._scope.cancel()
        self.transport.close()

    def stop(self) -> None:
        """The server stops: a client that asks for nothing is let go now, another after its answer."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def _agree(self, tls: TlsTransport) -> str | None:
        """Shake hands in time, and return the protocol that was agreed upon. Raises `OSError`."""
        seconds = 0 if self.serving.is_stopping else HEADER_SECONDS
        with trio.CancelScope(deadline=trio.current_time() + seconds) as self._waiting:
            protocol = await tls.begin()
        late = self._waiting.cancelled_caught
        self._waiting = None
        if late:
            raise TimeoutError("the handshake was not completed in time")
        return protocol

    async def _serve(self) -> None:
        try:
            while await self._serve_one():
                pass
            self.transport.farewell()
        except Refusal as refused:
            await self.transport.write(response.refusal(refused, refused.method))
            await self._linger()

    async def _serve_one(self) -> bool:
        """Serve a request and return whether another may follow."""
        head = await self._read_head()
        if head is None:
            return False
        self._served += 1
        if head.path == "*":
            return await self._tell_methods(head)
        exchange = Exchange(self, head)
        try:
            await self._answer(head, exchange)
            return await self._end(exchange)
        finally:
            exchange.release()

    # The request

    async def _read_head(self) -> Head | None:
        """Return the head of the next request; None if there will be none. Raises `Refusal`."""
        reader = HeadReader()
        try:
            return await self._feed(reader)
        except Refusal as refused:
            refused.method = reader.method
            raise

    async def _feed(self, reader: HeadReader) -> Head | None:
        data: bytes | None = self.transport.take()
        if data:
            await trio.lowlevel.checkpoint()  # Many requests in one write must not keep the others waiting.
        else:
            self.serving.rests(self)
            data = await self._hear(KEEP_ALIVE_SECONDS if self._served else HEADER_SECONDS)
        deadline = trio.current_time() + HEADER_SECONDS if data else 0
        while data:
            found = reader.feed(data)
            if found is not None:
                self.serving.asks(self)
                head, self.transport.unread = found
                return head
            self.serving.rests(self)  # A part of a head asks for nothing yet; its place in the row stays.
            data = await self._hear(deadline - trio.current_time())
            if not data and not self.serving.is_stopping:
                late = data is None
                raise Refusal(*((408, "The headers did not arrive in time.") if late else _CUT_OFF))
        return None

    async def _hear(self, seconds: float) -> bytes | None:
        """Return what comes within `seconds`, b"" at the client's end; None if nothing came."""
        if not self.serving.is_stopping:
            with trio.CancelScope(deadline=trio.current_time() + seconds) as self._waiting:
                data = await self.transport.read(_HEAD_BYTES)
            late = self._waiting.cancelled_caught
            self._waiting = None
            if not late:
                return data
        # A request that was sent before the server stopped is served.
        return (self.transport.read_now(_HEAD_BYTES) if self.serving.is_stopping else b"") or None

    # The answer

    async def _tell_methods(self, head: Head) -> bool:
        """Answer ``OPTIONS *``. A body has no meaning there (RFC 9110, section 9.3.7) and ends it all."""
        goes_on = head.is_keep_alive and head.length == 0 and self.takes_more
        await self.transport.write(response.allowed_methods(closes=not goes_on))
        if not goes_on and (head.length != 0 or self.transport.unread):
            await self._linger()
        return goes_on

    def _scope_of(self, head: Head, exchange: Exchange) -> dict[str, Any]:
        extensions: dict[str, Any] = {ABORT: exchange.abort, WHOLE_BODY: exchange.whole_body}
        if head.version == "1.1" and head.method != "HEAD":
            extensions[EXTENSION] = exchange
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": head.version,
            "method": head.method,
            "scheme": "http" if self._tls is None else "https",
            "path": head.path,
            "raw_path": head.raw_path,
            "query_string": head.query,
            "root_path": "",
            "headers": head.headers,
            "client": self._client,
            "server": self._server,
            "state": {},
            "extensions": extensions,
        }

    async def _answer(self, head: Head, exchange: Exchange) -> None:
        """Call the application; see to it that there is an answer."""
        failed = Refusal(500, "The server failed. Nothing more can be said here; its log says more.")
        try:
            await self._app(self._scope_of(head, exchange), exchange.receive, exchange.send)
        except Problem as problem:
            failed = Refusal(problem.status, problem.sentence)
        except Exception as error:
            if not self.transport.is_closed:
                _log.error("a request failed", exc_info=error)
        else:
            if exchange.state != State.DONE and not self.transport.is_gone:
                _log.error("the application returned without finishing its response")
        if exchange.state < State.OPEN:
            await exchange.refuse(failed)

    async def _end(self, exchange: Exchange) -> bool:
        """See the request out, and return whether another may follow."""
        if exchange.state != State.DONE:
            self.abort()
            return False
        if exchange.keeps_connection and not exchange.is_unread:
            return True
        if exchange.keeps_connection and await self._passes_over(exchange):
            return True
        if exchange.is_unread or self.transport.unread:
            await self._linger()
        return False

    async def _passes_over(self, exchange: Exchange) -> bool:
        try:
            return await exchange.drain()
        except Problem:
            return False

    async def _linger(self) -> None:
        """Take what the client still sends, for a while: closing at once could destroy the answer."""
        if not self.transport.end_writing():
            return
        with trio.move_on_after(LINGER_SECONDS):
            while await self.transport.read(READ_BYTES):
                pass


_CUT_OFF = (400, "The request is incomplete.")
