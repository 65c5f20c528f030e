"""Editing and deleting a message that was found and may be changed, whatever kind it is.

The three kinds (of a channel, of a thread, of a conversation) differ in the event that tells of the change
and in what is counted anew; both are decided here and nowhere else (decisions D-35, D-36).  So a reply or
a direct message that is addressed as a plain message behaves as it does on its own route.
"""

from __future__ import annotations

import json

from msgspec import UNSET

from teamchat import events
from teamchat.chat import records
from teamchat.chat.access import FoundMessage, Participants
from teamchat.chat.drafts import Draft, content_of
from teamchat.chat.images_table import attach
from teamchat.chat.messages_table import delete_messages
from teamchat.errors import NotFound
from teamchat.interfaces import Transaction
from teamchat.model import Message, ThreadMeta, UserName, now_ms
from teamchat.storage.log import blank


async def amend(tx: Transaction, found: FoundMessage, draft: Draft, most: int) -> Message:
    """Give a held message the content of `draft`, and its images if it names any; tell everyone concerned."""
    content = content_of(draft, most=most, has_images=await _will_have_images(tx, found.id, draft))
    await tx.fetch(
        "update messages set content = $2, updated_at = $3 where id = $1", found.id, content, now_ms()
    )
    if draft.images is not UNSET:
        await attach(tx, found.place_id, found.id, draft.images)
    message = await records.message(tx, found.id)
    if message is None:
        raise NotFound("No such message.")
    await blank(tx, found.place_id, [found.id])
    await tx.append(_updated(found, message))
    return message


async def erase(tx: Transaction, found: FoundMessage) -> None:
    """Delete a held message with all that hangs on it, and tell everyone concerned."""
    await blank(tx, found.place_id, await delete_messages(tx, [found.id]))
    if found.participants is not None:
        await _erased_from_conversation(tx, found, found.participants)
    elif found.parent_id is not None:
        meta = await recount_thread(tx, found.parent_id)
        event = events.DeleteThreadReply(found.id, found.parent_id, found.place_id, meta)
        await tx.append(event.to())
    else:
        await tx.append(events.DeleteMessage(found.id, found.place_id).to())


async def count_reply(tx: Transaction, reply: Message, parent_id: str) -> ThreadMeta:
    """Add a new reply to its thread's figures, without reading the thread, and return them."""
    rows = await tx.fetch("select participants from threads where parent_id = $1", parent_id)
    participants = json.loads(rows[0][0]) if rows else []
    if reply.author.id not in participants:
        participants.append(reply.author.id)
    [(reply_count,)] = await tx.fetch(
        """insert into threads (parent_id, reply_count, last_reply_at, last_reply_by, participants)
        values ($1, 1, $2, $3, $4)
        on conflict (parent_id) do update set reply_count = threads.reply_count + 1,
          last_reply_at = excluded.last_reply_at, last_reply_by = excluded.last_reply_by,
          participants = excluded.participants
        returning reply_count""",
        parent_id,
        reply.created_at,
        reply.author.id,
        json.dumps(participants),
    )
    last_reply_by = UserName(reply.author.id, reply.author.user_name)
    return ThreadMeta(reply_count, reply.created_at, last_reply_by, participants)


async def recount_thread(tx: Transaction, parent_id: str) -> ThreadMeta | None:
    """Make a thread's figures from its replies after one is gone; None without any (decision D-28)."""
    last = await tx.fetch(
        "select created_at, author_id from messages where parent_id = $1 order by id desc limit 1", parent_id
    )
    if not last:
        await tx.fetch("delete from threads where parent_id = $1", parent_id)
        return None
    authors = await tx.fetch(
        """select author_id, count(*) from messages where parent_id = $1
        group by author_id order by min(id)""",
        parent_id,
    )
    await tx.fetch(
        """update threads set reply_count = $2, last_reply_at = $3, last_reply_by = $4, participants = $5
        where parent_id = $1""",
        parent_id,
        sum(count for _, count in authors),
        *last[0],
        json.dumps([author_id for author_id, _ in authors]),
    )
    return await records.thread_meta(tx, parent_id)


async def _will_have_images(tx: Transaction, message_id: str, draft: Draft) -> bool:
    if draft.images is not UNSET:
        return bool(draft.images)
    return bool(await tx.fetch("select 1 from message_images where message_id = $1 limit 1", message_id))


def _updated(found: FoundMessage, message: Message) -> events.Event:
    if found.participants is not None:
        return events.UpdateDirectMessage.about(message, found.participants).to(found.participants)
    if found.parent_id is not None:
        return events.UpdateThreadReply.about(message).to()
    return events.UpdateMessage.about(message).to()


async def _erased_from_conversation(tx: Transaction, found: FoundMessage, participants: Participants) -> None:
    await tx.fetch(
        """update conversations set last_message_at = (select created_at from messages
          where place_id = $1 and parent_id is null order by id desc limit 1) where id = $1""",
        found.place_id,
    )
    event = events.DeleteDirectMessage(found.id, found.place_id, participants)
    await tx.append(event.to(participants))
