"""How a stream's bytes reach its client: directly to the socket, or through ASGI `send`.

Either way, bytes go out completely and in the given order. A write that makes no progress for
`WRITE_SECONDS`, or too little (`slow_clients`), raises `trio.TooSlowError`. `finish` is called once nothing
more will be written, so that the request can send its last part.

The way to the socket is an ASGI extension, ``scope["extensions"]["teamchat.stream"]``, a `DirectStream`. Our
own server offers it for HTTP/1.1 with a chunked response, Hypercorn only without TLS. With HTTP/2, HTTP/1.0
or on another server it is absent, and the stream is written like any other response.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol, cast

import trio

from teamchat.stream import slow_clients

EXTENSION = "teamchat.stream"
"""The name of the ASGI extension that is a `DirectStream`."""
ABORT = "teamchat.abort"
"""The name of the ASGI extension that drops a request's connection at once, a function without arguments."""
WRITE_SECONDS = slow_clients.MOST_SECONDS
"""How long a client may take nothing of what is waiting for it."""

_PIECE = 64 * 1024  # Of what is written through ASGI, the deadline is renewed with each piece.
CLIENT_IS_GONE = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)
"""What a transport raises when the client has left."""

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class DirectStream(Protocol):
    """The connection's socket, for a response that was begun through ASGI and whose body is chunked.

    It may be used from the moment ASGI `send` has returned from the first part of the body until the last
    part (``more_body`` false) is given to `send`, which ends the body as usual.  In between, whoever uses it
    writes whole chunks.
    """

    def send_now(self, data: bytes) -> int:
        """Send without waiting, and return how many bytes were taken: 0 if the client must read first.

        Raises `OSError` or `trio.BrokenResourceError` if the client is gone.
        """

    async def wait_writable(self) -> None:
        """Wait until `send_now` may take something, or has something to raise."""

    def abort(self) -> None:
        """Drop the connection at once, whatever is still to be written."""


class Transport(Protocol):
    """Where a stream writes."""

    chunked: bool
    """Whether what is written must be framed as chunks (RFC 9112, section 7.1)."""
    send_now: Callable[[bytes], int] | None
    """Sends without waiting, as `DirectStream.send_now`; None if this transport can't."""
    is_finished: bool
    """Whether the stream has come to its proper end, and the response may too."""

    async def ready(self) -> None:
        """Wait until the client takes something, as far as that can be known. Raises as `write` does."""

    async def write(self, data: bytes) -> None:
        """Write all of `data`; raise one of `CLIENT_IS_GONE` or `trio.TooSlowError` if that can't be."""

    def finish(self) -> None:
        """Tell the request that all is written."""

    def abort(self) -> None:
        """Drop the connection at once."""


class DirectTransport:
    """Writes chunks to the socket."""

    __slots__ = ("_direct", "_release", "is_finished", "send_now")
    chunked = True

    def __init__(self, direct: DirectStream, release: Callable[[], object]) -> None:
        self._direct = direct
        self._release = release
        self.send_now: Callable[[bytes], int] | None = direct.send_now
        self.is_finished = False

    async def ready(self) -> None:
        with trio.fail_after(WRITE_SECONDS):
            await self._direct.wait_writable()

    async def write(self, data: bytes) -> None:
        lasts = WRITE_SECONDS
        sent = self._direct.send_now(data)
        while data := data[sent:]:
            since = trio.current_time()
            with trio.fail_at(since + lasts):
                await self._direct.wait_writable()
            sent = self._direct.send_now(data)
            lasts = slow_clients.time_left(lasts, trio.current_time() - since, sent)

    def finish(self) -> None:
        self.is_finished = True
        self._release()

    def abort(self) -> None:
        self._direct.abort()
        self._release()


class AsgiTransport:
    """Writes parts of a response through ASGI `send`; the server frames them."""

    __slots__ = ("_abort", "_release", "_send", "is_finished")
    chunked = False
    send_now: Callable[[bytes], int] | None = None

    def __init__(
        self, send: Send, release: Callable[[], object], abort: Callable[[], object] | None = None
    ) -> None:
        self._send = send
        self._release = release
        self._abort = abort
        self.is_finished = False

    async def ready(self) -> None:
        """It is not known: what is written next is chosen when all before it was taken."""

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            part = {
                "type": "http.response.body",
                "body": data[start : start + _PIECE],
                "more_body": True,
            }
            with trio.fail_after(WRITE_SECONDS):
                await self._send(part)

    def finish(self) -> None:
        self.is_finished = True
        self._release()

    def abort(self) -> None:
        if self._abort is not None:
            self._abort()
        self._release()


def transport_for(scope: Mapping[str, Any], send: Send, release: Callable[[], object]) -> Transport:
    """Return the best way that the server offers; `release` is called when the request need wait no more."""
    extensions = scope.get("extensions") or {}
    direct = extensions.get(EXTENSION)
    if direct is not None:
        return DirectTransport(cast(DirectStream, direct), release)
    return AsgiTransport(send, release, extensions.get(ABORT))
