"""Handing signals out here, and carrying them to and from the other processes on the storage.

There is one protocol, whatever carries it: within the process, datagrams between processes on one machine,
NOTIFY between nodes. Who gets a signal is decided where and when it is handed out, as for logged events
(extension rule X-5). If its audience is a room at a change that has not been handed out here yet, the signal
waits for that change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import cast

import msgspec
import trio
from msgspec import Struct

from teamchat.errors import StorageError
from teamchat.events import InRoom, Signal
from teamchat.interfaces import MOST_CARRIED_BYTES, SignalCarrier
from teamchat.model.ids import new_id
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat.stream.signals import SentSignal, SharedSignal, SignalQueue
from teamchat.stream.stream import Stream
from teamchat.stream.subscriptions import Subscriptions

PORTION = 32
MOST_QUEUED = 1000
"""How many signals wait to be handed out, and as many to be carried, before the oldest are dropped."""
EARLY_SECONDS = 5.0
"""How long a signal waits for the change of a room that its audience knows of."""
CARRY_SECONDS = 0.02
"""At least so long lies between two texts that are carried, so that a burst is a few of them."""
RETRY_SECONDS = 5.0
_MOST_EARLY = 256
_ABOUT_PORTION = 8  # streams that are told of users between two checkpoints; each may be told of hundreds

_log = get_logger(__name__)


class _Carried(Struct, frozen=True, array_like=True):
    """What goes from process to process: `origin` is the process that sent it."""

    origin: str
    signals: tuple[SentSignal, ...]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Carried).decode


class Signalling:
    """Sends signals to the streams of `streams` that ask for one of `names`, and to other processes.

    `heard` takes what `tell` sends at another process, by its kind.
    """

    def __init__(
        self,
        streams: Subscriptions,
        names: Collection[str] = (),
        carrier: SignalCarrier | None = None,
        heard: Mapping[str, Callable[[str], object]] | None = None,
    ) -> None:
        self._streams = streams
        self._names = frozenset(names)
        self._carrier = carrier
        self._heard = heard or {}
        self._origin = new_id()
        self._inbox, self._outbox = SignalQueue(MOST_QUEUED), SignalQueue(MOST_QUEUED)
        self._early: deque[tuple[float, SentSignal]] = deque(maxlen=_MOST_EARLY)
        self._asked: dict[frozenset[str], frozenset[str]] = {}
        self._outage = Outage(_log, "signals can't be exchanged with other processes")

    def known(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names of signals that there are; streams that ask for the same share the set."""
        known = self._names.intersection(names)
        return self._asked.setdefault(known, known)

    def send(self, signal: Signal, audience: InRoom | Sequence[str] | None) -> None:
        """Send a signal. It never waits. Raises `StorageError` if it is too large to be one."""
        sent = SentSignal.of(signal, audience)
        self._inbox.put(sent)
        if self._carrier is not None:
            self._outbox.put(sent)

    def tell(self, kind: str, text: str) -> None:
        """Tell all other processes of something that is no stream's. It may be lost; it never waits."""
        if self._carrier is not None:
            self._outbox.put(SentSignal("", kind, text, None, new_id()))

    @property
    def waiting(self) -> list[SentSignal]:
        """What was sent and is not handed out yet."""
        return self._inbox.waiting

    async def run(self) -> None:
        """Hand out and carry until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hand_out_all)
            if self._carrier is not None:
                nursery.start_soon(self._carry_all, self._carrier)
                nursery.start_soon(self._hear_all, self._carrier)

    def room_changed(self) -> None:
        """A change of a room was handed out: signals may have waited for it."""
        early = tuple(self._early)
        self._early.clear()
        for until, signal in early:
            if trio.current_time() <= until:
                self._inbox.put_back(signal)

    async def _hand_out_all(self) -> None:
        while True:
            for signal in await self._inbox.take_all():
                await self._hand_out(signal)

    async def _hand_out(self, signal: SentSignal) -> None:
        if not self._streams.rooms.knows(signal.audience):
            self._early.append((trio.current_time() + EARLY_SECONDS, signal))
            return
        streams, shared = self._addressed(signal), SharedSignal(signal)
        for start in range(0, len(streams), PORTION):
            for stream in streams[start : start + PORTION]:
                stream.put_signal(shared)
            await trio.lowlevel.checkpoint()

    def _addressed(self, signal: SentSignal) -> Sequence[Stream]:
        rooms, name = self._streams.rooms, signal.asked_as
        if signal.watched:
            return self._watching(signal)
        if rooms.is_for_everyone(signal.audience):
            return tuple(self._streams.asking(name))
        return [
            stream
            for user in rooms.connected(signal.audience)
            if rooms.sees(user, signal.audience)
            for stream in self._streams.asking_of(user, name)
        ]

    def _watching(self, signal: SentSignal) -> Sequence[Stream]:
        """Return the streams that watch a place, of those in the audience but for who did it."""
        sees, audience = self._streams.rooms.sees, signal.audience
        if signal.by and not sees(signal.by, audience):
            return ()
        return [
            stream
            for stream in self._streams.watching(signal.watched)
            if signal.asked_as in stream.asks
            and stream.user_id != signal.by
            and sees(stream.user_id, audience)
        ]

    async def hand_out_about(self, signals: Mapping[str, Signal]) -> None:
        """Hand out what is about users, by their ids, to the streams here that name them; carry it nowhere.

        What a stream gets leaves together.
        """
        told: dict[Stream, list[SharedSignal]] = {}
        for user_id, signal in signals.items():
            shared = SharedSignal(SentSignal.of(signal, None))
            for stream in self._streams.naming(user_id):
                if signal.asked_as in stream.asks and self._streams.rooms.knows_of(stream.user_id, user_id):
                    told.setdefault(stream, []).append(shared)
            await trio.lowlevel.checkpoint()
        for number, (stream, own) in enumerate(told.items(), start=1):
            stream.put_signals(own)
            if not number % _ABOUT_PORTION:
                await trio.lowlevel.checkpoint()

    async def _carry_all(self, carrier: SignalCarrier) -> None:
        """What comes while one is being carried is carried together, the latest of each alone."""
        while True:
            for text in _texts(self._origin, await self._outbox.take_all()):
                try:
                    await carrier.carry(text)
                except (StorageError, OSError) as error:
                    self._outage.goes_on(error)
            await trio.sleep(CARRY_SECONDS)

    async def _hear_all(self, carrier: SignalCarrier) -> None:
        while True:
            try:
                async with aclosing(cast("AsyncGenerator[str, None]", carrier.carried())) as texts:
                    async for text in texts:
                        self._outage.is_over()
                        self._take(text)
            except (StorageError, OSError) as error:
                self._outage.goes_on(error)
            await trio.sleep(RETRY_SECONDS)

    def _take(self, text: str) -> None:
        with suppress(msgspec.DecodeError):  # Of another version, which may have other signals.
            carried = _decode(text)
            if carried.origin != self._origin:
                for signal in carried.signals:
                    if (hear := self._heard.get(signal.type)) is not None:
                        hear(signal.payload)
                    elif signal.asked_as in self._names:
                        self._inbox.put(signal)


def _texts(origin: str, signals: Iterable[SentSignal]) -> Iterator[str]:
    """Yield signals in texts that a carrier takes."""
    taken: list[SentSignal] = []
    size = 0
    for signal in signals:
        more = len(_encode(signal)) + 1
        if taken and size + more > MOST_CARRIED_BYTES - 100:
            yield _encode(_Carried(origin, tuple(taken))).decode()
            taken, size = [], 0
        taken.append(signal)
        size += more
    if taken:
        yield _encode(_Carried(origin, tuple(taken))).decode()
