"""A request's body: read when its endpoint asks for it, within a limit, a deadline and the room there is.

A client that goes does not cancel what it asked for: a write that has begun is finished.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from typing import Any, Self

import trio

from teamchat.errors import BadRequest, BodyTimeout, TooLarge
from teamchat.web.asgi import Receive
from teamchat.web.budget import Hold
from teamchat.web.reader import BODY_LIMIT

BODY_SECONDS = 60.0
CHECK_SECONDS = 5.0
UNCOUNTED_BYTES = 16 * 1024
"""How much of each body takes no room from the others': who fills the room up stops no short request."""
_SLOWEST = 16 * 1024
"""Bytes a second: a long body has longer, as the line of a phone wants it."""
_MOST_UNREAD = 16 * 1024


class Body:
    """A request's body, pulled from the connection when it is read and not before.

    It stands where Quart keeps its own, so a plugin's plain Quart view can ``await request.get_data()``.
    """

    def __init__(self, receive: Receive, announced: int, make_hold: Callable[[], Hold]) -> None:
        self._receive = receive
        self._announced = announced
        self._make_hold = make_hold
        self._hold: Hold | None = None
        self._data: bytes | None = None
        self.check: Callable[[], Awaitable[object]] | None = None
        """Asked every few seconds while the body arrives; what it raises ends that."""

    @classmethod
    def of(cls, scope: Any, receive: Receive, make_hold: Callable[[Any], Hold]) -> Self:
        """Return the body of a request."""
        return cls(receive, _announced(scope), partial(make_hold, scope))

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
            self._data = await self._pull(limit)
        return self._data

    def __await__(self) -> Generator[Any, None, bytes]:
        return self.read().__await__()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield await self.read()

    def clear(self) -> None:
        """Forget what was read."""
        self._data = b""

    def release(self) -> None:
        """The request is over: what it held is free for others."""
        if self._hold is not None:
            self._hold.release()
            self._hold = None

    async def _pull(self, limit: int) -> bytes:
        # Not a list of pieces: in pieces of two bytes a body would take 28 times what its hold says.
        arrived = bytearray()
        size, timeout = 0, BODY_SECONDS
        check_at = trio.current_time() + CHECK_SECONDS
        more = True
        while more:
            since = trio.current_time()
            with trio.move_on_at(since + timeout) as deadline:
                message = await self._receive()
            if deadline.cancelled_caught:
                raise BodyTimeout("The body did not arrive in time.")
            if message["type"] != "http.request":
                raise BadRequest("The body is incomplete.")
            piece: bytes = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(piece)
            if size > limit:
                raise TooLarge(f"The body is larger than {limit} bytes.")
            timeout += len(piece) / _SLOWEST - (trio.current_time() - since)
            if size > UNCOUNTED_BYTES:
                await self._make_room(size - UNCOUNTED_BYTES, may_wait=more)
            if more and self.check is not None and trio.current_time() >= check_at:
                await self.check()
                check_at = trio.current_time() + CHECK_SECONDS
            if not arrived and not more:
                return piece
            arrived += piece
        return bytes(arrived)

    async def _make_room(self, size: int, *, may_wait: bool) -> None:
        """Hold as much as has arrived; where there is no room wait for it, and read nothing meanwhile."""
        hold = self._hold = self._hold or self._make_hold()
        more = size - hold.size
        if not hold.take(more, by_force=not may_wait):
            await hold.wait(hold, more)


def _announced(scope: Any) -> int:
    """Return how long a request says its body is, in bytes."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0
