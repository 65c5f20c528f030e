"""Who sees a room or a message, and who may change one (decisions D-03, D-29).

Everything that is asked for by its id is found here and nowhere else.  Each function is one statement that
comes back empty for what is not there and for what the caller does not see, so that nobody can tell the two
apart (extension rules X-2, X-3); but a direct conversation exists for everyone, and an outsider is told 403
(decision D-29).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.events import InRoom
from teamchat.ids import could_be_id, is_conversation_id
from teamchat.interfaces import Row, Transaction
from teamchat.model import Caller
from teamchat.storage.statements import chunks

Participants = tuple[str, str]

ROOM = "r.id, r.epoch, r.is_private, r.pair_key"
"""The columns of a room, of which `Room.of` makes one."""


def seen_by(parameter: str) -> str:
    """Return the condition that the user of a parameter (``$1``…) sees the room `r` of a statement."""
    return (
        "(r.is_private = 0 or exists"  # noqa: S608
        f" (select 1 from memberships s where s.room_id = r.id and s.user_id = {parameter}))"
    )


_CHANNEL = f"select {ROOM} from rooms r where r.id = $1 and r.kind = 'channel' and {seen_by('$2')}"  # noqa: S608
_DIRECT = f"select {ROOM} from rooms r where r.id = $1 and r.kind = 'direct'"  # noqa: S608
_MESSAGE = f"""select m.id, m.parent_id, m.author_id, {ROOM} from messages m
join rooms r on r.id = m.room_id where m.id = $1 and {seen_by("$2")}"""  # noqa: S608


_MESSAGES = f"""select m.id from messages m join rooms r on r.id = m.room_id
where m.id in ({{}}) and {seen_by("$1")}"""  # noqa: S608


class Room(NamedTuple):
    """A room that the caller sees. `participants` are the two users of a direct conversation."""

    id: str
    epoch: int
    is_private: bool
    participants: Participants | None = None

    @classmethod
    def of(cls, row: Row | Sequence[Any]) -> Room:
        """Return the room of a row with the columns `ROOM`."""
        id_, epoch, is_private, pair = row
        first, _, second = (pair or "").partition(" ")
        return cls(id_, epoch, bool(is_private), (first, second) if pair else None)

    @property
    def audience(self) -> InRoom | Participants:
        """Who is told what happens in it. The two of a direct conversation are always the same."""
        return self.participants or InRoom(self.id, self.epoch, self.is_private)


class SeenMessage(NamedTuple):
    """A message that the caller sees: where it stands, and whose it is."""

    id: str
    room: Room
    parent_id: str | None
    author_id: str


async def channel(tx: Transaction, caller: Caller, channel_id: str) -> Room:
    """Return a channel the caller sees; raises `NotFound` for any other."""
    could_be_one = could_be_id(channel_id) and not is_conversation_id(channel_id)
    rows = could_be_one and await tx.fetch(_CHANNEL, channel_id, caller.user.id)
    if not rows:
        raise NotFound("No such channel.")
    return Room.of(rows[0])


async def conversation(tx: Transaction, caller: Caller, conversation_id: str) -> Room:
    """Return a direct conversation; raises `NotFound` if there is none and `Forbidden` to an outsider."""
    rows = (
        is_conversation_id(conversation_id)
        and could_be_id(conversation_id)
        and await tx.fetch(_DIRECT, conversation_id)
    )
    if not rows:
        raise NotFound("No such conversation.")
    found = Room.of(rows[0])
    if caller.user.id not in (found.participants or ()):
        raise Forbidden("You are not a participant of this conversation.")
    return found


async def room(tx: Transaction, caller: Caller, room_id: str) -> Room:
    """Return a room of any kind, as `channel` and `conversation` do."""
    find = conversation if is_conversation_id(room_id) else channel
    return await find(tx, caller, room_id)


async def message(tx: Transaction, caller: Caller, message_id: str) -> SeenMessage:
    """Return a message the caller sees; raises `NotFound` for any other."""
    rows = could_be_id(message_id) and await tx.fetch(_MESSAGE, message_id, caller.user.id)
    if not rows:
        raise NotFound("No such message.")
    [(id_, parent_id, author_id, *found)] = rows
    return SeenMessage(id_, Room.of(found), parent_id, author_id)


async def messages(tx: Transaction, caller: Caller, message_ids: Sequence[str]) -> set[str]:
    """Return which of these messages the caller sees."""
    found: set[str] = set()
    for marks, piece in chunks([one for one in message_ids if could_be_id(one)], after=1):
        found |= {id_ for (id_,) in await tx.fetch(_MESSAGES.format(marks), caller.user.id, *piece)}
    return found


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


def check_may_edit(caller: Caller, seen: SeenMessage) -> None:
    """Only the author edits a message; a bot's has no author who could."""
    if seen.author_id != caller.user.id:
        raise Forbidden("Only the author may edit a message.")


def check_may_delete(caller: Caller, seen: SeenMessage) -> None:
    """The author deletes a message; an admin does too, save for direct messages (decision D-29)."""
    if seen.author_id == caller.user.id or (caller.user.is_admin and seen.room.participants is None):
        return
    raise Forbidden("You may not delete this message.")


def check_can_have_thread(parent: SeenMessage) -> None:
    """Raise `BadRequest` unless it is a top-level message of a channel (decision D-28)."""
    if parent.room.participants is not None:
        raise BadRequest("A direct message has no thread.")
    if parent.parent_id is not None:
        raise BadRequest("A reply has no thread of its own.")
