"""Who has a stream open, and who is active, in this process and in the others (extension I-1).

Each process knows its own streams, and tells the others about its users by signals that may be lost: changes
within `GOSSIP_SECONDS`, and everybody who is there once every `REFRESH_SECONDS`. A user who was not heard of
for `SILENT_SECONDS` is gone. What is not known counts as not active, so a notification may come too early but
is never missing. Times are sent as seconds from now, because the clocks of two machines differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import msgspec
import trio

from teamchat.interfaces.activity import NEVER, Changed, Seen
from teamchat.model.ids import new_id

ACTIVE_SECONDS = 90.0
"""How long a stream is active for which it was said, unless it is said again."""
GOSSIP_SECONDS = 0.25
REFRESH_SECONDS = 60.0
SILENT_SECONDS = 150.0
KEPT_SECONDS = 600.0
"""How long somebody is remembered who has no stream any more."""

GOSSIP = "_ACTIVITY"
_A_TEXT = 60  # users in one signal: it stays below 4,000 bytes
_SLICES = 12

Entry = tuple[str, bool, int | None, int | None]
"""A user, whether one of their streams is open, and in how many seconds `active_until` and `left_at` are."""


class _Gossip(msgspec.Struct, frozen=True, array_like=True):
    """What a process tells of its users. With `is_new` it knows nothing yet, and asks the others to tell."""

    origin: str
    is_new: bool
    users: Sequence[Entry]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Gossip).decode


NOT_SEEN = Seen()


class _Other:
    """What another process told of its users, and when each was heard of."""

    def __init__(self) -> None:
        self.heard_at = NEVER
        self.users: dict[str, tuple[Seen, float]] = {}


class StreamActivity:
    """The `Activity` of a process: `tell` sends a text to the others, and `others` says if there are some."""

    def __init__(
        self, tell: Callable[[str, str], object] | None = None, others: Callable[[], bool] = lambda: False
    ) -> None:
        self._tell = tell
        self._others = others
        self._origin = new_id()
        self._own: dict[str, Seen] = {}
        self._heard: dict[str, _Other] = {}
        self._untold = Changed()
        self._following: list[Changed] = []

    def is_active(self, user_id: str) -> bool:
        """Tell whether a stream of a user is active in any process; False for what is not known."""
        return self.of(user_id).active_until > trio.current_time()

    def of(self, user_id: str) -> Seen:
        """Return what is known of a user's streams in all processes."""
        seen = self._own.get(user_id, NOT_SEEN)
        for other in self._heard.values():
            if (heard := other.users.get(user_id)) is not None:
                seen = _joined(seen, _faded(*heard))
        return seen

    def there(self) -> set[str]:
        """Return the users who have a stream in any process, or had one lately."""
        return {*self._own, *(user for other in self._heard.values() for user in other.users)}

    def follow(self) -> Changed:
        """Return where users are put of whom something changes, from now on, in any process."""
        changed = Changed()
        self._following.append(changed)
        return changed

    @property
    def is_alone(self) -> bool:
        """Whether there is no other process that is known of."""
        return self._tell is None or not (self._others() or self._heard)

    def now(self, user_id: str, active_until: Iterable[float]) -> None:
        """Take what the user's streams here are: for each, until when it is active."""
        before, now, until = self._own.get(user_id, NOT_SEEN), trio.current_time(), list(active_until)
        was_active_until = min(before.active_until, now)  # what is not said any more has ended now
        seen = Seen(bool(until), max([was_active_until, *until]), NEVER if until else now)
        if seen != before:
            self._own[user_id] = seen
            self._untold.add(user_id)
            self._note(user_id)

    async def run(self) -> None:
        """Gossip until cancelled, and forget who is gone."""
        self._send(is_new=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._gossip)
            nursery.start_soon(self._refresh)

    def hear(self, text: str) -> None:
        """Take what another process tells. What can't be read is of another version, and passed over."""
        try:
            gossip = _decode(text)
        except msgspec.DecodeError:
            return
        if gossip.origin == self._origin:
            return
        now = trio.current_time()
        other = self._heard.setdefault(gossip.origin, _Other())
        other.heard_at = now
        for user_id, is_open, active_in, left_in in gossip.users:
            seen = Seen(is_open, _at(now, active_in), _at(now, left_in))
            if _differs(other.users.get(user_id), seen):
                self._note(user_id)
            other.users[user_id] = seen, now
        if gossip.is_new:
            self._send()  # that it knows of this one, even if nobody is here
            for user_id in self._own:
                self._untold.add(user_id)

    def _note(self, user_id: str) -> None:
        for changed in self._following:
            changed.add(user_id)

    async def _gossip(self) -> None:
        while True:
            await trio.sleep(GOSSIP_SECONDS)
            if users := self._untold.take():
                self._send(users)

    async def _refresh(self) -> None:
        """Tell of all once in a while, some at a time, for what was told may have been lost."""
        while True:
            own = iter(list(self._own))
            part = -(-len(self._own) // _SLICES)
            self._send()
            for _ in range(_SLICES):
                await trio.sleep(REFRESH_SECONDS / _SLICES)
                for user_id in islice(own, part):
                    self._untold.add(user_id)
            self._forget()

    def _send(self, users: Iterable[str] = (), *, is_new: bool = False) -> None:
        if self._tell is None or (self.is_alone and not is_new):
            return
        for entries in _pieces([self._entry(user_id) for user_id in users]):
            self._tell(GOSSIP, _encode(_Gossip(self._origin, is_new, entries)).decode())

    def _entry(self, user_id: str) -> Entry:
        seen, now = self._own.get(user_id, NOT_SEEN), trio.current_time()
        return user_id, seen.is_open, _in(now, seen.active_until), _in(now, seen.left_at)

    def _forget(self) -> None:
        now = trio.current_time()
        self._own = {user: seen for user, seen in self._own.items() if _is_kept(seen, now)}
        self._heard = {
            origin: other for origin, other in self._heard.items() if other.heard_at > now - SILENT_SECONDS
        }
        for other in self._heard.values():
            other.users = {
                user: heard for user, heard in other.users.items() if _is_kept(_faded(*heard), now)
            }


def _joined(one: Seen, other: Seen) -> Seen:
    """Return what is true of the streams here and there."""
    return Seen(
        one.is_open or other.is_open,
        max(one.active_until, other.active_until),
        max(one.left_at, other.left_at),
    )


def _faded(seen: Seen, heard_at: float) -> Seen:
    """Return what is left of what was heard: who is there is told again in time."""
    if seen.is_open and heard_at < trio.current_time() - SILENT_SECONDS:
        return Seen(False, seen.active_until, heard_at)
    return seen


def _is_kept(seen: Seen, now: float) -> bool:
    return seen.is_open or max(seen.left_at, seen.active_until) > now - KEPT_SECONDS


def _differs(heard: tuple[Seen, float] | None, seen: Seen) -> bool:
    """Whether more than the rounding of times is another."""
    if heard is None:
        return True
    before = heard[0]
    times = ((before.active_until, seen.active_until), (before.left_at, seen.left_at))
    return before.is_open != seen.is_open or any(one != two and abs(one - two) > 2 for one, two in times)


def _in(now: float, time: float) -> int | None:
    return None if time == NEVER else round(time - now)


def _at(now: float, seconds: int | None) -> float:
    return NEVER if seconds is None else now + seconds


def _pieces(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Yield so many as go in one signal; nobody in one as well."""
    for start in range(0, max(len(entries), 1), _A_TEXT):
        yield entries[start : start + _A_TEXT]
