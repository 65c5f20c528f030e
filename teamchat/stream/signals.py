"""Signals: what matters only for a moment, on its way to the streams that ask for it (extension rule X-8).

A signal is not in the log and may be lost. Wherever signals wait there is a limit: a newer one replaces an
older one that tells the same users about the same thing, and the oldest are dropped first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import msgspec
import trio
from msgspec import Struct

from teamchat.errors import StorageError
from teamchat.events import Audience, InRoom, Signal
from teamchat.model.ids import new_id
from teamchat.stream import sse

MOST_SIGNAL_BYTES = 4000
"""How large a signal may be, with its audience."""
MOST_KEPT = 32
"""How many signals wait for a client at most."""
MOST_KEPT_BYTES = 16 * 1024

_encode = msgspec.json.Encoder().encode


class SentSignal(Struct, frozen=True, array_like=True):
    """A signal as it goes from process to process: `key` says which one it takes the place of.

    It does not of one with a greater `recency`: what two processes send at the same time comes in any.
    `watched` is a place: only streams that watch it are told. `by` is a user who is not.
    """

    asked_as: str
    type: str
    payload: str
    audience: tuple[str, ...] | InRoom | None
    key: str
    recency: tuple[int | str, ...] = ()
    watched: str = ""
    by: str = ""

    @classmethod
    def of(cls, signal: Signal, audience: InRoom | Sequence[str] | None) -> SentSignal:
        """Return a signal, encoded. Raises `StorageError` if it is too large to be one."""
        event = signal.to(audience)
        latest = [getattr(signal, name) for name in signal.latest_of] or [new_id()]
        key = _encode([event.type, _users_of(event.audience), *latest]).decode()
        sent = cls(
            signal.asked_as,
            event.type,
            event.payload,
            event.audience,
            key,
            tuple(signal.recency()),
            *(getattr(signal, name) if name else "" for name in (signal.watched_in, signal.done_by)),
        )
        if len(_encode(sent)) > MOST_SIGNAL_BYTES:
            raise StorageError(
                f"The signal {event.type} can't be sent: with its audience it has more than "
                f"{MOST_SIGNAL_BYTES} bytes."
            )
        return sent


class SharedSignal:
    """A signal that is handed out: framed once, for all streams; it has no id."""

    __slots__ = ("_chunk", "audience", "key", "plain", "recency", "watched")

    def __init__(self, sent: SentSignal) -> None:
        self.key, self.recency, self.watched = sent.key, sent.recency, sent.watched
        self.audience: Audience = sent.audience
        self.plain = sse.frame(sent.type, sent.payload)
        self._chunk: bytes | None = None

    def framed(self, form: int) -> bytes:
        """Return it as it goes to streams of a form."""
        if not form & sse.CHUNKED:
            return self.plain
        if self._chunk is None:
            self._chunk = sse.chunk(self.plain)
        return self._chunk


class KeptSignals:
    """The signals that wait for one client."""

    __slots__ = ("_kept", "_size")

    def __init__(self) -> None:
        self._kept: dict[str, SharedSignal] = {}
        self._size = 0

    def __iter__(self) -> Iterator[SharedSignal]:
        return iter(self._kept.values())

    def keep(self, signal: SharedSignal) -> None:
        """Take one in; older ones make room."""
        if _is_older(signal, self._kept.get(signal.key)):
            return
        self._drop(signal.key)
        self._kept[signal.key] = signal
        self._size += len(signal.plain)
        while len(self._kept) > MOST_KEPT or self._size > MOST_KEPT_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: str) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self._size -= len(dropped.plain)


class SignalQueue:
    """Signals between those who send them and one task that takes them on."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[str, SentSignal] = {}
        self._arrived = trio.Event()

    @property
    def waiting(self) -> list[SentSignal]:
        """What was not taken yet."""
        return list(self._kept.values())

    def put(self, signal: SentSignal) -> None:
        """Add one, in place of an older one of its key."""
        if _is_older(signal, self._kept.get(signal.key)):
            return
        self._kept.pop(signal.key, None)
        self._kept[signal.key] = signal
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        self._arrived.set()

    def put_back(self, signal: SentSignal) -> None:
        """Add one that was taken, unless a newer one has come meanwhile."""
        if signal.key not in self._kept:
            self.put(signal)

    async def take_all(self) -> list[SentSignal]:
        """Wait until there is one, and take what there is."""
        await self._arrived.wait()
        self._arrived = trio.Event()
        taken, self._kept = list(self._kept.values()), {}
        return taken


def _users_of(audience: Audience) -> str | None:
    """Return the same for the same users, and None for an audience that is not of users, but short."""
    if audience is None or isinstance(audience, InRoom):
        return None
    return blake2b(_encode(sorted(audience)), digest_size=16).hexdigest()


def _is_older(signal: SentSignal | SharedSignal, kept: SentSignal | SharedSignal | None) -> bool:
    return kept is not None and signal.recency < kept.recency
