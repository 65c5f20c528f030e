"""One request and its answer, as the application sees them (ASGI), and the stream that is written directly.

A body is read when the application asks for it, one read at a time, and 100 (Continue) is sent only then.
Once the answer is complete, or the client has gone, `receive` says so. An incomplete answer can't be taken
for a complete one, because the connection is then dropped.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

import trio

from teamchat.errors import BodyTimeout, Problem
from teamchat.http.http1 import response
from teamchat.http.http1.body import Body, LengthBody, body_of
from teamchat.http.http1.head import Refusal
from teamchat.observability import logs
from teamchat.stream import slow_clients

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from teamchat.http.http1.head import Head
    from teamchat.http.http1.transport import Transport

    Message = MutableMapping[str, Any]

READ_BYTES = 64 * 1024
LONG_BODY_READ_BYTES = 192 * 1024
"""How much is read at a time of what is longer than `READ_BYTES`: each time costs a turn of the loop."""
DRAIN_BYTES = 64 * 1024
"""How much of an unread body is passed over to keep a connection; with more to come it is closed."""
BODY_PATIENCE = 10.0
"""How long a body may keep the server waiting at first, in seconds (`teamchat.stream.slow_clients`)."""


class State(IntEnum):
    """How far the answer is."""

    NEW = 0
    STARTED = 1  # The application gave the head, which waits for the body's first part.
    OPEN = 2
    DONE = 3


class Connected(Protocol):
    """The connection that a request came on."""

    @property
    def transport(self) -> Transport:
        """The way to its client."""

    @property
    def takes_more(self) -> bool:
        """Whether it may serve another request."""

    def abort(self) -> None:
        """Drop it at once."""


class Exchange:
    """One request: what ASGI calls `receive` and `send`, and the extension `DirectStream`."""

    __slots__ = (
        "_answer",
        "_body",
        "_connection",
        "_expects_continue",
        "_had_request",
        "_is_chunked",
        "_is_old",
        "_is_spoilt",
        "_left",
        "_listening",
        "_method",
        "_timeout",
        "_transport",
        "keeps_connection",
        "state",
    )

    def __init__(self, connection: Connected, head: Head) -> None:
        self._connection = connection
        self._transport = connection.transport
        self._method = head.method
        self._is_old = head.version == "1.0"
        self._body = body_of(head.length)
        self._expects_continue = head.expects_continue and self._body is not None
        self._had_request = False
        self._is_spoilt = False
        self._timeout = BODY_PATIENCE
        self._listening: trio.CancelScope | None = None
        self._answer: response.Answer | None = None
        self._is_chunked = False
        self._left: int | None = None
        self.keeps_connection = head.is_keep_alive
        self.state = State.NEW

    # The request

    async def receive(self) -> Message:
        """Return the next part of the body, or wait until the client has gone or the answer is complete.

        Raises a `Problem` for a body that is malformed or late, as long as that can still be answered.
        """
        if self.state == State.DONE or self._is_spoilt:
            return {"type": "http.disconnect"}
        body = self._body
        if body is not None and not body.done:
            return await self._part_or_disconnect(body)
        if not self._had_request:
            self._had_request = True
            return {"type": "http.request", "body": b"", "more_body": False}
        if not self._transport.is_gone:
            await self._until_over()
        return {"type": "http.disconnect"}

    def whole_body(self) -> bytes | None:
        """Return the body without waiting, if all of it has come with the head."""
        body = self._body
        if self._had_request or not isinstance(body, LengthBody) or body.left > len(self._transport.unread):
            return None
        self._had_request = True
        return self._decode(body, self._transport.take())

    async def _part_or_disconnect(self, body: Body) -> Message:
        try:
            return await self._next_part(body)
        except Problem:
            self._is_spoilt = True
            self.keeps_connection = False
            if self.state == State.NEW:
                raise
            return {"type": "http.disconnect"}

    async def _next_part(self, body: Body) -> Message:
        piece = b""
        while not piece and not body.done:
            data = self._transport.take() or await self._more()
            if not data:
                return {"type": "http.disconnect"}
            piece = self._decode(body, data)
        self._had_request = True
        return {"type": "http.request", "body": piece, "more_body": not body.done}

    def _decode(self, body: Body, data: bytes) -> bytes:
        piece = body.feed(data)
        if body.done:
            self._transport.unread = body.rest
        return piece

    async def _more(self) -> bytes:
        """Wait for more of the body, until its timeout."""
        if self._expects_continue and self.state == State.NEW:
            self._expects_continue = False
            await self._write(response.CONTINUE)
        since = trio.current_time()
        data = b""
        with trio.move_on_at(since + self._timeout) as limit:
            is_long = self._body is not None and (self._body.left or 0) > READ_BYTES
            data = await self._transport.read(LONG_BODY_READ_BYTES if is_long else READ_BYTES)
        if limit.cancelled_caught:
            raise BodyTimeout("The body did not arrive in time.")
        self._timeout = slow_clients.time_left(self._timeout, trio.current_time() - since, len(data))
        return data

    async def _until_over(self) -> None:
        """Wait until the client has gone or the answer is complete; keep one read of what comes after."""
        transport = self._transport
        with trio.CancelScope() as self._listening:
            while len(transport.unread) < READ_BYTES:
                data = await transport.read(READ_BYTES)
                if not data:
                    return
                transport.unread += data
            await trio.sleep_forever()

    # The answer

    async def send(self, message: Message) -> None:
        """Take the head of the answer, or a part of its body."""
        kind = message["type"]
        answer = self._answer
        if kind == "http.response.body" and answer is not None and self.state < State.DONE:
            await self._send_part(answer, message.get("body", b""), message.get("more_body", False))
        elif kind == "http.response.start" and self.state == State.NEW:
            self._answer = response.Answer(message["status"], message.get("headers", ()), self._method)
            self.state = State.STARTED
        else:
            raise RuntimeError(f"the application sent {kind!r} at the wrong time")

    async def _send_part(self, answer: response.Answer, part: bytes, more: bool) -> None:
        data = self._begin(answer, len(part), more) if self.state == State.STARTED else b""
        data += self._framed(answer, part, more)
        self.state = State.OPEN
        if data:
            await self._write(data)
        if more:
            await trio.lowlevel.checkpoint()
            return
        if self._left:
            raise RuntimeError("the application sent less than its Content-Length")
        self.state = State.DONE
        if self._listening is not None:
            self._listening.cancel()

    def _begin(self, answer: response.Answer, size: int, more: bool) -> bytes:
        """Choose what frames the body, and return the head."""
        if answer.length is None and not answer.is_bodiless:
            if not more:
                answer.length = size
            elif self._is_old:
                self.keeps_connection = False  # The end of the connection is the end of the body.
            else:
                self._is_chunked = True
        self._left = None if answer.is_bodiless else answer.length
        self.keeps_connection = self.keeps_connection and not answer.closes and self._may_go_on()
        return answer.head(chunked=self._is_chunked, closes=not self.keeps_connection)

    def _may_go_on(self) -> bool:
        """Whether what is unread of the body can be passed over, and the server takes more requests."""
        if not self._connection.takes_more:
            return False
        body = self._body
        if body is None or body.done:
            return True
        return not self._expects_continue and body.left is not None and body.left <= DRAIN_BYTES

    def _framed(self, answer: response.Answer, part: bytes, more: bool) -> bytes:
        if self._is_chunked:
            chunk = b"%x\r\n%b\r\n" % (len(part), part) if part else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        if answer.is_bodiless:
            return b""
        if self._left is not None:
            self._left -= len(part)
            if self._left < 0:
                raise RuntimeError("the application sent more than its Content-Length")
        return part

    async def _write(self, data: bytes) -> None:
        if not await self._transport.write(data):
            self.abort()
            await trio.lowlevel.checkpoint_if_cancelled()

    # The stream that is written directly

    def send_now(self, data: bytes) -> int:
        """Send without waiting, and return how many bytes were taken. Raises `BrokenResourceError`."""
        if self.state != State.OPEN or not self._is_chunked:
            raise trio.BrokenResourceError("there is no open stream")
        return self._transport.send_now(data)

    async def wait_writable(self) -> None:
        """Wait until `send_now` may take something. Raises `BrokenResourceError` once all is over."""
        await self._transport.wait_writable()

    def abort(self) -> None:
        """Drop the connection at once, unless this answer is complete and it serves another request."""
        if self.state != State.DONE:
            self._connection.abort()

    # The end

    async def refuse(self, refused: Refusal) -> None:
        """Answer in the application's place. Nothing of its own answer has been written."""
        self.keeps_connection = False
        name = logs.request.get()
        extra = [] if name is None else [(b"x-request-id", name.encode())]
        await self._write(response.refusal(refused, self._method, extra))
        self.state = State.DONE

    def release(self) -> None:
        """What is logged from now on is not of this request."""
        logs.request.set(None)

    @property
    def is_unread(self) -> bool:
        """Whether there is more of the body."""
        return self._body is not None and not self._body.done

    async def drain(self) -> bool:
        """Pass over what is unread of the body; False if it breaks off. Raises a `Problem` as `receive`."""
        body = self._body
        while body is not None and not body.done:
            data = self._transport.take() or await self._more()
            if not data:
                return False
            self._decode(body, data)
        return True
