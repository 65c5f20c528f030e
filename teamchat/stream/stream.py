"""One client's stream, from CONNECTED to its end (decisions D-33, D-34, D-37).

What must stay true:

* Bytes leave in one place at a time.  Either `send_now` is set, and the hub sends what comes without
  waiting; or a task writes what waits, which exists only as long as there is something to write.  What the
  client did not take of a piece is written before anything else.
* A stream that resumes reads what it missed at its client's pace while live events pass it by.  It joins
  them at a moment when it has read as far as the hub has handed out: without a gap, without a repeat.
* At most 1 MiB waits for a client, what is being written included; one that is further behind is cut, and
  so is one that takes nothing for 30 seconds.
* Once a stream has ended nothing is added to it.  What waits is written, or with `drop` forgotten; what was
  begun gets two seconds more.

An idle stream is one object of a few slots, without a task, a queue or a buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import trio

from teamchat import measures
from teamchat.events import Connected, Event, Resync
from teamchat.ids import new_id
from teamchat.logs import get_logger
from teamchat.model import Caller, now_ms
from teamchat.stream import sse
from teamchat.stream.sse import Piece
from teamchat.stream.transport import CLIENT_IS_GONE, Transport

if TYPE_CHECKING:
    from teamchat.stream.hub import Hub

MOST_WAITING = 1024 * 1024
"""How many bytes may wait for a client, those being written included, before it is cut (D-37)."""
LINGER_SECONDS = 2.0
"""How long a stream that has ended may go on writing what was begun."""
_MOST_JOINED = (
    32 * 1024
)  # Pieces are joined up to so many bytes: a stalled client holds that much of its own.

_log = get_logger(__name__)


class Stream:
    """A client's stream. `end_reason` is None while it is open; `is_live` once it has caught up."""

    __slots__ = (
        "_flight",
        "_has_started",
        "_hub",
        "_is_detached",
        "_is_lost",
        "_is_torn",
        "_position",
        "_transport",
        "_waiting",
        "_writer",
        "end_reason",
        "form",
        "is_live",
        "number",
        "opened_at",
        "send_now",
        "session_id",
        "size",
        "user_id",
    )

    def __init__(self, hub: Hub, caller: Caller, transport: Transport, *, with_ids: bool) -> None:
        self.user_id = caller.user.id
        self.session_id = caller.session_id
        self.form = (sse.WITH_IDS if with_ids else 0) | (sse.CHUNKED if transport.chunked else 0)
        self.is_live = False
        self.number = 0  # in the census
        self.opened_at = now_ms()
        self.end_reason: str | None = None
        self.send_now: Callable[[bytes], int] | None = None
        self.size = 0  # of all that waits and is being written
        self._hub = hub
        self._transport = transport
        self._position = hub.position
        self._is_lost = False
        self._is_torn = False  # The first piece that waits is the rest of one that was begun.
        self._has_started = False
        self._is_detached = False
        self._waiting: list[Piece] | None = None
        self._flight: Piece | None = None
        self._writer: trio.CancelScope | None = None

    @property
    def with_ids(self) -> bool:
        """Whether the client opted into resuming."""
        return bool(self.form & sse.WITH_IDS)

    def resume_after(self, position: int | None) -> None:
        """Go on after `position`; None means that the client named none that this log ever had.

        Such a client is at 0 until it is told to reload: if it leaves before, it is told the next time.
        """
        self._position = position or 0
        self._is_lost = position is None

    def greeting(self) -> bytes:
        """Return the frame of CONNECTED, which goes out before the stream is started."""
        connected = Connected(
            message="Connected to the event stream.",
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            user_id=self.user_id,
            connection_id=new_id(),
        )
        return self._own_frame(connected.to())

    def start(self) -> None:
        """Write from now on, for CONNECTED has gone out."""
        if self._is_detached:
            return
        self._has_started = True
        if self._waiting or not (self.is_live or self.end_reason):
            self._begin_writing()
        else:
            self._rest()

    def put(self, piece: Piece) -> None:
        """Take what could not be sent at once; cut a client that is too far behind."""
        if self.end_reason is not None:
            return
        if self.size and self.size + len(piece.data) > MOST_WAITING:
            self.cut("too slow")
            return
        self.send_now = None
        if self._waiting is None:
            self._waiting = []
        self._waiting.append(piece)
        self.size += len(piece.data)
        self._hub.backlog.hold(piece)
        if self._has_started and self._writer is None:
            self._begin_writing()

    def put_rest(self, rest: Piece) -> None:
        """Take the rest of a piece that was sent in part. It goes out, whatever else is dropped."""
        self._is_torn = True
        self.put(rest)

    def end(self, reason: str, *, drop: bool = False) -> None:
        """End the stream once what is waiting has been written, or with `drop` without writing it."""
        if self.end_reason is not None:
            return
        self._stop(reason)
        if drop:
            self._drop(but=int(self._is_torn))
        if self._writer is not None:
            self._hub.start(self._linger)
        elif self._has_started:
            self._rest()

    def cut(self, reason: str) -> None:
        """End the stream and drop its connection, at once."""
        self._stop(reason)
        self._detach()
        self._transport.abort()

    def leave(self) -> None:
        """The client has gone, and its connection with it: nothing more is written."""
        self._stop("the client has left")
        self._detach()

    async def write(self) -> None:
        """Write what there is; the hub runs this as long as there is something."""
        scope = self._writer
        if scope is None:  # It ended before this began.
            return
        try:
            with scope:
                while data := await self._next():
                    await self._transport.write(data)
                    self._landed()
        except CLIENT_IS_GONE:
            self.cut("the client has left")
        except trio.TooSlowError:
            self.cut("too slow")
        except trio.Cancelled:
            self.cut("the server shuts down")
            raise
        except Exception as error:  # One stream's failure must not reach the others' nursery.
            _log.error("an event stream failed", exc_info=error)
            self.cut("failed")
        if not self._is_detached:
            self._rest()

    def _begin_writing(self) -> None:
        self._writer = trio.CancelScope()
        if not self._hub.start(self.write):
            self.cut("the server shuts down")

    def _rest(self) -> None:
        """Nothing is left to write: be idle, or at the end."""
        self._writer = self._waiting = None
        if self.end_reason is None:
            self.send_now = self._transport.send_now
        else:
            self._transport.finish()

    async def _next(self) -> bytes:
        """Return what to write next: what was missed, then what waits, joined; empty if there is nothing."""
        while not self.is_live and self.end_reason is None:
            missed = await self._replay()
            if missed and self.end_reason is None:
                return self._launch(Piece(missed))
        return self._launch(self._joined(self._waiting)) if self._waiting else b""

    async def _replay(self) -> bytes:
        """Return some of what the client missed, or nothing; join the live streams when none is left."""
        if self._is_lost:
            return self._reload()
        await self._hub.reach(self._position)
        if self.end_reason is not None:
            return b""
        if self._position == self._hub.position:
            self._hub.join(self)
            return b""
        found = await self._hub.missed.after(self._position)
        if found is None:
            return self._reload()
        frames, reaches = found
        # The log may have been read further than the hub is: who is in which room then is known there alone.
        await self._hub.reach(reaches)
        self._position = reaches
        sees = self._hub.rooms.sees
        seen = [frame.identified for frame in frames if sees(self.user_id, frame.audience)]
        return self._framed(b"".join(seen))

    def _reload(self) -> bytes:
        """Join the live streams here and now, and tell the client that some events were lost."""
        self._position = self._hub.position
        if self.end_reason is None:
            self._hub.join(self)
        return self._framed(self._own_frame(Resync().to()))

    def _joined(self, waiting: list[Piece]) -> Piece:
        """Take pieces off `waiting` and join them into one."""
        count, size = 1, len(waiting[0].data)
        for piece in waiting[1:]:
            size += len(piece.data)
            if size > _MOST_JOINED:
                break
            count += 1
        self._is_torn = False
        taken = waiting[:count]
        del waiting[:count]
        for piece in taken:
            self.size -= len(piece.data)
            self._hub.backlog.release(piece)
        return taken[0] if count == 1 else Piece(b"".join([piece.data for piece in taken]))

    def _launch(self, piece: Piece) -> bytes:
        self._flight = piece
        self.size += len(piece.data)
        self._hub.backlog.hold(piece)
        return piece.data

    def _landed(self) -> None:
        if self._flight is not None:
            self.size -= len(self._flight.data)
            self._hub.backlog.release(self._flight)
            self._flight = None

    async def _linger(self) -> None:
        await trio.sleep(LINGER_SECONDS)
        if self._writer is not None:
            self.cut("too slow")

    def _stop(self, reason: str) -> None:
        self.send_now = None
        if self.end_reason is None:
            self.end_reason = reason
            measures.streams_ended.add(reason)
            self._hub.forget(self)

    def _detach(self) -> None:
        """Let go of the transport: not a byte more."""
        self._is_detached = True
        self._drop()
        self._landed()
        if self._writer is not None:
            self._writer.cancel()
            self._writer = None

    def _drop(self, but: int = 0) -> None:
        """Forget what waits, but the first so many pieces."""
        waiting = self._waiting or []
        for piece in waiting[but:]:
            self.size -= len(piece.data)
            self._hub.backlog.release(piece)
        self._waiting = waiting[:but] or None

    def _own_frame(self, event: Event) -> bytes:
        """Return the frame of an event that is this stream's alone and stands in no log."""
        plain = sse.frame(event.type, event.payload)
        return sse.with_id(self._position, plain) if self.with_ids else plain

    def _framed(self, data: bytes) -> bytes:
        return sse.chunk(data) if data and self.form & sse.CHUNKED else data
