"""Who may do what to a room and its members, and what there is then: sets, and nothing else.

`Room.answer` says what a request must be answered in a room as it is (extensions B-1 to B-8, C-1 to C-5),
`Room.after` what there is after an event of the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from tests.races.reading.place import Place

MANAGER = "manager"
POSTED, ADDED, REMOVED = "NEW_MESSAGE", "CHANNEL_MEMBERS_ADDED", "CHANNEL_MEMBER_REMOVED"
RANKED, CHANGED, MADE = "CHANNEL_MEMBER_UPDATED", "UPDATE_CHANNEL", "NEW_CHANNEL"


class Asked(NamedTuple):
    """A request of somebody about a room: `users` are those whom it names, `value` a role or a name."""

    kind: str
    who: str
    room: str = ""
    users: tuple[str, ...] = ()
    value: str = ""


class Answer(NamedTuple):
    """A status, and the type of the event that tells of the change, if there is one."""

    status: int
    event: str | None = None


@dataclass
class Room(Place):
    """A channel or a group with its managers. `since` has its members in the order in which they came.

    `heirs` are those of whom one manages it in the next event, `closer` is who makes it private.  If nobody
    was in it for a while, nobody manages it who has joined since: whom an admin makes one does.
    """

    managers: set[str] = field(default_factory=set)
    since: dict[str, int] = field(default_factory=dict)
    heirs: frozenset[str] = frozenset()
    closer: str = ""
    was_group: bool = False

    def answer(self, asked: Asked, *, is_admin: bool) -> Answer:
        """Return what a request must be answered now; of a group that is made, `open_group` says it."""
        if not self.sees(asked.who):
            return Answer(404)
        return getattr(self, f"_{asked.kind}")(asked, is_admin)  # type: ignore[no-any-return]

    def _post(self, *_: Any) -> Answer:
        return Answer(403) if self.is_archived else Answer(200, POSTED)

    def _join(self, asked: Asked, _: bool) -> Answer:
        if self.is_private or asked.who in self.members:
            return Answer(200)
        return Answer(403) if self.is_archived else Answer(200, ADDED)

    def _leave(self, asked: Asked, _: bool) -> Answer:
        if self.kind == "group" and len(self.members) == 1:
            return Answer(400)
        return Answer(200, REMOVED) if asked.who in self.members else Answer(200)

    def _add(self, asked: Asked, is_admin: bool) -> Answer:
        may = is_admin or asked.who in self.members
        if self.is_archived or not may:
            return Answer(403)
        return Answer(200, ADDED) if set(asked.users) - self.members else Answer(200)

    def _remove(self, asked: Asked, is_admin: bool) -> Answer:
        [user] = asked.users
        if not self._manages(asked, is_admin) or (user in self.managers and not is_admin):
            return Answer(403)
        return Answer(200, REMOVED) if user in self.members else Answer(200)

    def _role(self, asked: Asked, is_admin: bool) -> Answer:
        [user] = asked.users
        if not self._manages(asked, is_admin):
            return Answer(403)
        if user not in self.members:
            return Answer(404)
        if (user in self.managers) == (asked.value == MANAGER):
            return Answer(200)
        if asked.value == MANAGER:
            return Answer(200, RANKED)
        if user != asked.who and not is_admin:
            return Answer(403)
        return Answer(200, RANKED) if self.managers - {user} else Answer(400)

    def _archive(self, asked: Asked, is_admin: bool) -> Answer:
        if not self._manages(asked, is_admin):
            return Answer(403)
        return Answer(200) if self.is_archived else Answer(200, CHANGED)

    def _unarchive(self, asked: Asked, is_admin: bool) -> Answer:
        if not self._manages(asked, is_admin):
            return Answer(403)
        return Answer(200, CHANGED) if self.is_archived else Answer(200)

    def _close(self, asked: Any = None, is_admin: bool = False) -> Any:
        """Close it, or say what closing it is answered."""
        if asked is None:
            return super()._close()
        if self.kind == "group" or not (is_admin if self.is_private else self._manages(asked, is_admin)):
            return Answer(403)
        return Answer(200) if self.is_private else Answer(200, CHANGED)

    def _open(self, asked: Any = None, is_admin: bool = False) -> Any:
        """Open it, or say what opening it is answered."""
        if asked is None:
            return super()._open()
        if self.kind == "group" or not (is_admin if self.is_private else self._manages(asked, is_admin)):
            return Answer(403)
        if self.is_private and self.was_group and asked.value == "show":
            return Answer(400)
        return Answer(200, CHANGED) if self.is_private else Answer(200)

    def _convert(self, *_: Any) -> Answer:
        return Answer(200, CHANGED) if self.kind == "group" else Answer(404)

    def _manages(self, asked: Asked, is_admin: bool) -> bool:
        return self.kind == "channel" and (is_admin or asked.who in self.managers)

    def successors(self) -> frozenset[str]:
        """Return who has been in it for longest: one of them manages it when nobody does any more (B-3)."""
        first = min(self.since[user] for user in self.members)
        return frozenset(user for user in self.members if self.since[user] == first)

    def after(self, kind: str, payload: dict[str, Any]) -> Self:
        """Return the room as it is after an event."""
        room = super().after(kind, payload)
        room.managers, room.heirs = set(self.managers), frozenset()
        is_closed = kind == CHANGED and room.is_private and not self.is_private
        if kind == RANKED:
            room.managers.discard(payload["userId"])
            if payload["role"] == MANAGER:
                room.managers.add(payload["userId"])
        elif kind == CHANGED and self.kind == "group" and room.kind == "channel":
            room.managers, room.was_group = set(room.members), True
        room.managers &= room.members
        latest = 1 + max(self.since.values(), default=0)
        room.since = {user: self.since.get(user, latest) for user in room.members}
        if room.kind == "channel" and room.members and not room.managers:
            if kind == REMOVED:
                room.heirs = room.successors()
            elif is_closed:
                room.heirs = frozenset({self.closer})
        if not room.members:
            room.is_archived = room.is_archived or (room.is_private and bool(self.members))
        return room
