"""A request's body: read when its endpoint asks for it, within a limit, a deadline and the memory budget.

A client that disconnects does not cancel what it asked for: a write that has begun is finished.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from typing import Any, Self

import trio

from teamchat.errors import BadRequest, BodyTimeout, TooLarge
from teamchat.web.asgi import WHOLE_BODY, Receive
from teamchat.web.budget import Hold
from teamchat.web.reader import BODY_LIMIT

BODY_SECONDS = 60.0
CHECK_SECONDS = 5.0
UNCOUNTED_BYTES = 16 * 1024
"""How much of each body takes no room from the others': who fills the room up stops no short request."""
PIECE_BYTES = 192 * 1024
"""A body that is read as it arrives comes in pieces of at most so many bytes."""
_SLOWEST = 16 * 1024
"""Bytes a second: a long body has longer, as the line of a phone wants it."""
_MOST_UNREAD = 16 * 1024


class Body:
    """A request's body, pulled from the connection when it is read and not before.

    It stands where Quart keeps its own, so a plugin's plain Quart view can ``await request.get_data()``.
    """

    def __init__(
        self,
        receive: Receive,
        announced: int,
        make_hold: Callable[[], Hold],
        whole: Callable[[], bytes | None] | None = None,
    ) -> None:
        self._receive = receive
        self._whole = whole
        self._announced = announced
        self._make_hold = make_hold
        self._hold: Hold | None = None
        self._data: bytes | None = None
        self._arrived = 0
        self._timeout = BODY_SECONDS
        self._check_at: float | None = None
        self.came_with_head = False
        """Whether the body was there as soon as the request was: nothing can have ended while it arrived."""
        self.check: Callable[[], Awaitable[object]] | None = None
        """Asked every few seconds while the body arrives; what it raises ends that."""

    @classmethod
    def of(cls, scope: Any, receive: Receive, make_hold: Callable[[Any], Hold]) -> Self:
        """Return the body of a request."""
        whole = (scope.get("extensions") or {}).get(WHOLE_BODY)
        return cls(receive, _announced(scope), partial(make_hold, scope), whole)

    @property
    def announced(self) -> int | None:
        """How many bytes were announced (``Content-Length``); None if that was not said, or it is 0."""
        return self._announced if self._announced > 0 else None

    @property
    def is_left_unread(self) -> bool:
        """Whether so much was announced and not read that the connection can't go on after the response."""
        return self._data is None and self._announced > _MOST_UNREAD

    async def read(self, limit: int = BODY_LIMIT) -> bytes:
        """Return the whole body.

        Raises `TooLarge` (413) beyond `limit` bytes, `BodyTimeout` (408) where less of it has arrived than
        16 KiB for each second after the first 60, and `Unavailable` (503) if it found no room for 30 s.
        """
        if self._data is None:
            if self._announced > limit:
                raise TooLarge(f"The body is larger than {limit} bytes.")
            # Most come with their heads, and need no deadline.
            whole = None
            if self._whole is not None and self._announced <= UNCOUNTED_BYTES:
                whole = self._whole()
            self.came_with_head = whole is not None
            self._data = await self._pull(limit) if whole is None else whole
        return self._data

    def pieces(self, limit: int) -> Pieces:
        """Return the body as it arrives, in pieces of at most 192 KiB, of which none is kept here.

        Iterating raises as `read` does, but waits for no room.
        """
        return Pieces(self, limit)

    def __await__(self) -> Generator[Any, None, bytes]:
        return self.read().__await__()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield await self.read()

    def clear(self) -> None:
        """Forget what was read; it has come whole."""
        self._data = b""

    def release(self) -> None:
        """The request is over: what it held is free for others."""
        if self._hold is not None:
            self._hold.release()
            self._hold = None

    async def _pull(self, limit: int) -> bytes:
        # Not a list of pieces: in pieces of two bytes a body would take 28 times what its hold says.
        arrived = bytearray()
        while True:
            piece, more = await self.next_piece(limit)
            size = len(arrived) + len(piece)
            if size > UNCOUNTED_BYTES:
                await self._make_room(size - UNCOUNTED_BYTES, may_wait=more)
            if not arrived and not more:
                return piece
            arrived += piece
            if not more:
                return bytes(arrived)

    async def next_piece(self, limit: int) -> tuple[bytes, bool]:
        """Return what arrives next, and whether there is more to come after it."""
        since = trio.current_time()
        if self._check_at is None:
            self._check_at = since + CHECK_SECONDS
        with trio.move_on_at(since + self._timeout) as deadline:
            message = await self._receive()
        if deadline.cancelled_caught:
            raise BodyTimeout("The body did not arrive in time.")
        if message["type"] != "http.request":
            raise BadRequest("The body is incomplete.")
        piece: bytes = message.get("body", b"")
        more: bool = message.get("more_body", False)
        self._arrived += len(piece)
        if self._arrived > limit:
            raise TooLarge(f"The body is larger than {limit} bytes.")
        now = trio.current_time()
        self._timeout += len(piece) / _SLOWEST - (now - since)
        if more and self.check is not None and now >= self._check_at:
            await self.check()
            self._check_at = trio.current_time() + CHECK_SECONDS
        return piece, more

    async def _make_room(self, size: int, *, may_wait: bool) -> None:
        """Hold as much as has arrived; where there is no room wait for it, and read nothing meanwhile."""
        hold = self._hold = self._hold or self._make_hold()
        more = size - hold.size
        if not hold.take(more, by_force=not may_wait):
            await hold.wait(hold, more)


class Pieces:
    """A body on its way, in pieces."""

    def __init__(self, body: Body, limit: int) -> None:
        self._body = body
        self._limit = limit
        self._rest = b""
        self._more = True

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        if (self._body.announced or 0) > self._limit:
            raise TooLarge(f"The body is larger than {self._limit} bytes.")
        while not self._rest and self._more:
            self._rest, self._more = await self._body.next_piece(self._limit)
            if not self._more:
                self._body.clear()
        if not self._rest:
            raise StopAsyncIteration
        piece, self._rest = self._rest[:PIECE_BYTES], self._rest[PIECE_BYTES:]
        return piece


def _announced(scope: Any) -> int:
    """Return how long a request says its body is, in bytes; -1 for one that comes in chunks."""
    is_chunked = False
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
        is_chunked = is_chunked or name == b"transfer-encoding"
    return -1 if is_chunked else 0
