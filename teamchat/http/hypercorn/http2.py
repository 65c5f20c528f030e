"""Requests over HTTP/2, where each has a window of its own in a connection that carries many.

A writer waits for its client, so that an answer is never completely in memory, and a slow reader can be told
from one that stalls. A client that takes nothing loses what it does not take, and nothing else. An incomplete
answer never looks complete, nor as if more of it would come.

Hypercorn's buffer of a stream lets its writer go on as soon as little was taken from it, even nothing because
the window is full. `hold_back` replaces it with one that lets the writer go on when there is room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from typing import Any

import trio
from h2.errors import ErrorCodes
from h2.events import RequestReceived
from h2.exceptions import ProtocolError
from hypercorn.protocol.h2 import BufferCompleteError, H2Protocol, StreamBuffer
from hypercorn.trio.worker_context import EventWrapper

from teamchat.http.http1.head import HOST, METHODS, Headers, Refusal
from teamchat.stream import slow_clients
from teamchat.web.asgi import AsgiApp, Message, Receive, Scope, Send

WRITE_SECONDS = slow_clients.MOST_SECONDS
_PIECE = 16 * 1024
"""So much may wait for a window before its writer does, and in `WRITE_SECONDS` as much must be taken."""


REFUSED = b"Refused"
_PATH = re.compile(rb"/[!\"$-~]*")  # visible characters, and no fragment
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class Buffer(StreamBuffer):
    """What waits for the window of one stream."""

    def __init__(self) -> None:
        super().__init__(EventWrapper)
        self._is_given_up = False

    async def give_up(self) -> None:
        """Have nobody wait any more; what is left stays, so that it never looks as if it had been sent."""
        self._is_given_up = True
        await self._is_empty.set()
        await self._paused.set()

    async def push(self, data: bytes) -> None:
        if self._complete or self._is_given_up:
            raise BufferCompleteError
        self.buffer.extend(data)
        await self._is_empty.clear()
        if len(self.buffer) >= _PIECE:
            await self._paused.clear()
            await self._paused.wait()

    async def pop(self, max_length: int) -> bytes:
        data = bytes(self.buffer[:max_length])
        del self.buffer[:max_length]
        if len(self.buffer) < _PIECE:
            await self._paused.set()
        if not self.buffer:
            await self._is_empty.set()
        return data


class Buffers(dict[int, StreamBuffer]):
    """The buffers of a connection: each that Hypercorn makes becomes a `Buffer`."""

    def __setitem__(self, number: int, made: StreamBuffer) -> None:
        super().__setitem__(number, Buffer())


def hold_back(protocol: H2Protocol) -> None:
    """Have what writes on a connection that has no stream yet wait for its client."""
    protocol.stream_buffers = Buffers()


async def let_go(protocol: H2Protocol) -> None:
    """Have what waits for a client that has gone wait no more."""
    for buffer in tuple(protocol.stream_buffers.values()):
        if isinstance(buffer, Buffer):
            await buffer.give_up()


class _Nobody:
    """Takes what comes for a request that was answered before it had come whole."""

    idle = True

    async def handle(self, event: object) -> None:
        pass


class Streams(dict[int, Any]):
    """The streams of a connection; Hypercorn expects that data comes only for those that are there."""

    def __missing__(self, number: int) -> _Nobody:
        return _Nobody()


def refuse_malformed(protocol: H2Protocol) -> None:
    """Have each request marked that HTTP/1.1 would refuse for its head (`refusal`).

    Hypercorn takes any bytes for ASCII, and fails on them.
    """
    protocol.streams = Streams()
    create = protocol._create_stream

    async def create_checked(request: RequestReceived) -> None:
        try:
            check(request.headers)
        except Refusal as refused:
            method = b"HEAD" if (b":method", b"HEAD") in request.headers else b"GET"
            refusal = b"%d %b" % (refused.status, refused.sentence.encode())
            request.headers = [(b":method", method), (b":path", b"/"), (REFUSED, refusal)]
        await create(request)

    protocol._create_stream = create_checked  # type: ignore[method-assign]


def check(headers: Headers) -> None:
    """Raise `Refusal` for a head that can't be a request's, by the rules of `teamchat.http.http1.head`.

    What h2 lets through: it holds names to the letter, and what RFC 9113, section 8.2, says of values.
    """
    pseudo = {name: value for name, value in headers if name[:1] == b":"}
    method, path = pseudo.get(b":method", b""), pseudo.get(b":path", b"")
    if method not in METHODS and b":protocol" not in pseudo:
        raise Refusal(501, "This server does not know the method.")
    if not _PATH.fullmatch(path) and not (path == b"*" and method == b"OPTIONS"):
        raise Refusal(400, "The request's target is not valid.")
    hosts = {value for name, value in headers if name in {b":authority", b"host"}}
    if len(hosts) != 1 or not HOST.fullmatch(next(iter(hosts))):
        raise Refusal(400, "The Host header is not valid.")
    if any(_CONTROL.search(value) for _, value in headers):
        raise Refusal(400, "The request is malformed: Invalid header value char.")


def refusal(scope: Scope) -> tuple[int, str] | None:
    """Return why a request was marked as one to be refused; no client can send a name in capitals."""
    for name, value in scope["headers"]:
        if name == REFUSED:
            status, _, sentence = value.decode().partition(" ")
            return int(status), sentence
    return None


class Exchange:
    """One request and its answer."""

    def __init__(self, protocol: H2Protocol, send: Send) -> None:
        self._protocol = protocol
        self._send = send
        self._limit = trio.CancelScope()
        self._is_complete = False
        self.abort: Callable[[], None] = self._limit.cancel
        """Ends the request, and its stream."""

    async def run(self, app: AsgiApp, scope: Scope, receive: Receive) -> None:
        """Call the application; reset the stream if it did not complete what it began."""
        try:
            with self._limit:
                await app(scope, receive, self._send_in_time)
        finally:
            if not self._is_complete:
                await self._reset(scope)

    async def _send_in_time(self, message: Message) -> None:
        """Send in pieces, each with a deadline."""
        body, more = message.get("body", b""), message.get("more_body", False)
        if len(body) > _PIECE:
            for start in range(0, len(body), _PIECE):
                piece = body[start : start + _PIECE]
                await self._in_time({"type": message["type"], "body": piece, "more_body": True})
            message = {**message, "body": b""}
        await self._in_time(message)
        self._is_complete = message["type"] == "http.response.body" and not more

    async def _in_time(self, message: Message) -> None:
        self._limit.deadline = trio.current_time() + WRITE_SECONDS
        try:
            await self._send(message)
        finally:
            self._limit.deadline = inf
        if message.get("more_body"):  # An application that does nothing but write leaves the others time.
            await trio.lowlevel.checkpoint()

    async def _reset(self, scope: Mapping[str, object]) -> None:
        """End the stream alone, as Hypercorn does where the client takes a request back."""
        protocol = self._protocol
        open_ones = protocol.streams.items()
        number = next((n for n, stream in open_ones if getattr(stream, "scope", None) is scope), None)
        if number is None or not hasattr(protocol.streams[number], "response"):
            return  # It has ended, or Hypercorn answers in the application's place.
        with suppress(ProtocolError):
            protocol.connection.reset_stream(number, ErrorCodes.CANCEL)
        await protocol._window_updated(number)  # It then finds the stream closed, and forgets its buffer.
        await protocol._flush()
