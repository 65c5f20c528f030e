"""Who gets which event, and when a stream ends (decisions D-33 to D-37).

The hub alone follows the log; it works out an event's audience once, builds its frame once, and hands the
same bytes to every stream concerned.  What must stay true:

* Handing out never waits.  A stream that is more than 1 MiB behind is cut; it delays nobody.
* A stream gets each event of its audience once, in the order of the log.  A resuming stream first reads
  what it missed from the log, a page at a time as its client takes it, while live events pass it by; it
  joins the live ones at a moment when it has read as far as the hub has handed out.
* A stream is subscribed before it says CONNECTED, and nothing precedes CONNECTED.
* A stream ends with its session or its user, and what was waiting for it is then dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

import trio

from teamchat.errors import Unavailable
from teamchat.events import Connected, Event, LoggedEvent, Resync, SessionsEnded, UserGone, is_internal
from teamchat.ids import new_id
from teamchat.interfaces import Storage
from teamchat.model import Caller
from teamchat.stream import sse

if TYPE_CHECKING:
    from teamchat.settings import EventsSettings

MOST_WAITING = 1024 * 1024
"""How many bytes may wait for a client, those being written included, before it is cut (D-37)."""

_REPLAY_PAGE = 16  # With the default limits an event is under 64 KiB, and so a page under 1 MiB.
# A burst is handed out in portions, so that the streams can write between them.
_PORTION_BYTES = 64 * 1024
_PORTION_DELIVERIES = 2000


class Stream:
    """One client's stream: iterate it for what to write, one chunk after the other.

    `end_reason` is None while the stream is open.  `on_cut`, if set, is called when the client was too
    slow: its transport should be dropped, for a polite ending would only stand behind what is not read.
    """

    __slots__ = (
        "_greeting",
        "_hub",
        "_in_flight",
        "_live",
        "_lost",
        "_size",
        "_waiting",
        "_wake",
        "_with_ids",
        "connection_id",
        "end_reason",
        "on_cut",
        "position",
        "session_id",
        "user_id",
    )

    def __init__(self, hub: Hub, caller: Caller, *, with_ids: bool, live: bool) -> None:
        self.connection_id = new_id()
        self.user_id = caller.user.id
        self.session_id = caller.session_id
        self.position = hub.position
        self.end_reason: str | None = None
        self.on_cut: Callable[[], object] | None = None
        self._hub = hub
        self._with_ids = with_ids
        self._live = live
        self._lost = False
        self._greeting = b""
        self._waiting: list[bytes] = []
        self._size = 0
        self._in_flight = 0
        self._wake: trio.Event | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return what to write next: first CONNECTED, then frames, those that wait together joined."""
        self._size -= self._in_flight
        self._in_flight = 0
        if self._greeting:
            greeting, self._greeting = self._greeting, b""
            return greeting
        while not self._live and self.end_reason is None:
            if missed := await self._replay():
                return missed
        while not self._waiting:
            if self.end_reason is not None:
                raise StopAsyncIteration
            self._wake = trio.Event()
            await self._wake.wait()
        chunk = b"".join(self._waiting)
        self._waiting.clear()
        self._in_flight = len(chunk)
        return chunk

    def offer(self, frame: sse.EventFrame) -> None:
        """Take a live event, unless the log already gave it or is still being read."""
        if self._live and frame.position > self.position:
            self.position = frame.position
            self._put(frame.identified if self._with_ids else frame.plain)

    def keep_alive(self) -> None:
        """Show an idle client that the server is there; one that has bytes to read sees it."""
        if self._live and not self._size:
            self._put(sse.KEEP_ALIVE)

    def end(self, reason: str, *, drop: bool = False) -> None:
        """End the stream once what is waiting has been written, or with `drop` without writing it."""
        if self.end_reason is None:
            self.end_reason = reason
            if drop:
                self._greeting = b""
                self._waiting.clear()
            self._hub._forget(self)
            self._awake()

    def _put(self, data: bytes) -> None:
        if self._size and self._size + len(data) > MOST_WAITING:
            self.end("too slow", drop=True)
            if self.on_cut is not None:
                self.on_cut()
            return
        self._waiting.append(data)
        self._size += len(data)
        self._awake()

    def _awake(self) -> None:
        if self._wake is not None:
            self._wake.set()
            self._wake = None

    def _greet(self) -> None:
        connected = Connected(
            message="Connected to the event stream.",
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            user_id=self.user_id,
            connection_id=self.connection_id,
        )
        self._greeting = self._own_frame(connected.to())

    def _own_frame(self, event: Event) -> bytes:
        """Return the frame of an event that is this stream's alone and stands in no log."""
        plain = sse.frame(event.type, event.payload)
        return sse.with_id(self.position, plain) if self._with_ids else plain

    def _resume_after(self, position: int | None) -> None:
        """Go on after `position`; None means that the client named none that this log ever had.

        Such a client is at 0 until it is told to reload: if it leaves before, it is told the next time.
        """
        self.position = position or 0
        self._lost = position is None

    async def _replay(self) -> bytes:
        """Return some of what the client missed, or nothing; join the live events when none is left."""
        reached = self._hub.position
        if self._lost:
            return self._reload()
        if self.position >= reached:
            self._live = True
            return b""
        first, events = await self._hub._log_after(self.position)
        if first is None or first > self.position + 1:
            return self._reload()
        # The log was read after the hub was at `reached`: without events nothing up to there is left.
        self.position = events[-1].seq if events else max(self.position, reached)
        return b"".join(self._frame_of(event) for event in events if self._may_see(event))

    def _reload(self) -> bytes:
        """Join the live events here and now, and tell the client that some before were lost."""
        self.position = self._hub.position
        self._lost = False
        self._live = True
        return self._own_frame(Resync().to())

    def _may_see(self, event: LoggedEvent) -> bool:
        return not is_internal(event.type) and (event.audience is None or self.user_id in event.audience)

    def _frame_of(self, event: LoggedEvent) -> bytes:
        frame = sse.EventFrame(event)
        return frame.identified if self._with_ids else frame.plain


class Hub:
    """The service that hands the log's events to the open streams.

    `position` is the number of the last event it has handed out.
    """

    name = "stream hub"

    def __init__(self, storage: Storage, settings: EventsSettings) -> None:
        self.position = 0
        self._storage = storage
        self._settings = settings
        self._accepts = False
        # Dictionaries are sets that remember their order: the first stream of a user is the oldest.
        self._streams: dict[Stream, None] = {}
        self._by_user: dict[str, dict[Stream, None]] = {}
        self._by_session: dict[str, dict[Stream, None]] = {}

    def __len__(self) -> int:
        """Return how many streams are open."""
        return len(self._streams)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Follow the log from its current end until cancelled, then end every stream."""
        _, self.position = await self._storage.log_bounds()
        self._accepts = True
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._tick)
                task_status.started()
                async for events in self._storage.follow(self.position):
                    await self._hand_out_all(events)
        finally:
            self.close_all()

    async def open(self, caller: Caller, last_event_id: str | None) -> Stream:
        """Subscribe `caller` and return the stream, whose first chunk is CONNECTED.

        `last_event_id` None means that the client did not opt into resuming, empty that it did and goes
        on from now (D-34).  Raises `Unavailable` while the server shuts down.  Whoever opens a stream
        authenticates again afterwards: the session may have ended just before the subscription.
        """
        if not self._accepts:
            raise Unavailable("The server is shutting down.")
        stream = Stream(self, caller, with_ids=last_event_id is not None, live=not last_event_id)
        self._subscribe(stream)
        if last_event_id:
            try:
                stream._resume_after(await self._known_position(last_event_id))
            except BaseException:
                stream.end("failed to open", drop=True)
                raise
        stream._greet()
        return stream

    def close_all(self) -> None:
        """End every stream politely and open no more: the server shuts down."""
        self._accepts = False
        for stream in tuple(self._streams):
            stream.end("the server shuts down")

    async def _known_position(self, last_event_id: str) -> int | None:
        position = sse.read_position(last_event_id)
        _, last = await self._storage.log_bounds()
        return None if position is None or position > last else position

    def _subscribe(self, stream: Stream) -> None:
        own = tuple(self._by_user.get(stream.user_id, ()))
        for oldest in own[: len(own) + 1 - self._settings.max_streams_per_user]:
            oldest.end("displaced by a newer stream")
        self._streams[stream] = None
        self._by_user.setdefault(stream.user_id, {})[stream] = None
        self._by_session.setdefault(stream.session_id, {})[stream] = None

    def _forget(self, stream: Stream) -> None:
        self._streams.pop(stream, None)
        for index, key in ((self._by_user, stream.user_id), (self._by_session, stream.session_id)):
            streams = index.get(key, {})
            streams.pop(stream, None)
            if not streams:
                index.pop(key, None)

    async def _hand_out_all(self, events: Iterable[LoggedEvent]) -> None:
        size = deliveries = 0
        for event in events:
            size += len(event.payload)
            deliveries += self._hand_out(event)
            if size >= _PORTION_BYTES or deliveries >= _PORTION_DELIVERIES:
                size = deliveries = 0
                await trio.lowlevel.checkpoint()

    def _hand_out(self, event: LoggedEvent) -> int:
        """Hand one event out, and return to how many streams."""
        self.position = event.seq
        if is_internal(event.type):
            self._end_what_is_over(event)
            return 0
        frame = sse.EventFrame(event)
        audience = self._audience_of(event)
        for stream in audience:
            stream.offer(frame)
        return len(audience)

    def _audience_of(self, event: LoggedEvent) -> tuple[Stream, ...]:
        if event.audience is None:
            return tuple(self._streams)
        # A set: a user named twice still gets the event once.
        return tuple(stream for user in set(event.audience) for stream in self._by_user.get(user, ()))

    def _end_what_is_over(self, event: LoggedEvent) -> None:
        payload = json.loads(event.payload)
        over: list[Stream] = []
        if event.type == SessionsEnded.type:
            for session_id in payload["sessionIds"]:
                over += self._by_session.get(session_id, ())
        elif event.type == UserGone.type:
            over += self._by_user.get(payload["userId"], ())
        for stream in over:
            stream.end("the session has ended", drop=True)

    async def _log_after(self, position: int) -> tuple[int | None, list[LoggedEvent]]:
        """Return the number of the log's first event, and a page of events after `position`."""
        async with self._storage.read() as tx:
            [(first,)] = await tx.fetch("select min(seq) from events")
            rows = await tx.fetch(
                "select seq, type, payload, audience from events where seq > $1 order by seq limit $2",
                position,
                _REPLAY_PAGE,
            )
        await trio.lowlevel.checkpoint()  # An embedded storage answers without one.
        return first, [
            LoggedEvent(seq, kind, payload, None if audience is None else tuple(json.loads(audience)))
            for seq, kind, payload, audience in rows
        ]

    async def _tick(self) -> None:
        """Send keep-alive comments to all idle streams, from this one task."""
        while True:
            await trio.sleep(self._settings.keep_alive_seconds)
            for stream in tuple(self._streams):
                stream.keep_alive()
