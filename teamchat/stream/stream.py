"""One client's stream, from CONNECTED to its end (decisions D-33, D-34, D-37).

* Only one place at a time sends bytes. Either `send_now` is set, and the hub sends what comes without
  waiting; or a task writes what is waiting, and exists only as long as there is something to write. If the
  client took only a part of something, the rest is written before anything else.
* A stream that resumes reads what it missed at its client's pace, while live events pass it by. It joins them
  once it has read as far as the hub has handed out: without a gap, without a repeat.
* When the user may no longer see what is waiting, or its text has changed, it is dropped and read again from
  the log: nobody is sent later what they had lost by then.
* At most 1 MiB waits for a client, including what is being written. A client that is further behind is cut,
  and so is one that takes nothing for 30 seconds.
* Once a stream has ended, nothing is added to it. What is waiting is written, or dropped with `drop`; what
  was begun gets two more seconds.

An idle stream is one object with a few slots, without a task, a queue or a buffer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import trio

from teamchat.events import Audience, Connected, Event, InRoom, Resync
from teamchat.interfaces.activity import NEVER
from teamchat.model import Caller, now_ms
from teamchat.model.ids import new_id
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat.stream import sse
from teamchat.stream.signals import KeptSignals, SharedSignal
from teamchat.stream.sse import SharedBytes
from teamchat.stream.transport import CLIENT_IS_GONE, Transport

if TYPE_CHECKING:
    from teamchat.stream.backlog import Backlog
    from teamchat.stream.missed import Missed
    from teamchat.stream.places import Places
    from teamchat.stream.rooms import Rooms

MOST_WAITING = 1024 * 1024
"""How many bytes may wait for a client, those being written included, before it is cut (D-37)."""
LINGER_SECONDS = 2.0
"""How long a stream that has ended may go on writing what was begun."""
_MOST_JOINED = 32 * 1024
"""What waits is joined up to so many bytes, which a stalled client then holds for itself."""

_NOTHING = frozenset[str]()

_log = get_logger(__name__)


class Feed(Protocol):
    """What a stream takes its events from; the hub is one."""

    position: int
    backlog: Backlog
    missed: Missed

    @property
    def rooms(self) -> Rooms:
        """Who is in which room, as far as the log has been handed out."""

    def start(self, task: Callable[[], Awaitable[object]]) -> bool:
        """Run a stream's task, and return whether it will run."""

    def join(self, stream: Stream) -> None:
        """A stream has caught up with `position`."""

    def fall_back(self, stream: Stream) -> None:
        """A stream is to read on in what it missed, until it joins again."""

    def forget(self, stream: Stream) -> None:
        """A stream has ended."""

    async def reach(self, position: int) -> None:
        """Wait until events up to `position` have been handed out."""


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
        "_signals",
        "_transport",
        "_waiting",
        "_writer",
        "active_until",
        "asks",
        "change",
        "connection_id",
        "end_reason",
        "form",
        "is_live",
        "joined_alone",
        "number",
        "opened_at",
        "places",
        "presence_of",
        "send_now",
        "session_id",
        "size",
        "user_id",
        "watches",
    )

    def __init__(
        self,
        hub: Feed,
        caller: Caller,
        transport: Transport,
        *,
        with_ids: bool,
        asks: frozenset[str] = _NOTHING,
        joined_alone: bool = False,
        connection_id: str = "",
        places: Places | None = None,
    ) -> None:
        self.connection_id = connection_id or new_id()
        self.user_id = caller.user.id
        self.session_id = caller.session_id
        self.form = (sse.WITH_IDS if with_ids else 0) | (sse.CHUNKED if transport.chunked else 0)
        self.asks = asks  # for signals, by name
        self.is_live = False
        self.places = places  # to which its token is limited (K-1)
        self.joined_alone = joined_alone  # told of those rooms alone that its user is in
        self.watches: Sequence[str] = ()  # places, and of which users it is told whether they are there (I-1)
        self.presence_of: Sequence[str] = ()
        self.active_until = NEVER
        self.change = ""  # which one of those it was that came in pieces
        self.number = 0  # in the registry
        self.opened_at = now_ms()
        self.end_reason: str | None = None
        self.send_now: Callable[[bytes], int] | None = None
        self.size = 0  # of all that waits and is being written
        self._hub = hub
        self._transport = transport
        self._position = hub.position
        self._is_lost = False
        self._is_torn = False  # What waits first is the rest of what was begun.
        self._has_started = False
        self._is_detached = False
        self._waiting: list[SharedBytes] | None = None
        self._flight: SharedBytes | None = None
        self._writer: trio.CancelScope | None = None
        self._signals: KeptSignals | None = None  # that wait until there is room

    @property
    def with_ids(self) -> bool:
        """Whether the client opted into resuming."""
        return bool(self.form & sse.WITH_IDS)

    @property
    def is_scoped(self) -> bool:
        """Whether it is asked of each event if it is told."""
        return self.joined_alone or self.places is not None

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
            connection_id=self.connection_id,
        )
        return self._own_frame(connected.to())

    def start(self) -> None:
        """Write from now on, for CONNECTED has gone out."""
        if self._is_detached:
            return
        self._has_started = True
        if self._has_more:
            self._begin_writing()
        else:
            self._rest()

    def is_told(self, frame: sse.Frame) -> bool:
        """Tell whether an event is for this stream."""
        rooms, audience = self._hub.rooms, frame.audience
        return (
            rooms.sees(self.user_id, audience)
            and (not self.joined_alone or rooms.is_joined(self.user_id, audience) or self._watches(audience))
            and (self.places is None or self.places.have(audience, frame.plain))
        )

    def takes(self, signal: SharedSignal) -> bool:
        """Tell whether a signal that its user is told of is within the places of its token."""
        return self.places is None or self.places.have(signal.audience, signal.plain)

    def _watches(self, audience: Audience) -> bool:
        return isinstance(audience, InRoom) and audience.room_id in self.watches

    def put(self, shared: SharedBytes) -> None:
        """Take what could not be sent at once; cut a client that is too far behind."""
        if self.end_reason is not None:
            return
        if self.size and self.size + len(shared.data) > MOST_WAITING:
            self.cut("too slow")
            return
        self.send_now = None
        if self._waiting is None:
            self._waiting = []
        self._waiting.append(shared)
        self.size += len(shared.data)
        self._hub.backlog.hold(shared)
        if self._has_started and self._writer is None:
            self._begin_writing()

    def put_rest(self, rest: SharedBytes) -> None:
        """Take the rest of what was sent in part. It goes out, whatever else is dropped."""
        self._is_torn = True
        self.put(rest)

    def read_anew(self) -> None:
        """Let go of what waits, and read it in the log: what the user sees, or what was said, is another now.

        What was begun is written to its end.
        """
        begun = int(self._is_torn)
        behind = [one.after for one in (self._waiting or ())[begun:] if one.after is not None]
        if self.is_live and behind:
            self._drop(but=begun)
            self._position = behind[0]
            self._hub.fall_back(self)

    def put_signal(self, signal: SharedSignal) -> None:
        """Send a signal, or keep it until there is room: no stream is cut because of one."""
        if self.end_reason is not None or not self.takes(signal):
            return
        if self._signals is None:
            if self._sends_now(signal.framed(self.form)):
                return
            self._signals = KeptSignals()
        self._signals.keep(signal)
        self.send_signals()

    def put_signals(self, signals: Sequence[SharedSignal]) -> None:
        """Send several signals in one write, or keep them until there is room."""
        signals = [one for one in signals if self.takes(one)]
        if self._signals is None and self.end_reason is None:
            joined = self._framed(b"".join([one.plain for one in signals]))
            if self._sends_now(joined):
                return
        for signal in signals:
            self.put_signal(signal)

    def send_signals(self) -> None:
        """Send the signals that were kept, if there are any and the client takes them now."""
        if self._signals is None:
            return
        if self.send_now is not None:
            if self._sends_now(self._kept_signals()):
                self._signals = None
        elif self._transport.send_now is None and self._has_started and self._writer is None:
            self._begin_writing()

    def _sends_now(self, data: bytes) -> bool:
        """Send without waiting, and return whether it was begun; then its rest goes out before all else."""
        if self.send_now is None:
            return False
        try:
            taken = self.send_now(data) if data else 0
        except CLIENT_IS_GONE:
            self.cut("the client has left")
            return True
        if 0 < taken < len(data):
            self.put_rest(SharedBytes(data[taken:]))
        return bool(taken) or not data

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
                while self._has_more:
                    await self._transport.ready()  # What is written is chosen when it can be, not before.
                    if data := await self._next():
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

    @property
    def _has_more(self) -> bool:
        """Whether there is, or may be, something to write."""
        return bool(self._waiting or self._signals) or not (self.is_live or self.end_reason)

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
        while not (self.is_live or self._is_torn) and self.end_reason is None:
            missed = await self._replay()
            if missed and self.end_reason is None:
                return self._launch(SharedBytes(missed))
        if self._waiting:
            return self._launch(self._joined(self._waiting))
        signals, self._signals = self._kept_signals(), None
        return signals

    def _kept_signals(self) -> bytes:
        """Return the signals that were kept, of what the user sees now."""
        if self._signals is None or self.end_reason is not None:
            return b""
        sees = self._hub.rooms.sees
        seen = [
            one.plain
            for one in self._signals
            if sees(self.user_id, one.audience) and (not one.watched or one.watched in self.watches)
        ]
        return self._framed(b"".join(seen))

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
        seen = [frame for frame in frames if self.is_told(frame)]
        return self._framed(b"".join([one.identified if self.with_ids else one.plain for one in seen]))

    def _reload(self) -> bytes:
        """Join the live streams here and now, and tell the client that some events were lost."""
        self._position = self._hub.position
        if self.end_reason is None:
            self._hub.join(self)
        return self._framed(self._own_frame(Resync().to()))

    def _joined(self, waiting: list[SharedBytes]) -> SharedBytes:
        """Take pieces off `waiting` and join them into one."""
        count, size = 1, len(waiting[0].data)
        for shared in waiting[1:]:
            size += len(shared.data)
            if size > _MOST_JOINED:
                break
            count += 1
        self._is_torn = False
        taken = waiting[:count]
        del waiting[:count]
        for shared in taken:
            self.size -= len(shared.data)
            self._hub.backlog.release(shared)
        return taken[0] if count == 1 else SharedBytes(b"".join([shared.data for shared in taken]))

    def _launch(self, shared: SharedBytes) -> bytes:
        self._flight = shared
        self.size += len(shared.data)
        self._hub.backlog.hold(shared)
        return shared.data

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
        self.send_now = self._signals = None
        if self.end_reason is None:
            self.end_reason = reason
            metrics.streams_ended.add(reason)
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
        for shared in waiting[but:]:
            self.size -= len(shared.data)
            self._hub.backlog.release(shared)
        self._waiting = waiting[:but] or None

    def _own_frame(self, event: Event) -> bytes:
        """Return the frame of an event that is this stream's alone and stands in no log."""
        plain = sse.frame(event.type, event.payload)
        return sse.with_id(self._position, plain) if self.with_ids else plain

    def _framed(self, data: bytes) -> bytes:
        return sse.chunk(data) if data and self.form & sse.CHUNKED else data
