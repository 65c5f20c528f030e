"""Who is in a place, what is said there and how far each has read: lists and sets, and counting one by one.

It knows nothing of tables, indexes and clocks.  A place goes from event to event of the log; a mark is what
one member has read of it (extensions D-1 to D-4).
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

BEGINNING = "0" * 32
GONE = {"DELETE_MESSAGE", "DELETE_DM_MESSAGE"}
EDITED = {"UPDATE_MESSAGE", "UPDATE_DM_MESSAGE"}
NEW = {"NEW_MESSAGE", "NEW_DM_MESSAGE"}


class Mark(NamedTuple):
    """Up to which id somebody has read, and whether they have marked something as unread.

    `generation` is None while nobody was told of it: it is `least` then, or more, for a state is newer than
    all that ended before it.
    """

    position: str = BEGINNING
    generation: int | None = None
    least: int = 0
    is_marked: bool = False

    def successor(self, position: str) -> Mark:
        """Return the mark of who is a member again, and has nothing unread."""
        return Mark(position, None, (self.least if self.generation is None else self.generation) + 1)


@dataclass
class Place:
    """A place: `history` is every top-level message there ever was, `there` those that are there still.

    `seen_from` is, for members with a bound, how much of the history they don't see; `named` are those who
    are to be its members when it becomes private the next time, and so on.
    """

    kind: str = "channel"
    is_private: bool = False
    is_default: bool = False
    is_archived: bool = False
    is_gone: bool = False
    for_joiners: bool = False
    public_from: int = 0
    everyone: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    departed: set[str] = field(default_factory=set)
    history: list[str] = field(default_factory=list)
    there: dict[str, str] = field(default_factory=dict)
    mentions: dict[str, set[str]] = field(default_factory=dict)
    seen_from: dict[str, int] = field(default_factory=dict)
    named: list[set[str]] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)

    def has(self, user: str) -> bool:
        """Whether a user is a member."""
        if self.is_gone or user not in self.everyone:
            return False
        return user in self.members or (self.is_default and user not in self.departed)

    def visible(self, user: str) -> list[str]:
        """Return the messages that a member sees, in order."""
        own = self.seen_from.get(user, 0) if user in self.members else self.public_from
        first = own if self.is_private else min(own, self.public_from)
        return [one for one in self.history[first:] if one in self.there]

    def unread(self, user: str, position: str) -> int:
        """Count, one by one; in an archived place nothing counts."""
        if self.is_archived:
            return 0
        return sum(one > position and self.there[one] != user for one in self.visible(user))

    def mentioned(self, user: str, position: str) -> int:
        """Count what is unread and mentions somebody."""
        if self.is_archived:
            return 0
        return sum(one > position and user in self.mentions.get(one, ()) for one in self.visible(user))

    def sees(self, user: str) -> bool:
        """Whether a user sees what is said now."""
        return user in self.everyone and (not self.is_private or user in self.members)

    def newest(self, user: str) -> str | None:
        """Return the newest message that a member sees."""
        return max(self.visible(user), default=None)

    def is_same(self, user: str, one: str, other: str) -> bool:
        """Whether two positions are the same for whatever a member sees, and whatever will be."""
        return all((id_ > one) == (id_ > other) for id_ in self.visible(user))

    def after(self, kind: str, payload: dict[str, Any]) -> Self:
        """Return the place as it is after an event of the log."""
        place = copy.copy(self)
        for name in (
            "everyone",
            "members",
            "departed",
            "history",
            "there",
            "mentions",
            "seen_from",
            "named",
            "hidden",
        ):
            setattr(place, name, copy.copy(getattr(self, name)))
        if kind in NEW:
            place.history.append(payload["id"])
            place.there[payload["id"]] = author = payload["author"]["id"]
            # Whom it names: who does not see it then is not mentioned, nor are authors (E-6).
            found = {user for user in payload.get("named", ()) if user != author and place.sees(user)}
            place.mentions[payload["id"]] = found
        elif kind in EDITED:
            place.mentions[payload["id"]] = set()  # Every edit takes the names away.
        elif kind in GONE:
            del place.there[payload["id"]]
        elif kind == "CHANNEL_MEMBERS_ADDED":
            place._let_in([one["userId"] for one in payload["members"]])
        elif kind == "CHANNEL_MEMBER_REMOVED":
            place._let_out(payload["userId"])
        elif kind == "UPDATE_CHANNEL":
            place._change(payload)
        elif kind == "DELETE_CHANNEL" and "reason" not in payload:
            place.is_gone = True
        elif kind == "REMOVE_USER":
            place.everyone.discard(payload["id"])
        return place

    def _let_in(self, users: Collection[str]) -> None:
        bound = self.public_from if not self.is_private else len(self.history) if self.for_joiners else 0
        for user in users:
            self.members.add(user)
            self.departed.discard(user)
            self.seen_from[user] = bound

    def _let_out(self, user: str) -> None:
        self.members.discard(user)
        if self.is_default:
            self.departed.add(user)

    def _change(self, told: dict[str, Any]) -> None:
        self.is_archived = told.get("isArchived", False)
        if self.kind == "group" and told.get("kind", "channel") == "channel":
            self.kind, self.for_joiners = "channel", False
        if told.get("isPrivate", False) != self.is_private:
            self._open() if self.is_private else self._close()
        elif told.get("isDefault", False) != self.is_default:
            self.is_default, self.departed = not self.is_default, set()

    def _close(self) -> None:
        """Those who are named see it alone; what they saw of it they see still."""
        named = self.named.pop(0)
        for user in self.everyone:
            own = self.seen_from.get(user, 0) if user in self.members else self.public_from
            self.seen_from[user] = min(own, self.public_from)
        self.members, self.departed = set(named), set()
        self.is_private, self.is_default = True, False

    def _open(self) -> None:
        self.is_private = False
        self.public_from = len(self.history) if self.hidden.pop(0) else 0


def read(place: Place, user: str, mark: Mark, position: str) -> Mark:
    """Return the mark after a place was shown up to a position; it never moves back, nor into the future."""
    reached = min(position, place.newest(user) or mark.position)
    return mark._replace(position=max(mark.position, reached), is_marked=False)


def unread(place: Place, user: str, mark: Mark, first: str) -> Mark:
    """Return the mark after a message was marked as unread, and what follows it."""
    before = min(f"{max(0, int(first, 16) - 1):032x}", place.newest(user) or BEGINNING)
    if mark.is_marked and mark.position == before:
        return mark
    if mark.generation is None:
        return Mark(before, None, mark.least + 1, is_marked=True)
    return Mark(before, mark.generation + 1, mark.least, is_marked=True)


def moved(user: str, mark: Mark, before: Place, after: Place) -> Mark:
    """Return somebody's mark after an event: who becomes a member has nothing unread."""
    if after.has(user) and not before.has(user):
        return mark.successor(max(after.there, default=BEGINNING))
    return mark


def course(place: Place, events: Sequence[tuple[str, dict[str, Any]]]) -> list[Place]:
    """Return a place before the first of these events, and after each."""
    places = [place]
    for kind, payload in events:
        places.append(places[-1].after(kind, payload))
    return places
