"""Writing rows of messages, and removing them with all that hangs on them.

Ids come in the order of commits within a place or a thread, whatever clock a server has: bodies of writing
transactions run one at a time.  Functions here know no permissions and send no events.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from teamchat.chat.drafts import Draft, images_of
from teamchat.chat.images_table import attach, forget_images_of
from teamchat.chat.records import author
from teamchat.errors import Unauthorized
from teamchat.ids import new_id_after
from teamchat.interfaces import Transaction
from teamchat.model import Message, now_ms
from teamchat.storage.statements import chunks

# Who writes, and what the new message comes after: one statement, for each costs a round trip.
_BEFORE = """select (select user_name from users where id = $1 and removed_at is null),
  (select id from messages where {} order by id desc limit 1)"""
_BEFORE_MESSAGE = _BEFORE.format("room_id = $2 and parent_id is null")
_BEFORE_REPLY = _BEFORE.format("parent_id = $2")


async def insert_message(
    tx: Transaction,
    *,
    room_id: str,
    author_id: str,
    bot_name: str | None,
    draft: Draft,
    parent_id: str | None = None,
) -> Message:
    """Store a draft whose content was accepted, with its images, and return the message as everyone sees it.

    A bot's `author_id` is ``webhook:<id>``. Raises `Unauthorized` if the
    author was removed since they were authenticated, `BadRequest` if an image is not one of the place.
    """
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


async def delete_messages(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Remove messages with their threads, reactions and images; unknown ids are passed over.

    Returns the ids of all that went, replies included.
    """
    replies = await _replies_to(tx, ids)
    doomed = [*replies, *ids]
    await forget_images_of(tx, doomed)
    for marks, piece in chunks(doomed):
        await tx.fetch(f"delete from reactions where message_id in ({marks})", *piece)  # noqa: S608
    for marks, piece in chunks(ids):
        await tx.fetch(f"delete from threads where parent_id in ({marks})", *piece)  # noqa: S608
    for marks, piece in [*chunks(replies), *chunks(ids)]:
        await tx.fetch(f"delete from messages where id in ({marks})", *piece)  # noqa: S608
    return doomed


async def _replies_to(tx: Transaction, ids: Sequence[str]) -> list[str]:
    replies: list[str] = []
    for marks, piece in chunks(ids):
        rows = await tx.fetch(f"select id from messages where parent_id in ({marks})", *piece)  # noqa: S608
        replies += [row[0] for row in rows]
    return replies
