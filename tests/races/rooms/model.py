"""Who may do what to a room and its members, and what there is then: sets, and nothing else.

`Room.answer` says what a request must be answered in a room as it is (extensions B-1 to B-8, C-1 to C-5),
`Room.after` what there is after an event of the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from tests.races.reading.model import Place

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
    """A channel or a group with its managers. `since` is when its members came, in epoch milliseconds.

    `was_empty`: since nobody was in it for a while nobody manages it.
    """

    managers: set[str] = field(default_factory=set)
    since: dict[str, float] = field(default_factory=dict)
    was_empty: bool = False
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

    @property
    def needs_manager(self) -> bool:
        """Whether somebody is in it, and nobody manages it."""
        return self.kind == "channel" and bool(self.members) and not self.managers and not self.was_empty

    def successors(self) -> set[str]:
        """Return who has been in it for longest: one of them manages it when nobody does any more (B-3)."""
        first = min(self.since[user] for user in self.members)
        return {user for user in self.members if self.since[user] == first}

    def after(self, kind: str, payload: dict[str, Any]) -> Self:
        """Return the room as it is after an event."""
        room = super().after(kind, payload)
        room.managers, room.since = set(self.managers), dict(self.since)
        if kind == ADDED:
            room.since |= {one["userId"]: one["joinedAt"] for one in payload["members"]}
        elif kind == RANKED:
            room.managers.discard(payload["userId"])
            if payload["role"] == MANAGER:
                room.managers.add(payload["userId"])
                room.was_empty = False
        elif kind == CHANGED and self.kind == "group" and room.kind == "channel":
            room.managers, room.was_group = set(room.members), True
        elif kind == CHANGED and room.is_private and not self.is_private:
            latest = max(self.since.values(), default=0) + 0.5  # Nobody is told when: after all others.
            room.since |= dict.fromkeys(room.members - self.members, latest)
        room.managers &= room.members
        if not room.members:
            room.was_empty = True
            room.is_archived = room.is_archived or (room.is_private and bool(self.members))
        return room
