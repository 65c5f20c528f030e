"""What somebody's streams and choices make of them for others (extension I-2)."""

from __future__ import annotations

from math import inf
from typing import Literal, NamedTuple

from teamchat import Seen

_MINUTE_MS = 60_000
_NEVER = -inf

Status = Literal["online", "away", "offline"]
ChosenStatus = Literal["auto", "away", "offline"]


class Choice(NamedTuple):
    """What a user has chosen. `paused_until` is in epoch milliseconds."""

    status: ChosenStatus = "auto"
    shares_presence: bool = True
    shares_typing: bool = True
    paused_until: int | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether others are told that they are offline, whatever they do (I-4)."""
        return self.status == "offline" or not self.shares_presence

    @property
    def may_be_seen_typing(self) -> bool:
        """Whether others are told that they type."""
        return self.shares_typing and not self.is_hidden


NO_CHOICE = Choice()


class Shown(NamedTuple):
    """What others are told of a user."""

    status: Status = "offline"
    is_dnd: bool = False


def status_of(seen: Seen, now: float) -> Status:
    """Return the status that somebody's streams make at `now`, by the clock of `trio.current_time`."""
    if now < seen.online_until:
        return "online"
    return "away" if now < seen.there_until else "offline"


def turns_at(seen: Seen, now: float) -> float | None:
    """Return when that status changes next though nothing happens; None for never."""
    coming = [turn for turn in (seen.online_until, seen.there_until) if now < turn < inf]
    return min(coming, default=None)


def shown(status: Status, choice: Choice, now_ms: int) -> Shown:
    """Return what others are told of somebody who has that status."""
    if choice.is_hidden:
        return Shown()
    if status == "online" and choice.status == "away":
        status = "away"
    return Shown(status, choice.paused_until is not None and choice.paused_until > now_ms)


def last_seen(seen: Seen, now: float, now_ms: int, kept: int | None = None) -> int | None:
    """Return when somebody was there last, in epoch milliseconds, rounded down to the minute.

    That is when they were active last; of who never said so, when their last stream ended. `kept` is what was
    known before this server began.
    """
    last = min(seen.active_until, now)
    if last == _NEVER:
        last = now if seen.is_open else seen.left_at
    known = [] if last == _NEVER else [now_ms - round((now - last) * 1000)]
    known += [] if kept is None else [kept]
    return max(known) // _MINUTE_MS * _MINUTE_MS if known else None
