"""How answers leave: small ones at once, large ones in pieces, as there is room for them (decision D-44).

An answer of up to 16 KiB costs about as much as its connection, and is not counted. A larger one takes room
in the budget while it is being sent. If there is none, the answer is dropped and made again when its turn
comes, because what waits must not be in memory. Only what can't be asked for again, such as the answer to a
POST, is sent however much room there is.

A client that takes less than 16 KiB a second of a large answer in the long run is cut off.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Hashable
from contextlib import AbstractAsyncContextManager
from typing import Any

import trio

from teamchat.errors import Problem
from teamchat.stream.transport import ABORT
from teamchat.web.asgi import Send
from teamchat.web.budget import Budget, Hold, Owner
from teamchat.web.responses import Response

ANSWERS_BYTES = 128 * 1024 * 1024
"""How much of all answers may wait to be sent at once."""
UNCOUNTED_BYTES = 16 * 1024
"""An answer up to this size is not counted."""
PIECE = 64 * 1024
"""A larger answer is handed to the server in pieces of so many bytes."""
SLOWEST = 16 * 1024
"""Bytes a second that a client has to take of a large answer, in the long run."""
LATE_SECONDS = 30.0
"""How far a client may be behind that."""
_HOLD = "teamchat.hold"
_STREAM_BYTES = 2 * PIECE  # of an answer that is made piece by piece: one under way, and one being made


class AnswerSpace:
    """The memory there is for answers that are being sent."""

    def __init__(self, owner: Callable[[Any], Owner]) -> None:
        self._owner = owner
        self.answers = Budget(ANSWERS_BYTES)

    async def answer(self, scope: Any, make: Callable[[], Awaitable[Response]]) -> Response:
        """Return what `make` gives once there is room for it; until then it is made again and again.

        Raises `Unavailable` if there was none for 30 s.
        """
        if self.answers.lines:
            await self._wait_behind(scope)
        while True:
            answer = await make()
            if answer.pieces is not None:
                await self._open_stream(scope, answer)
                return answer
            data = answer.data
            if len(data) <= UNCOUNTED_BYTES or self._take(scope, data):
                return answer
            size = PIECE + len(data)
            del answer, data  # What waits for room must not take any.
            await self._hold(scope).wait(self._line(scope), size)

    async def open_stream(self, scope: Any) -> None:
        """Take the room of an answer that is made piece by piece, before anything is opened for it.

        Raises `Unavailable` if there was none for 30 s.
        """
        method = scope["method"]
        hold = self._hold(scope)
        if method == "HEAD" or hold.size or hold.take(_STREAM_BYTES, by_force=method != "GET"):
            return
        await hold.wait(self._line(scope), _STREAM_BYTES)

    def release(self, scope: Any) -> None:
        """The answer is sent, or never will be."""
        hold = scope.pop(_HOLD, None)
        if hold is not None:
            hold.release()

    async def _open_stream(self, scope: Any, answer: Response) -> None:
        try:
            await self.open_stream(scope)
        except BaseException:
            with trio.CancelScope(shield=True):
                await answer.close()
            raise

    async def _wait_behind(self, scope: Any) -> None:
        """Wait behind the same client's requests for the same address whose answers found no room.

        So what is known to be large is not made in vain.
        """
        row = self.answers.lines.get(self._line(scope)) if scope["method"] == "GET" else None
        if row:
            hold = scope[_HOLD] = Hold(self.answers, row[0].hold.owner)
            await hold.wait(self._line(scope), row[0].size)

    def _take(self, scope: Any, data: bytes) -> bool:
        if scope["method"] == "HEAD":
            return True
        hold = self._hold(scope)
        if scope["method"] == "GET":
            return hold.change(PIECE, data)
        return hold.take(PIECE, data, by_force=True)  # The write is committed: its answer must go out.

    def _hold(self, scope: Any) -> Hold:
        hold: Hold | None = scope.get(_HOLD)
        if hold is None:
            hold = scope[_HOLD] = Hold(self.answers, self._owner(scope))
        return hold

    def _line(self, scope: Any) -> Hashable:
        """Return where a request waits: with those of the same token, or network, for the same address."""
        for name, value in scope["headers"]:
            if name == b"authorization":
                return value, scope["path"]
        # Not the peer: a proxy would have all strangers wait behind the one who has taken the most.
        return self._owner(scope), scope["path"]


async def send_body(scope: Any, send: Send, answer: Response) -> None:
    """Send the body of an answer whose head is sent; HEAD has none."""
    if answer.pieces is not None:
        await _send_stream(scope, send, answer.pieces)
        return
    data = b"" if scope["method"] == "HEAD" else answer.data
    if len(data) <= PIECE:
        await send({"type": "http.response.body", "body": data, "more_body": False})
        return
    pace = Pace(scope, send)
    for start in range(0, len(data), PIECE):
        end = start + PIECE
        await pace.send(data[start:end], more=end < len(data))


async def _send_stream(
    scope: Any, send: Send, body: AbstractAsyncContextManager[AsyncIterable[bytes]]
) -> None:
    async with body as pieces:
        if scope["method"] != "HEAD":
            pace = Pace(scope, send)
            try:
                async for made in pieces:
                    # A store may give views of its memory, which servers can't frame.
                    piece = made if type(made) is bytes else memoryview(made).tobytes()
                    for start in range(0, len(piece), PIECE):
                        await pace.send(piece[start : start + PIECE], more=True)
            except Problem:  # What can't be told any more: the head is sent.
                await _cut_off(scope)
                raise
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _cut_off(scope: Any) -> None:
    scope["extensions"][ABORT]()
    await trio.lowlevel.checkpoint_if_cancelled()


class Pace:
    """Sends the parts of one answer, and cuts off a client that takes them too slowly."""

    def __init__(self, scope: Any, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._timeout = LATE_SECONDS

    async def send(self, part: bytes, *, more: bool) -> None:
        """Send a part of the body. Does not return if the client was cut off."""
        since = trio.current_time()
        with trio.move_on_at(since + self._timeout) as limit:
            await self._send({"type": "http.response.body", "body": part, "more_body": more})
        if limit.cancelled_caught:
            await _cut_off(self._scope)
            raise trio.TooSlowError
        self._timeout += len(part) / SLOWEST - (trio.current_time() - since)
        self._timeout = min(self._timeout, LATE_SECONDS)
