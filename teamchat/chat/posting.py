"""Posting a message, whatever it is and wherever it goes: the one choreography of it.

Who posts has been let in and the room found (`teamchat.chat.sight`).  In one transaction then: the content is
held to the rules, a retry finds what it made before, the message is stored with its images, capabilities do
their part, what counts messages is counted, and whoever may see it is told.  Ids come in the order of commits
within a room or a thread, whatever clock a server has: bodies of writing transactions run one at a time.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UNSET

from teamchat import events
from teamchat.chat import records
from teamchat.chat.changes import count_reply
from teamchat.chat.drafts import Draft, content_of, images_of
from teamchat.chat.idempotency import keyed, recollect, remember
from teamchat.chat.images_table import attach
from teamchat.chat.records import author
from teamchat.chat.rules import Rules
from teamchat.chat.sight import Room, SeenMessage
from teamchat.errors import NotFound, Unauthorized
from teamchat.ids import new_id_after
from teamchat.interfaces import Transaction
from teamchat.model import Message, ThreadMeta, now_ms

# Who writes, and what the new message comes after: one statement, for each costs a round trip.
_BEFORE = """select (select user_name from users where id = $1 and removed_at is null),
  (select id from messages where {} order by id desc limit 1)"""
_BEFORE_MESSAGE = _BEFORE.format("room_id = $2 and parent_id is null")
_BEFORE_REPLY = _BEFORE.format("parent_id = $2")


class Submission(NamedTuple):
    """What somebody posts. `asked` is the draft as it came, `kept` what the filters left of it.

    `key` is the Idempotency-Key, and `path` says of which request: the same key on another one is refused
    (decision D-07b).  A bot's `author_id` is ``webhook:<id>``.
    """

    author_id: str
    asked: Draft
    kept: Draft
    key: str | None
    path: str
    bot_name: str | None = None


async def post(tx: Transaction, room: Room, submission: Submission, rules: Rules) -> Message:
    """Post a message that is no reply."""
    return (await _post(tx, room, submission, rules, None))[0]


async def post_reply(
    tx: Transaction, parent: SeenMessage, submission: Submission, rules: Rules
) -> tuple[Message, ThreadMeta]:
    """Post a reply, and return it with what its thread amounts to then."""
    reply, meta = await _post(tx, parent.room, submission, rules, parent)
    meta = meta or await records.thread_meta(tx, parent.id)
    if meta is None:
        raise NotFound("This message has no thread.")
    return reply, meta


async def _post(
    tx: Transaction, room: Room, submission: Submission, rules: Rules, parent: SeenMessage | None
) -> tuple[Message, ThreadMeta | None]:
    kept = submission.kept
    content_of(kept, most=rules.most, has_images=bool(images_of(kept)))
    request = keyed(submission.author_id, submission.key, submission.path, submission.asked)
    message = await recollect(tx, request)
    if message is not None:
        return (await rules.capabilities.message_fields.added(tx, [message]))[0], None
    message = await _insert(tx, room.id, submission, None if parent is None else parent.id)
    await remember(tx, request, message)
    await rules.capabilities.in_transaction.message_stored(tx, message, room)
    message = await rules.capabilities.message_fields.of_new(tx, message)
    if parent is not None:
        meta = await count_reply(tx, message, parent.id)
        told = events.NewThreadReply(parent.id, room.id, message, meta, parent.author_id)
        await tx.append(told.to(room.audience))
        return message, meta
    if room.participants is None:
        await tx.append(events.NewMessage.about(message).to(room.audience))
        return message, None
    await tx.fetch("update rooms set last_message_at = $2 where id = $1", room.id, message.created_at)
    await tx.append(events.NewDirectMessage.about(message, room.participants).to(room.audience))
    return message, None


async def _insert(tx: Transaction, room_id: str, submission: Submission, parent_id: str | None) -> Message:
    """Store what was posted, with its images, and return the message as everyone sees it.

    Raises `Unauthorized` if the author was removed since they were authenticated, `BadRequest` if an image is
    not one of the room.
    """
    author_id, bot_name, draft = submission.author_id, submission.bot_name, submission.kept
    sql, container_id = (_BEFORE_MESSAGE, room_id) if parent_id is None else (_BEFORE_REPLY, parent_id)
    [(name, last)] = await tx.fetch(sql, author_id, container_id)
    if name is None and bot_name is None:
        raise Unauthorized
    message_id, created_at, images = new_id_after(last), now_ms(), images_of(draft)
    await tx.fetch(
        """insert into messages (id, room_id, parent_id, author_id, bot_name, content, created_at)
        values ($1, $2, $3, $4, $5, $6, $7)""",
        message_id,
        room_id,
        parent_id,
        author_id,
        bot_name,
        draft.content,
        created_at,
    )
    if images:
        await attach(tx, room_id, message_id, images)
    return Message(
        id=message_id,
        channel_id=room_id,
        author=author(author_id, name, bot_name),
        content=draft.content,
        created_at=created_at,
        updated_at=None,
        reactions={},
        thread_id=UNSET if parent_id is None else parent_id,
        images=images or UNSET,
    )
