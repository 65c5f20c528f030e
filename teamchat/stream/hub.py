"""Who gets which event, and when a stream ends (decisions D-33 to D-37).

Only the hub follows the log.

* `position` is the number of the last event handed out, and `recent` reaches exactly that far. Both move in
  one step, which also settles which streams get the events: those that are live at that moment. A stream that
  joins later finds the events in what it missed.
* Handing out never waits for a client.
* A stream is subscribed before it says CONNECTED, and nothing precedes CONNECTED.
* When the event that a message was deleted or edited is handed out, its old text is no longer in memory.
* What waits for a slow client is what it may see now, not what it could see when it was said.
* A stream ends with its session or its user, and what was waiting for it is then dropped.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import aclosing
from secrets import token_bytes
from typing import TYPE_CHECKING, cast

import msgspec
import trio

from teamchat.errors import StorageError, Unavailable
from teamchat.events import (
    Blanked,
    LoggedEvent,
    MemberJoined,
    RoomChanged,
    RoomGone,
    SessionsEnded,
    StreamsDisplaced,
    StreamsEnded,
    UserGone,
)
from teamchat.interfaces import SignalCarrier, Storage
from teamchat.model import Caller, now_ms
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat.storage.log import Blanking
from teamchat.stream import sse
from teamchat.stream.activity import GOSSIP, StreamActivity
from teamchat.stream.backlog import Backlog
from teamchat.stream.connection_ids import ConnectionIds
from teamchat.stream.delivery import addressed, deliver, hand_out, together
from teamchat.stream.expiry import Expiries, Expiry
from teamchat.stream.missed import Missed, read_log, visible
from teamchat.stream.places import Places
from teamchat.stream.recent import Recent
from teamchat.stream.registry import NoRegistry, StreamRegistry
from teamchat.stream.rooms import Rooms
from teamchat.stream.showing import SHOWN, Showing
from teamchat.stream.signalling import Signalling
from teamchat.stream.stream import Stream
from teamchat.stream.subscriptions import DISPLACED, Subscriptions
from teamchat.stream.transport import Transport

if TYPE_CHECKING:
    from teamchat.settings import EventsSettings

RETRY_MILLISECONDS = (1000, 10_000)
"""Between which times clients are asked to come back when the server stops: not all at the same moment."""
_LOADED_AT_ONCE = 1000

_log = get_logger(__name__)


class Hub:
    """The service that hands the log's events to the open streams.

    With `expiries`, streams also end when their session expires by `clock`. `signals` are the names of those
    that streams may ask for, and `carrier` brings them to other processes. `secret` is the server's, and the
    same in all of them.
    """

    name = "stream hub"

    def __init__(
        self,
        storage: Storage,
        settings: EventsSettings,
        *,
        recent: Recent | None = None,
        backlog: Backlog | None = None,
        registry: StreamRegistry | NoRegistry | None = None,
        expiries: Expiries | None = None,
        signals: Collection[str] = (),
        carrier: SignalCarrier | None = None,
        secret: bytes = b"",
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self.position = 0
        self.recent = recent or Recent()
        self.backlog = backlog or Backlog()
        self.missed = Missed(storage, self.recent)
        self._storage = storage
        self._registry = registry or NoRegistry()
        self._keep_alive_seconds = settings.keep_alive_seconds
        self.activity = StreamActivity(self._tell_others, lambda: self._registry.is_shared)
        self._streams = Subscriptions(settings.max_streams_per_user, self.activity)
        self._ids = ConnectionIds(secret or token_bytes())
        self.showing = Showing(self._streams, self._ids, self.activity, self._tell_others)
        heard = {GOSSIP: self.activity.hear, SHOWN: self.showing.hear}
        self.signalling = Signalling(self._streams, signals, carrier, heard)
        self._expiry = None if expiries is None else Expiry(self._streams, expiries, clock)
        self._accepts = False
        self._nursery: trio.Nursery | None = None
        self._moved = trio.Event()

    def __len__(self) -> int:
        """Return how many streams are open."""
        return len(self._streams)

    @property
    def is_open(self) -> bool:
        """Whether streams can be opened: from the end of start-up to the beginning of shutdown."""
        return self._accepts

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Follow the log from its current end until cancelled, then end every stream."""
        await self._remember()
        try:
            async with trio.open_nursery() as self._nursery:
                self._nursery.start_soon(self._tick)
                self._nursery.start_soon(self._registry.run)
                self._nursery.start_soon(self.signalling.run)
                self._nursery.start_soon(self.activity.run)
                if self._expiry is not None:
                    self._nursery.start_soon(self._expiry.run)
                self._accepts = True
                task_status.started()
                followed = cast(
                    "AsyncGenerator[Sequence[LoggedEvent], None]", self._storage.follow(self.position)
                )
                async with aclosing(followed) as log:
                    async for events in log:
                        await self._hand_out_all(events)
        finally:
            self._nursery = None
            self.close_all()

    async def open(
        self,
        caller: Caller,
        last_event_id: str | None,
        transport: Transport,
        ephemeral: Iterable[str] = (),
        *,
        joined_alone: bool = False,
    ) -> Stream:
        """Subscribe `caller` and return the stream, to be started when its greeting has been sent.

        `last_event_id` None means that the client did not opt into resuming, empty that it did and goes
        on from now (D-34).  `ephemeral` are the names of signals that it asks for; unknown ones are ignored
        (X-8).  With `joined_alone` it is told of those rooms alone that its user is in (X-9).  Raises
        `Unavailable` while the server shuts down.  Whoever opens a stream authenticates again afterwards: the
        session may have ended just before the subscription.
        """
        if not self._accepts:
            raise Unavailable("The server is shutting down.")
        asks = self.signalling.known(ephemeral)
        with_ids = last_event_id is not None
        places = None if caller.places is None else await self._places(caller.places)
        stream = Stream(
            self,
            caller,
            transport,
            with_ids=with_ids,
            asks=asks,
            joined_alone=joined_alone,
            connection_id=self._ids.new(caller.session_id),
            places=places,
        )
        self._streams.add(stream)
        stream.number = self._registry.opened(stream)
        try:
            if not last_event_id:
                await self._begin(stream)
                return stream
            position = await self._known_position(last_event_id)
            # What was before the account was made went to others: there begins all that is its own.
            stream.resume_after(None if position is None else max(position, caller.log_start))
        except BaseException:
            stream.leave()
            raise
        return stream

    @property
    def rooms(self) -> Rooms:
        """Who is in which room, as far as the log has been handed out."""
        return self._streams.rooms

    def close_all(self) -> None:
        """End every stream politely and open no more: the server shuts down."""
        self._accepts = False
        for stream in self._streams.all():
            if stream.with_ids:
                hand_out([stream], sse.Comment(sse.retry(random.randint(*RETRY_MILLISECONDS))))  # noqa: S311
            stream.end("the server shuts down")

    def start(self, task: Callable[[], Awaitable[object]]) -> bool:
        """Run a stream's task, and return whether it will run: not after the hub's own end."""
        if self._nursery is None:
            return False
        self._nursery.start_soon(task)
        return True

    def join(self, stream: Stream) -> None:
        """A stream has caught up with `position`."""
        self._streams.join(stream)

    def fall_back(self, stream: Stream) -> None:
        """A stream is to read on in what it missed, until it joins again."""
        self._streams.fall_back(stream)

    def forget(self, stream: Stream) -> None:
        """A stream has ended."""
        self._streams.remove(stream)
        self._registry.closed(stream.number)

    async def _places(self, ids: frozenset[str]) -> Places:
        async with self._storage.read() as tx:
            return await Places.read(tx, ids)

    async def reach(self, position: int) -> None:
        """Wait until the hub is at `position`: another server may have handed out more of the same log."""
        while self.position < position:
            await self._moved.wait()

    def _tell_others(self, kind: str, text: str) -> None:
        self.signalling.tell(kind, text)

    async def _begin(self, stream: Stream) -> None:
        """Let a stream begin at the log's present end: what was answered before does not come as new."""
        position = await self._storage.position()
        stream.resume_after(position)  # in either case: this was not at `position` when the stream was made
        if position == self.position:
            self._streams.join(stream)

    async def _known_position(self, last_event_id: str) -> int | None:
        position = sse.read_position(last_event_id)
        if position is None or position <= self.position:
            return position
        _, last = await self._storage.log_bounds()
        return position if position <= last else None

    async def _remember(self) -> None:
        """Read the end of the log into memory, for the clients that come back after a restart."""
        first, last = await self._storage.log_bounds()
        async with self._storage.read() as tx:
            self._streams.rooms = await Rooms.read(tx)
        self.position = max(first - 1, last - self.recent.most_events, 0)
        self.recent.begin(self.position)
        while self.position < last:
            _, events = await read_log(self._storage, self.position, _LOADED_AT_ONCE)
            self.position = events[-1].seq if events else last
            self.recent.extend(visible(events), self.position)

    async def _hand_out_all(self, events: Sequence[LoggedEvent]) -> None:
        for group in together(events):
            if isinstance(group, LoggedEvent):
                self._move((), group.seq)
                self._act_on(group)
            else:
                self._move(group, group[-1].position)
                await deliver(addressed(group, self._streams))
                self._relieve()
            await trio.lowlevel.checkpoint()  # The streams write between one group and the next.

    def _move(self, frames: Sequence[sse.Frame], position: int) -> None:
        self.recent.extend(frames, position)
        self.position = position
        self._moved.set()
        self._moved = trio.Event()

    def _relieve(self) -> None:
        """Cut those furthest behind while too much waits for all together."""
        while self.backlog.is_too_much:
            furthest = max(self._streams.all(), key=lambda stream: stream.size, default=None)
            if furthest is None or not furthest.size:
                break
            furthest.cut("too slow")

    def _act_on(self, event: LoggedEvent) -> None:
        payload = json.loads(event.payload)
        if event.type == SessionsEnded.type:
            self._streams.end_sessions(payload["sessionIds"])
        elif event.type in (UserGone.type, StreamsEnded.type):
            self._streams.end_user(payload["userId"])
        elif event.type == Blanked.type:
            told = msgspec.convert(payload, Blanked)
            messages = None if told.message_ids is None else frozenset(told.message_ids)
            blanking = Blanking(told.room_id, messages, told.fields)
            self.missed.blank(blanking, before=event.seq)
            self._read_anew()
        elif event.type == RoomChanged.type:
            self.rooms.change(msgspec.convert(payload, RoomChanged))
            self.signalling.room_changed()
            self._read_anew()
        elif event.type == RoomGone.type:
            self.rooms.forget(msgspec.convert(payload, RoomGone))
            self._read_anew()
        elif event.type == StreamsDisplaced.type:  # at another process
            for stream in self._registry.own(payload["streams"]):
                stream.end(DISPLACED)
        elif event.type == MemberJoined.type:
            self._registry.somebody_joined()

    def _read_anew(self) -> None:
        """Have streams with slow clients read again what waits for them: it may be another by now."""
        if self.backlog.held:
            for stream in [one for one in self._streams.caught_up() if one.size]:
                stream.read_anew()

    async def _tick(self) -> None:
        """Send keep-alive comments to all idle streams, and forget what the log has forgotten."""
        outage = Outage(_log, "the event log's beginning can't be read")
        while True:
            await trio.sleep(self._keep_alive_seconds)
            idle = [stream for stream in self._streams.caught_up() if not stream.size]
            await deliver([(idle, sse.Comment(sse.KEEP_ALIVE))])
            for stream in idle:
                stream.send_signals()
            self._relieve()
            with outage.noted(StorageError):
                first, _ = await self._storage.log_bounds()
                self.recent.forget_before(first)
