"""Who sees a message or a conversation, and who may change it (decisions D-03, D-29).

Existence comes before permission.  A conversation exists for everyone, so an outsider is told 403; a direct
message addressed by its own id does not exist for outsiders.  A bot's messages have no author who could
edit them.
"""

from __future__ import annotations

from typing import NamedTuple

from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.ids import could_be_id
from teamchat.interfaces import Transaction
from teamchat.model import Caller

Participants = tuple[str, str]


class FoundMessage(NamedTuple):
    """Where a message stands and whose it is. `participants` is there for a direct message alone."""

    id: str
    place_id: str
    parent_id: str | None
    author_id: str
    participants: Participants | None


async def find_message(tx: Transaction, caller: Caller, message_id: str) -> FoundMessage:
    """Return a message the caller sees; raises `NotFound` for any other."""
    rows = could_be_id(message_id) and await tx.fetch(
        """select m.id, m.place_id, m.parent_id, m.author_id, c.first_user, c.second_user
        from messages m left join conversations c on c.id = m.place_id where m.id = $1""",
        message_id,
    )
    if not rows:
        raise NotFound("No such message.")
    [(id_, place_id, parent_id, author_id, *participants)] = rows
    pair = None if participants[0] is None else (participants[0], participants[1])
    if pair is not None and caller.user.id not in pair:
        raise NotFound("No such message.")
    return FoundMessage(id_, place_id, parent_id, author_id, pair)


async def find_reply(tx: Transaction, caller: Caller, parent_id: str, reply_id: str) -> FoundMessage:
    """Return a reply that stands in the thread of `parent_id`; raises `NotFound` for any other."""
    reply = await find_message(tx, caller, reply_id)
    if reply.parent_id != parent_id:
        raise NotFound("No such reply in this thread.")
    return reply


async def find_conversation(tx: Transaction, caller: Caller, conversation_id: str) -> Participants:
    """Return the participants; raises `NotFound` for no conversation and `Forbidden` to an outsider."""
    rows = could_be_id(conversation_id) and await tx.fetch(
        "select first_user, second_user from conversations where id = $1", conversation_id
    )
    if not rows:
        raise NotFound("No such conversation.")
    [(first, second)] = rows
    if caller.user.id not in (first, second):
        raise Forbidden("You are not a participant of this conversation.")
    return first, second


async def find_direct(tx: Transaction, caller: Caller, conversation_id: str, message_id: str) -> FoundMessage:
    """Return a message of a conversation, as `find_conversation` does; `NotFound` for one of elsewhere."""
    await find_conversation(tx, caller, conversation_id)
    found = await find_message(tx, caller, message_id)
    if found.place_id != conversation_id:
        raise NotFound("No such message in this conversation.")
    return found


def check_may_edit(caller: Caller, found: FoundMessage) -> None:
    """Only the author edits a message."""
    if found.author_id != caller.user.id:
        raise Forbidden("Only the author may edit a message.")


def check_may_delete(caller: Caller, found: FoundMessage) -> None:
    """The author deletes a message; an admin does too, save for direct messages (decision D-29)."""
    if found.author_id == caller.user.id or (caller.user.is_admin and found.participants is None):
        return
    raise Forbidden("You may not delete this message.")


def check_can_have_thread(parent: FoundMessage) -> None:
    """Raise `BadRequest` unless it is a top-level message of a channel (decision D-28)."""
    if parent.participants is not None:
        raise BadRequest("A direct message has no thread.")
    if parent.parent_id is not None:
        raise BadRequest("A reply has no thread of its own.")
