"""Who sees a room or a message (decisions D-03, D-29). For who may do what in it, see `permissions`.

Everything that is asked for by id is looked up here and nowhere else. Each function is one statement that
comes back empty both for what does not exist and for what the caller does not see, so that nobody can tell
the two apart (extension rules X-2, X-3). Only a direct conversation exists for everyone: an outsider gets 403
(decision D-29).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from teamchat.errors import Forbidden, NotFound
from teamchat.events import InRoom
from teamchat.interfaces import Row, Transaction
from teamchat.model import Caller
from teamchat.model.ids import could_be_id, is_conversation_id
from teamchat.model.resources import RoomKind
from teamchat.storage.statements import chunks, listed
from teamchat.storage.supposing import likely

Participants = tuple[str, str]

ROOM = """r.id, r.epoch, r.is_private, r.pair_key, r.kind, r.is_default, r.archived_at, r.post_policy,
r.invite_policy, r.history_for, r.public_from, r.last_bound"""
"""The columns of a room, of which `Room.of` makes one."""

GONE = "select id from rooms where kind = 'gone'"
"""Rooms that were deleted, as long as something of them is left (`teamchat.chat.deletion`)."""

# The caller is $2 where a room or a message is asked for, and what they are in it is the row `mine`.
MINE = "left join memberships mine on mine.room_id = r.id and mine.user_id = $2"
FIRST_SEEN = """case when r.is_private = 0 and (mine.user_id is null or r.public_from < mine.visible_from)
then r.public_from else mine.visible_from end"""
"""From which message on the caller sees a room that they see."""
SEEN = "(r.is_private = 0 or mine.user_id is not null)"
_ASKED = f"{ROOM}, mine.role, {FIRST_SEEN}"

# What is not there costs the same lookups as what is not seen, or a clock could distinguish them: the
# row that is nearest is taken, and whether it is the one that was asked for is decided last.
_CHANNEL = f"""select {_ASKED} from (select * from rooms where id <= $1 order by id desc limit 1) r {MINE}
where case when r.kind <> 'direct' and {SEEN} then r.id end = $1"""  # noqa: S608
# The caller stands in it so that what a storage remembers of the answer (`likely`) is theirs alone.
_DIRECT = f"select {ROOM} from rooms r where r.id = $1 and r.kind = 'direct' and $2 <> ''"  # noqa: S608
_MADE = f"select {ROOM} from rooms r where r.id = $1"  # noqa: S608
_SEEN_MESSAGE = f"{SEEN} and coalesce(m.parent_id, m.id) >= {FIRST_SEEN}"
_MESSAGE = f"""select m.id, m.parent_id, m.author_id, {_ASKED} from
(select id, room_id, parent_id, author_id from messages where id <= $1 order by id desc limit 1) m
join rooms r on r.id = m.room_id {MINE} where case when {_SEEN_MESSAGE} then m.id end = $1"""  # noqa: S608
_ANY_MESSAGE = f"""select m.id, m.parent_id, m.author_id, {ROOM} from messages m
join rooms r on r.id = m.room_id and r.kind <> 'gone' where m.id = $1"""  # noqa: S608
_MESSAGES = f"""select m.id, r.id from messages m join rooms r on r.id = m.room_id
{MINE.replace("$2", "$1")} where m.id in ({{}}) and {_SEEN_MESSAGE}"""  # noqa: S608


# Whatever hangs on a message is visible as the message is, a reply as its parent.
_WHO_SEES = f"""select u.id from users u join rooms r on r.id = $1
left join memberships mine on mine.room_id = r.id and mine.user_id = u.id
where u.removed_at is null and u.deactivated_at is null and {SEEN} and $2 >= {FIRST_SEEN}
and u.id in ({{}})"""  # noqa: S608
_NAMED = f"""select u.user_name_key, u.id, u.removed_at is null and {SEEN} and $2 >= {FIRST_SEEN}
from users u join rooms r on r.id = $1
left join memberships mine on mine.room_id = r.id and mine.user_id = u.id
where u.user_name_key in ({{}}) and u.deactivated_at is null"""  # noqa: S608
_CHANNELS = f"""select r.id from rooms r {MINE.replace("$2", "$1")}
where r.kind <> 'direct' and ({SEEN} or r.id = $2) and r.id in ({{}})"""  # noqa: S608


_SHARING = """select distinct other.user_id from memberships mine
join memberships other on other.room_id = mine.room_id and other.user_id <> mine.user_id
where mine.user_id = $1 limit $2"""
_SHARING_IN = """select distinct other.user_id from memberships mine
join memberships other on other.room_id = mine.room_id and other.user_id <> mine.user_id
where mine.user_id = $1 and mine.room_id in ({})"""
_IN_DEFAULT = """select r.id from rooms r where r.is_default = 1 and r.archived_at is null and not exists (
select 1 from departures d where d.room_id = r.id and d.user_id = $1)"""
# A bound between two messages is that of somebody who sees the one and not the other; those that are set
# later lie after all that is there.
_TOGETHER = """with pairs(one, other) as (values {}),
roots as (select a.id as one, a.room_id, coalesce(a.parent_id, a.id) as root,
  coalesce(b.parent_id, b.id) as other_root
  from pairs join messages a on a.id = pairs.one
  join messages b on b.id = pairs.other and b.room_id = a.room_id)
select roots.one from roots join rooms r on r.id = roots.room_id
where r.kind = 'direct' or other_root >= root or (r.is_private = 0 and r.public_from <= other_root)
or ((r.is_private = 1 or r.public_from > root) and not exists (select 1 from memberships his
  where his.room_id = r.id and his.visible_from > other_root and his.visible_from <= root))"""


class Room(NamedTuple):
    """A room that the caller sees: its `id`, and its `kind`.

    The kinds are ``channel``, ``group``, ``notes`` and ``direct``; for the last one, `participants` are the
    two users.  A plugin may rely on these, on `is_private`, `is_default` and `is_archived`, on `role` (the
    caller's ``manager`` or ``member``, or None if they have not joined), and on `audience`: those who see the
    room, for events that are not about a message.
    """

    id: str
    epoch: int
    is_private: bool
    participants: Participants | None = None
    kind: RoomKind = "channel"
    is_default: bool = False
    is_archived: bool = False
    post_policy: str = "everyone"
    invite_policy: str = "members"
    history_for: str = "all"
    public_from: str = ""
    last_bound: str = ""  # Every message that comes has a greater id.
    role: str | None = None
    first_seen: str = ""  # The first message that the caller sees.

    @classmethod
    def of(cls, row: Row | Sequence[Any]) -> Room:
        """Return the room of a row with the columns `ROOM`, and those of a caller."""
        id_, epoch, is_private, pair, kind, is_default, archived_at, *rest = row
        first, _, second = (pair or "").partition(" ")
        participants = (first, second) if pair else None
        if kind == "gone":  # Clients know of no such kind, nor do capabilities that take part in its removal.
            kind = "channel"
        is_archived = archived_at is not None
        return cls(id_, epoch, bool(is_private), participants, kind, bool(is_default), is_archived, *rest)

    @property
    def audience(self) -> InRoom | Participants:
        """The audience of what happens in it. The two of a direct conversation are always the same."""
        return self.participants or self.in_room

    @property
    def in_room(self) -> InRoom:
        """Who sees a room that is no direct conversation."""
        return InRoom(self.id, self.epoch, self.is_private, kind=self.kind)

    def audience_of(self, message_id: str) -> InRoom | Participants:
        """The audience of a message that is no reply, and of what hangs on it."""
        is_private = self.is_hidden(message_id)
        return self.participants or InRoom(self.id, self.epoch, is_private, message_id, kind=self.kind)

    def is_hidden(self, message_id: str) -> bool:
        """Tell whether members alone see a message: also one of before a channel was made public (B-8)."""
        return self.is_private or message_id < self.public_from


class SeenMessage(NamedTuple):
    """A message that the caller sees: its `id`, its `room`, and its author's id, `author_id`.

    `parent_id` is the message that a reply is to, and None for any other message.  `audience` is those who
    see the message, for events about it and about what belongs to it.
    """

    id: str
    room: Room
    parent_id: str | None
    author_id: str

    @property
    def audience(self) -> InRoom | Participants:
        """The audience of what happens to it."""
        return self.room.audience_of(self.parent_id or self.id)

    @property
    def said_in(self) -> Room:
        """The room as a filter is told of it: private where members alone see the message."""
        return self.room._replace(is_private=self.room.is_hidden(self.parent_id or self.id))


async def channel(tx: Transaction, caller: Caller, channel_id: str) -> Room:
    """Return a channel the caller sees; raises `NotFound` for any other."""
    could_be_one = could_be_id(channel_id) and not is_conversation_id(channel_id)
    rows = (
        could_be_one and caller.reaches(channel_id) and await likely(tx, _CHANNEL, channel_id, caller.user.id)
    )
    if not rows:
        raise NotFound("No such channel.")
    return Room.of(rows[0])


async def conversation(tx: Transaction, caller: Caller, conversation_id: str) -> Room:
    """Return a direct conversation; raises `NotFound` if there is none and `Forbidden` to an outsider."""
    rows = (
        is_conversation_id(conversation_id)
        and could_be_id(conversation_id)
        and caller.reaches(conversation_id)
        and await likely(tx, _DIRECT, conversation_id, caller.user.id)
    )
    if not rows:
        raise NotFound("No such conversation.")
    found = Room.of(rows[0])
    if caller.user.id not in (found.participants or ()):
        raise Forbidden("You are not a participant of this conversation.")
    return found


async def made(tx: Transaction, room_id: str) -> Room:
    """Return a room that was just made, as nobody in particular sees it."""
    [row] = await tx.fetch(_MADE, room_id)
    return Room.of(row)


async def room(tx: Transaction, caller: Caller, room_id: str) -> Room:
    """Return a room of any kind, as `channel` and `conversation` do."""
    find = conversation if is_conversation_id(room_id) else channel
    return await find(tx, caller, room_id)


async def message(tx: Transaction, caller: Caller, message_id: str) -> SeenMessage:
    """Return a message the caller sees; raises `NotFound` for any other."""
    rows = could_be_id(message_id) and await likely(tx, _MESSAGE, message_id, caller.user.id)
    if not rows:
        raise NotFound("No such message.")
    [(id_, parent_id, author_id, *found)] = rows
    place = Room.of(found)
    if not caller.reaches(place.id):
        raise NotFound("No such message.")
    return SeenMessage(id_, place, parent_id, author_id)


async def anywhere(tx: Transaction, message_id: str) -> SeenMessage | None:
    """Return a message whoever sees it, for what happens to it by itself; None if it is not there."""
    rows = await tx.fetch(_ANY_MESSAGE, message_id)
    if not rows:
        return None
    [(id_, parent_id, author_id, *found)] = rows
    return SeenMessage(id_, Room.of(found), parent_id, author_id)


async def messages(tx: Transaction, caller: Caller, message_ids: Sequence[str]) -> set[str]:
    """Return which of these messages the caller sees."""
    found: set[str] = set()
    for marks, piece in chunks([one for one in message_ids if could_be_id(one)], after=1):
        rows = await tx.fetch(_MESSAGES.format(marks), caller.user.id, *piece)
        found |= {id_ for id_, room_id in rows if caller.reaches(room_id)}
    return found


async def seen_together(tx: Transaction, pairs: Sequence[tuple[str, str]]) -> set[str]:
    """Return the firsts of those pairs of messages of one room of which whoever sees the first sees both."""
    found: set[str] = set()
    for rows, piece in listed([one for one in pairs if could_be_id(one[1])]):
        found |= {id_ for (id_,) in await tx.fetch(_TOGETHER.format(rows), *piece)}
    return found


async def who_sees(tx: Transaction, room_id: str, message_id: str, user_ids: Sequence[str]) -> set[str]:
    """Return which of these users see a message of a room; of a reply, its parent is given.

    Who is deactivated sees nothing.
    """
    found: set[str] = set()
    for marks, piece in chunks([one for one in user_ids if could_be_id(one)], after=2):
        found |= {id_ for (id_,) in await tx.fetch(_WHO_SEES.format(marks), room_id, message_id, *piece)}
    return found


async def named(
    tx: Transaction, room_id: str, message_id: str, names: Sequence[str]
) -> dict[str, tuple[str, bool]]:
    """Return the users of these folded names, by name: the id of each, and what `who_sees` says of them.

    Nobody means one who is deactivated.
    """
    found: dict[str, tuple[str, bool]] = {}
    for marks, piece in chunks(names, after=2):
        for name, user_id, sees in await tx.fetch(_NAMED.format(marks), room_id, message_id, *piece):
            found[name] = user_id, bool(sees)
    return found


async def channels(tx: Transaction, caller: Caller | None, ids: Sequence[str], *, own: str = "") -> set[str]:
    """Return which of these channels the caller sees; who is nobody, a webhook, sees the public ones.

    The room `own` is seen in any case.
    """
    found: set[str] = set()
    user_id = "" if caller is None else caller.user.id
    for marks, piece in chunks([one for one in ids if could_be_id(one)], after=2):
        found |= {id_ for (id_,) in await tx.fetch(_CHANNELS.format(marks), user_id, own, *piece)}
    return found if caller is None else set(filter(caller.reaches, found))


async def company(tx: Transaction, caller: Caller, others: Sequence[str], most: int) -> list[str]:
    """Return users with whom the caller is in a place, `most` at most.

    In a default channel everybody is: then `others` are among them, as far as there is room.
    """
    found = await _sharing(tx, caller, most)
    defaults = await tx.fetch(_IN_DEFAULT, caller.user.id) if len(found) < most else ()
    if any(caller.reaches(room_id) for (room_id,) in defaults):
        found = list(dict.fromkeys([*found, *(one for one in others if one != caller.user.id)]))
    return found[:most]


async def _sharing(tx: Transaction, caller: Caller, most: int) -> list[str]:
    if caller.places is None:
        return [other for (other,) in await tx.fetch(_SHARING, caller.user.id, most)]
    found: dict[str, None] = {}
    for marks, piece in chunks(sorted(caller.places), after=1):
        rows = await tx.fetch(_SHARING_IN.format(marks), caller.user.id, *piece)
        found |= dict.fromkeys(other for (other,) in rows)
    return list(found)[:most]


async def reply(tx: Transaction, caller: Caller, parent_id: str, reply_id: str) -> SeenMessage:
    """Return a reply that stands in the thread of `parent_id`; raises `NotFound` for any other."""
    seen = await message(tx, caller, reply_id)
    if seen.parent_id != parent_id:
        raise NotFound("No such reply in this thread.")
    return seen


async def direct_message(
    tx: Transaction, caller: Caller, conversation_id: str, message_id: str
) -> SeenMessage:
    """Return a message of a conversation, as `conversation` does; `NotFound` for one of elsewhere."""
    await conversation(tx, caller, conversation_id)
    seen = await message(tx, caller, message_id)
    if seen.room.id != conversation_id:
        raise NotFound("No such message in this conversation.")
    return seen
