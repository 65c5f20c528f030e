"""Who is in which room, as the stream must know it to judge events (extension rule X-5).

An event about a room reaches who sees the room now, and saw it when the event was committed: live, resumed
from memory and resumed from the log, all ask `Rooms.sees`.  Rooms that were never private and whose members
never changed are not held: everybody sees them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from teamchat.events import Audience, InRoom, RoomChanged
from teamchat.interfaces import Transaction

_ROOMS = "select id, epoch, is_private from rooms where epoch > 0"
_MEMBERS = """select room_id, user_id, since_epoch from memberships
where room_id in (select id from rooms where epoch > 0)"""


class _Room:
    """A room at an epoch. `members` are its users, each with the epoch of their joining."""

    __slots__ = ("connected", "epoch", "is_private", "members")

    def __init__(self, epoch: int, *, is_private: bool) -> None:
        self.epoch = epoch
        self.is_private = is_private
        self.members: dict[str, int] = {}
        self.connected: dict[str, None] = {}  # those of the members who have a stream


class Rooms:
    """Rooms and their members, kept up to date with the log by `change`."""

    def __init__(self) -> None:
        self._rooms: dict[str, _Room] = {}
        self._rooms_of: dict[str, set[str]] = {}
        self._connected: set[str] = set()

    @classmethod
    async def read(cls, tx: Transaction) -> Self:
        """Return the rooms as a transaction sees them; what the log says of before is then passed over."""
        rooms = cls()
        for id_, epoch, is_private in await tx.fetch(_ROOMS):
            rooms._rooms[id_] = _Room(epoch, is_private=bool(is_private))
        for room_id, user_id, since in await tx.fetch(_MEMBERS):
            rooms._join(room_id, {user_id: since})
        return rooms

    def sees(self, user_id: str, audience: Audience) -> bool:
        """Tell whether an event is for a user."""
        if not isinstance(audience, InRoom):
            return audience is None or user_id in audience
        room = self._rooms.get(audience.room_id)
        since = None if room is None else room.members.get(user_id)
        if since is None:
            return self.is_for_everyone(audience)
        return not audience.is_private or since <= audience.epoch

    def is_for_everyone(self, audience: Audience) -> bool:
        """Tell whether an event is for everybody who is signed in."""
        if not isinstance(audience, InRoom):
            return audience is None
        room = self._rooms.get(audience.room_id)
        return not audience.is_private and (room is None or not room.is_private)

    def connected(self, audience: Audience) -> Iterable[str]:
        """Return users with streams among whom are all that an event is for which is not for everyone."""
        if isinstance(audience, InRoom):
            room = self._rooms.get(audience.room_id)
            return () if room is None else room.connected
        return audience or ()

    def change(self, changed: RoomChanged) -> None:
        """Follow a change of a room's members or of its privacy."""
        room = self._rooms.get(changed.room_id)
        if room is None:
            room = self._rooms[changed.room_id] = _Room(0, is_private=changed.is_private)
        if changed.epoch <= room.epoch:
            return
        room.epoch, room.is_private = changed.epoch, changed.is_private
        for user_id in changed.left:
            room.members.pop(user_id, None)
            room.connected.pop(user_id, None)
            self._rooms_of.get(user_id, set()).discard(changed.room_id)
        self._join(changed.room_id, dict.fromkeys(changed.joined, changed.epoch))

    def connect(self, user_id: str) -> None:
        """A user has a stream now, and had none."""
        self._connected.add(user_id)
        for room_id in self._rooms_of.get(user_id, ()):
            self._rooms[room_id].connected[user_id] = None

    def disconnect(self, user_id: str) -> None:
        """A user has no stream any more."""
        self._connected.discard(user_id)
        for room_id in self._rooms_of.get(user_id, ()):
            self._rooms[room_id].connected.pop(user_id, None)

    def _join(self, room_id: str, since: Mapping[str, int]) -> None:
        room = self._rooms[room_id]
        for user_id, epoch in since.items():
            room.members[user_id] = epoch
            self._rooms_of.setdefault(user_id, set()).add(room_id)
            if user_id in self._connected:
                room.connected[user_id] = None
