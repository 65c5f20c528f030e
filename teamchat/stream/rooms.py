"""Who is in which room, as the stream needs it to decide about events (extension rules X-2, X-5).

An event about a room reaches those who see the room, and the message it is about, now, and who saw the room
when the event was committed. Live events, events resumed from memory and events resumed from the log all go
through `Rooms.sees`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, Self

from teamchat.events import Audience, InRoom, RoomChanged, RoomGone
from teamchat.interfaces import Transaction

_ROOMS = """select id, epoch, is_private, is_default, public_from from rooms
where kind not in ('direct', 'gone')"""
_MEMBERS = """select m.room_id, m.user_id, m.since_epoch, m.visible_from
from memberships m join rooms r on r.id = m.room_id where r.kind <> 'direct'"""
_DEPARTED = "select room_id, user_id from departures"
_CLOSED = "select id from closed_rooms"


class _Member(NamedTuple):
    """Since which epoch somebody is in a room, and from which message on they see it."""

    since: int
    visible_from: str


class _Room:
    """A room at an epoch."""

    __slots__ = ("connected", "departed", "epoch", "is_default", "is_private", "members", "public_from")

    def __init__(self, epoch: int, *, is_private: bool, is_default: bool, public_from: str) -> None:
        self.epoch = epoch
        self.is_private = is_private
        self.is_default = is_default
        self.public_from = public_from
        self.members: dict[str, _Member] = {}
        self.departed: set[str] = set()  # from a default one, which everybody is in without being a member
        self.connected: dict[str, None] = {}  # those of the members who have a stream

    def first_seen(self, member: _Member | None) -> str | None:
        """Return from which message on the room is seen; None if it is not."""
        if self.is_private:
            return None if member is None else member.visible_from
        return self.public_from if member is None else min(self.public_from, member.visible_from)

    def has_by_default(self, user_id: str) -> bool:
        """Whether somebody who has no row is a member."""
        return self.is_default and user_id not in self.departed


class Rooms:
    """Rooms and their members, kept up to date with the log by `change` and `forget`."""

    def __init__(self) -> None:
        self._rooms: dict[str, _Room] = {}
        self._rooms_of: dict[str, set[str]] = {}
        self._closed: set[str] = set()
        self._connected: set[str] = set()

    @classmethod
    async def read(cls, tx: Transaction) -> Self:
        """Return the rooms as a transaction sees them; what the log says of before is then passed over."""
        rooms = cls()
        for id_, epoch, is_private, is_default, public_from in await tx.fetch(_ROOMS):
            rooms._rooms[id_] = _Room(
                epoch, is_private=bool(is_private), is_default=bool(is_default), public_from=public_from
            )
        for room_id, user_id, since, visible_from in await tx.fetch(_MEMBERS):
            rooms._join(room_id, user_id, _Member(since, visible_from))
        for room_id, user_id in await tx.fetch(_DEPARTED):
            rooms._rooms[room_id].departed.add(user_id)
        rooms._closed = {id_ for (id_,) in await tx.fetch(_CLOSED)}
        return rooms

    def sees(self, user_id: str, audience: Audience) -> bool:
        """Return whether an event is for a user."""
        if not isinstance(audience, InRoom):
            return audience is None or user_id in audience
        if (audience.users and user_id not in audience.users) or user_id in audience.but:
            return False
        room = self._rooms.get(audience.room_id)
        if room is None:
            was_lost = audience.outsiders and audience.is_private
            return was_lost or not (audience.is_private or audience.room_id in self._closed)
        member = room.members.get(user_id)
        was_member = member is not None and member.since <= audience.epoch
        if audience.outsiders and (was_member or audience.is_private):
            return not was_member
        if audience.is_private and not was_member:
            return False
        if audience.insiders and not (was_member or (member is None and room.has_by_default(user_id))):
            return False
        first = room.first_seen(member)
        return first is not None and (not audience.message or audience.message >= first)

    def is_for_everyone(self, audience: Audience) -> bool:
        """Return whether an event is for everybody who is signed in."""
        if not isinstance(audience, InRoom):
            return audience is None
        if audience.is_private or audience.users or audience.outsiders or audience.but or audience.insiders:
            return False
        room = self._rooms.get(audience.room_id)
        if room is None:
            return audience.room_id not in self._closed
        return not room.is_private and (not audience.message or audience.message >= room.public_from)

    def is_joined(self, user_id: str, audience: Audience) -> bool:
        """Tell whether an event that a user sees is about a place they are in, about them, or about none."""
        if not isinstance(audience, InRoom) or audience.users or audience.all_scopes:
            return True
        room = self._rooms.get(audience.room_id)
        if room is None or (audience.outsiders and audience.is_private):
            return True
        return user_id in room.members or room.has_by_default(user_id)

    def joined(self, audience: Audience) -> Collection[str] | None:
        """Return users among whom are all with streams for whom `is_joined` is true; None is everybody."""
        if not isinstance(audience, InRoom):
            return audience
        if audience.users:
            return audience.users
        room = self._rooms.get(audience.room_id)
        is_wide = audience.all_scopes or (audience.outsiders and audience.is_private)
        if room is None or room.is_default or is_wide:
            return None
        return room.connected

    def knows_of(self, user_id: str, other_id: str) -> bool:  # noqa: ARG002
        """Tell whether a user may know that another one is there: whoever is signed in may.

        The one place that has to say otherwise of guests, who know of those that they share a place with.
        """
        return True

    def knows(self, audience: Audience) -> bool:
        """Tell whether the log has been handed out as far as an audience was made from."""
        if not isinstance(audience, InRoom):
            return True
        room = self._rooms.get(audience.room_id)
        return audience.epoch <= (0 if room is None else room.epoch)

    def connected(self, audience: Audience) -> Iterable[str]:
        """Return users with streams among whom are all that an event is for which is not for everyone."""
        if not isinstance(audience, InRoom):
            return audience or ()
        if audience.users:
            return audience.users
        if audience.outsiders:
            return self._connected
        room = self._rooms.get(audience.room_id)
        if room is None:
            return ()
        is_wider = audience.but or audience.insiders
        return self._connected if is_wider and not audience.is_private else room.connected

    def change(self, changed: RoomChanged) -> None:
        """Follow a change of a room's members or of its privacy."""
        room = self._rooms.get(changed.room_id)
        if room is None:
            room = self._rooms[changed.room_id] = _Room(
                0, is_private=changed.is_private, is_default=changed.is_default, public_from=""
            )
        if changed.epoch <= room.epoch:
            return
        if changed.is_private and not room.is_private:
            self._keep_sight(room)
        room.epoch, room.is_private = changed.epoch, changed.is_private
        room.is_default, room.public_from = changed.is_default, changed.public_from
        for user_id in changed.left:
            room.members.pop(user_id, None)
            room.connected.pop(user_id, None)
            self._rooms_of.get(user_id, set()).discard(changed.room_id)
        for user_id in changed.joined:
            self._join(changed.room_id, user_id, _Member(changed.epoch, changed.visible_from))
        room.departed = (
            room.departed.union(changed.left).difference(changed.joined) if room.is_default else set()
        )

    def forget(self, gone: RoomGone) -> None:
        """A room was deleted."""
        if gone.was_private:
            self._closed.add(gone.room_id)
        room = self._rooms.pop(gone.room_id, None)
        for user_id in () if room is None else room.members:
            self._rooms_of[user_id].discard(gone.room_id)

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

    def _join(self, room_id: str, user_id: str, member: _Member) -> None:
        room = self._rooms[room_id]
        room.members[user_id] = member
        self._rooms_of.setdefault(user_id, set()).add(room_id)
        if user_id in self._connected:
            room.connected[user_id] = None

    @staticmethod
    def _keep_sight(room: _Room) -> None:
        """A public room becomes private: what its members saw of it they see still."""
        for user_id, member in room.members.items():
            if member.visible_from > room.public_from:
                room.members[user_id] = _Member(member.since, room.public_from)
