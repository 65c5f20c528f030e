"""Everything that was said, for capabilities that search it.

A capability that searches for somebody passes a `caller`, and gets what that caller sees in the transaction
that asks (extension rule X-2). A capability that keeps an index sees everything. It sorts messages into
classes, so that a search for somebody touches no class that they don't see. A class is ``""`` for what
everybody sees, or else a room's id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from teamchat.chat import channel_rows
from teamchat.chat.sight import FIRST_SEEN, MINE, SEEN, Room
from teamchat.interfaces import Row, Transaction
from teamchat.model import Caller, Channel, text
from teamchat.model.ids import could_be_id
from teamchat.model.resources import RoomKind
from teamchat.storage.statements import chunks

EVERYBODY = ""
"""The class of what everybody sees."""

# A message's class, and whether the caller ($1) sees it.
_CLASS = """case when r.is_private = 0 and coalesce(m.parent_id, m.id) >= r.public_from
then '' else r.id end"""
_ROOM_AND_CALLER = f"join rooms r on r.id = m.room_id {MINE.replace('$2', '$1')}"
_IS_SEEN = f"{SEEN} and coalesce(m.parent_id, m.id) >= {FIRST_SEEN}"
_SAID = "m.id, m.room_id, m.parent_id, m.author_id, m.content, m.created_at, m.is_decorated"
_SEEN = f"select {_SAID} from messages m {_ROOM_AND_CALLER} where m.id in ({{}}) and {_IS_SEEN}"  # noqa: S608
_NEWEST = f"""select {_SAID} from (select * from messages where id < $2 and id >= $3
order by id desc limit $4) m {_ROOM_AND_CALLER} where {_IS_SEEN} order by m.id desc"""  # noqa: S608
_FLOOR = """select min(id), count(*) from (select id from messages where id < $1 and id >= $2
order by id desc limit $3) m"""
_INDEXED = f"""select {_SAID}, {_CLASS} from messages m join rooms r on r.id = m.room_id
where m.id in ({{}}) and r.kind <> 'gone'"""  # noqa: S608
_WALK = f"""select m.id, {_CLASS} from messages m join rooms r on r.id = m.room_id
where m.id < $1 order by m.id desc limit $2"""  # noqa: S608
_ROOM_WALK = f"""select m.id, {_CLASS} from messages m join rooms r on r.id = m.room_id
where m.room_id = $3 and m.parent_id is null and m.id < $1 order by m.id desc limit $2"""  # noqa: S608
_REPLIES = f"""select m.id, {_CLASS} from messages m join rooms r on r.id = m.room_id
where m.parent_id in ({{}})"""  # noqa: S608
_OWN = """select r.id, r.kind, r.name, r.is_private, r.public_from from memberships mine
join rooms r on r.id = mine.room_id where mine.user_id = $1"""
_PLACES = (
    f"select r.id, r.kind, r.name from rooms r {MINE.replace('$2', '$1')} where r.id in ({{}}) and {SEEN}"  # noqa: S608
)
_CHANGED = """select seq, type, text_message from events where seq > $1 and seq <= $2 order by seq limit $3"""
_MEMBERS = "select user_id from memberships where room_id = $1"
_DEFAULT_MEMBERS = """select id from users where removed_at is null
and not exists (select 1 from departures d where d.room_id = $1 and d.user_id = users.id)"""


class Said(NamedTuple):
    """A message as it was said. `is_decorated`: it may have reactions or images."""

    id: str
    room_id: str
    parent_id: str | None
    author_id: str
    content: str
    created_at: int
    is_decorated: bool


class Place(NamedTuple):
    """Where something was said. A direct conversation has no name; a group is called after who is in it."""

    id: str
    kind: RoomKind
    name: str | None


class OwnRoom(NamedTuple):
    """A room that somebody is in, and what the class of a room's messages hangs on."""

    id: str
    kind: RoomKind
    name: str | None
    is_private: bool
    public_from: str


class Corpus:
    """What was said, and where. All methods but the last six give what the caller sees, and nothing else."""

    async def seen(self, tx: Transaction, caller: Caller, message_ids: Sequence[str]) -> Mapping[str, Said]:
        """Return those of these messages that the caller sees, by their ids."""
        found: dict[str, Said] = {}
        for marks, piece in chunks([one for one in message_ids if could_be_id(one)], after=1):
            rows = await tx.fetch(_SEEN.format(marks), caller.user.id, *piece)
            found |= {row[0]: _said(row) for row in rows if caller.reaches(row[1])}
        return found

    async def newest(
        self, tx: Transaction, caller: Caller, before: str, down_to: str, limit: int
    ) -> tuple[Sequence[Said], str | None]:
        """Look at the `limit` newest messages between two ids; return those that the caller sees.

        They are newest first. Also the id of the last that was looked at, or None if there are no more.  It
        takes as long as there are messages, whoever sees them: it is for what no index has yet.
        """
        [(floor, count)] = await tx.fetch(_FLOOR, before, down_to, limit)
        rows = await tx.fetch(_NEWEST, caller.user.id, before, down_to, limit)
        return [_said(row) for row in rows if caller.reaches(row[1])], floor if count == limit else None

    async def own_rooms(self, tx: Transaction, caller: Caller) -> Sequence[OwnRoom]:
        """Return the rooms that the caller is in by themself, as against by default."""
        rows = await tx.fetch(_OWN, caller.user.id)
        return [
            OwnRoom(row[0], row[1], row[2], bool(row[3]), row[4]) for row in rows if caller.reaches(row[0])
        ]

    async def channels_named(self, tx: Transaction, caller: Caller, name: str) -> Sequence[str]:
        """Return the channels of that name, without regard to case; of private ones several may have it."""
        key = text.fold(name)
        rows = await tx.fetch("select id from rooms where name_key = $1 and is_private = 0", key)
        own = await self.own_rooms(tx, caller)
        private = [
            one.id
            for one in own
            if one.kind == "channel" and one.is_private and text.fold(one.name or "") == key
        ]
        return [id_ for (id_,) in rows if caller.reaches(id_)] + private

    async def places(self, tx: Transaction, caller: Caller, room_ids: Sequence[str]) -> Mapping[str, Place]:
        """Return rooms that the caller sees, by their ids."""
        found: dict[str, Place] = {}
        for marks, piece in chunks([one for one in room_ids if could_be_id(one)], after=1):
            for id_, kind, name in await tx.fetch(_PLACES.format(marks), caller.user.id, *piece):
                if caller.reaches(id_):
                    found[id_] = Place(id_, kind, name)
        for id_ in [one.id for one in found.values() if one.name is None and one.kind != "direct"]:
            channel = await channel_rows.channel(tx, id_, caller.user.id)
            found[id_] = found[id_]._replace(name=channel.name)
        return found

    async def channels(self, tx: Transaction, caller: Caller) -> Sequence[Channel]:
        """Return the channels, groups and notes that the caller sees, as ``GET /channels`` lists them."""
        return [one for one in await channel_rows.channels(tx, caller.user.id) if caller.reaches(one.id)]

    async def members(self, tx: Transaction, room: Room) -> set[str]:
        """Return who is in a room that was found for a caller."""
        found = {user_id for (user_id,) in await tx.fetch(_MEMBERS, room.id)}
        if room.is_default:
            found |= {user_id for (user_id,) in await tx.fetch(_DEFAULT_MEMBERS, room.id)}
        return found

    async def have_images(self, tx: Transaction, message_ids: Sequence[str]) -> set[str]:
        """Return which of these messages, which the caller sees, have images."""
        return await _among(tx, "select message_id from message_images where message_id in ({})", message_ids)

    async def have_reactions(self, tx: Transaction, message_ids: Sequence[str]) -> set[str]:
        """Return which of these messages, which the caller sees, have reactions."""
        return await _among(tx, "select message_id from reactions where message_id in ({})", message_ids)

    async def have_replies(self, tx: Transaction, message_ids: Sequence[str]) -> set[str]:
        """Return which of these messages, which the caller sees, have replies."""
        return await _among(tx, "select parent_id from threads where parent_id in ({})", message_ids)

    async def changed(
        self, tx: Transaction, after: int, last: int, limit: int
    ) -> Sequence[tuple[int, str, str | None]]:
        """Return number and type of the log's events, and the message whose text each carries still.

        It is for who keeps an index, and tells ids of all messages.
        """
        return [(row[0], row[1], row[2]) for row in await tx.fetch(_CHANGED, after, last, limit)]

    async def with_class(self, tx: Transaction, message_ids: Sequence[str]) -> Sequence[tuple[Said, str]]:
        """Return messages with the class of each, whoever sees them; none of a deleted room."""
        found: list[tuple[Said, str]] = []
        for marks, piece in chunks(message_ids):
            rows = await tx.fetch(_INDEXED.format(marks), *piece)
            found += [(_said(row), row[7]) for row in rows]
        return found

    async def there(self, tx: Transaction, message_ids: Sequence[str]) -> set[str]:
        """Return which of these messages are there, whoever sees them."""
        return await _among(tx, "select id from messages where id in ({})", message_ids)

    async def count(self, tx: Transaction) -> int:
        """Return how many messages there are."""
        [(count,)] = await tx.fetch("select count(*) from messages")
        return int(count)

    async def classes(self, tx: Transaction, before: str, limit: int) -> Sequence[tuple[str, str]]:
        """Return the ids of the newest messages before one, newest first, with the class of each."""
        return [(row[0], row[1]) for row in await tx.fetch(_WALK, before, limit)]

    async def classes_of_room(
        self, tx: Transaction, room_id: str, before: str, limit: int
    ) -> tuple[Sequence[tuple[str, str]], str | None]:
        """Return the same of a room's messages, with all replies, and where to go on; None at the end."""
        top = [(row[0], row[1]) for row in await tx.fetch(_ROOM_WALK, before, limit, room_id)]
        found = list(top)
        for marks, piece in chunks([id_ for id_, _ in top]):
            found += [(row[0], row[1]) for row in await tx.fetch(_REPLIES.format(marks), *piece)]
        return found, top[-1][0] if len(top) == limit else None


async def _among(tx: Transaction, sql: str, message_ids: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for marks, piece in chunks(message_ids):
        found |= {row[0] for row in await tx.fetch(sql.format(marks), *piece)}
    return found


def _said(row: Row) -> Said:
    id_, room_id, parent_id, author_id, content, created_at, is_decorated = row[:7]
    return Said(id_, room_id, parent_id, author_id, content, created_at, bool(is_decorated))
