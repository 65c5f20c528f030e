"""Editing and deleting a message that was found and may be changed, whatever its kind.

Messages of channels, replies and direct messages differ in the event of the change and in what has to be
counted anew. Both are decided here and nowhere else (decisions D-35, D-36), so a reply or a direct message
that is addressed as a plain message behaves as it does at its own endpoint.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from teamchat import events
from teamchat.capabilities import Capabilities, ChangeGuard, Written
from teamchat.chat import records
from teamchat.chat.deletion import delete_message
from teamchat.chat.drafts import Draft, MessageEdit, Stored, content_of
from teamchat.chat.filters import Filters
from teamchat.chat.images_table import attach
from teamchat.chat.rules import Rules
from teamchat.chat.sight import Participants, Room, SeenMessage
from teamchat.errors import BadRequest, NotFound
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Message, ThreadMeta, UserName, now_ms
from teamchat.storage.log import blank


class Revision(NamedTuple):
    """An edit: as it came, and what the filters left of it."""

    asked: Draft | MessageEdit
    kept: Draft | MessageEdit


async def accepted_edit(
    storage: Storage,
    filters: Filters,
    edit: Draft | MessageEdit,
    check: Callable[[], Awaitable[Room]],
    *,
    author_id: str,
    message_id: str,
) -> Revision:
    """Return an edit, and what filters leave of it; they are shown the content that the message will have.

    `check` raises if the author may not edit the message.  Raises what `Filters.passed` raises, and
    `BadRequest` for an edit of nothing.
    """
    if edit.content is not UNSET:
        draft = Draft(edit.content, edit.images)
        kept = await filters.passed(draft, check, author_id=author_id, message_id=message_id)
        return Revision(edit, replace(edit, content=kept.content))
    await check()  # first: an outsider gets no other error, whatever they sent (decision D-03)
    if edit.images is UNSET:
        raise BadRequest("content is missing.")
    async with storage.read() as tx:
        draft = Draft(await _content(tx, message_id), edit.images)
    kept = await filters.passed(draft, check, author_id=author_id, message_id=message_id)
    # Content that no filter touched is not written back: another edit may have come in between.
    is_same = kept.content == draft.content
    return Revision(edit, edit if is_same else replace(edit, content=kept.content))


async def amend(
    tx: Transaction, caller: Caller, seen: SeenMessage, revision: Revision, rules: Rules
) -> Stored:
    """Give a message the content and the images that an edit names."""
    asked, edit = revision
    drafts = rules.capabilities.drafts
    before = await _content(tx, seen.id)
    content = before if edit.content is UNSET else edit.content
    # What is there already may be longer than what may be written today.
    most = max(rules.most, len(before)) if edit.content is UNSET else rules.most
    may_be_blank = await _will_have_images(tx, seen.id, edit) or await drafts.stands_alone(tx, edit, seen.id)
    content = content_of(Draft(content), most=most, may_be_blank=may_be_blank)
    await tx.fetch(
        "update messages set content = $2, updated_at = $3 where id = $1", seen.id, content, now_ms()
    )
    if edit.images is not UNSET:
        await attach(
            tx, seen.room.id, seen.id, edit.images, first_seen=seen.room.first_seen, by=seen.author_id
        )
    message = await records.message(tx, seen.id)
    if message is None:
        raise NotFound("No such message.")
    sent = content if asked.content is UNSET else asked.content
    written = Written(message, seen.room, caller, None, sent, before)
    with ChangeGuard(tx) as guard:
        await rules.capabilities.in_transaction.message_edited(guard, message, seen.room)
        _, beside = await drafts.write(guard, edit, written)
    [message] = await rules.capabilities.message_fields.added(tx, [message])
    await blank(tx, seen.room.id, [seen.id])
    await tx.append(_updated(seen, message))
    return Stored(message, beside)


async def erase(tx: Transaction, seen: SeenMessage, capabilities: Capabilities) -> None:
    """Delete a message with all that hangs on it."""
    replies = await _replies_to(tx, seen.id)
    await _keep_order(tx, seen, max([*replies, seen.id]))
    await delete_message(tx, capabilities, seen, replies)
    if seen.room.participants is not None:
        await _erased_from_conversation(tx, seen, seen.room.participants)
    elif seen.parent_id is not None:
        meta = await recount_thread(tx, seen.parent_id)
        event = events.DeleteThreadReply(seen.id, seen.parent_id, seen.room.id, meta, seen.author_id)
        await tx.append(event.to(seen.audience))
    else:
        await tx.append(events.DeleteMessage(seen.id, seen.room.id, seen.author_id).to(seen.audience))


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


async def _content(tx: Transaction, message_id: str) -> str:
    rows = await tx.fetch("select content from messages where id = $1", message_id)
    if not rows:
        raise NotFound("No such message.")
    return str(rows[0][0])


async def _will_have_images(tx: Transaction, message_id: str, edit: Draft | MessageEdit) -> bool:
    if edit.images is not UNSET:
        return bool(edit.images)
    return bool(await tx.fetch("select 1 from message_images where message_id = $1 limit 1", message_id))


def _updated(seen: SeenMessage, message: Message) -> events.Event:
    if seen.room.participants is not None:
        return events.UpdateDirectMessage.about(message, seen.room.participants).to(seen.audience)
    if seen.parent_id is not None:
        return events.UpdateThreadReply.about(message).to(seen.audience)
    return events.UpdateMessage.about(message).to(seen.audience)


async def _erased_from_conversation(tx: Transaction, seen: SeenMessage, participants: Participants) -> None:
    await tx.fetch(
        """update rooms set last_message_at = (select created_at from messages where id = (select id
          from messages where room_id = $1 and parent_id is null order by id desc limit 1)) where id = $1""",
        seen.room.id,
    )
    event = events.DeleteDirectMessage(seen.id, seen.room.id, participants, seen.author_id)
    await tx.append(event.to(participants))


async def _keep_order(tx: Transaction, seen: SeenMessage, last: str) -> None:
    """Have whatever is posted from now on stand after the newest message, though that is deleted.

    Somebody may have read up to it: what a server posts whose clock is behind would count as read (D-1).
    """
    place = "room_id = $1 and parent_id is null" if seen.parent_id is None else "parent_id = $3"
    await tx.fetch(
        f"""update rooms set last_bound = $2 where id = $1 and last_bound < $2 and
        coalesce((select id from messages where {place} order by id desc limit 1), '') <= $2""",  # noqa: S608
        *(seen.room.id, last, *([] if seen.parent_id is None else [seen.parent_id])),
    )


async def _replies_to(tx: Transaction, message_id: str) -> list[str]:
    return [id_ for (id_,) in await tx.fetch("select id from messages where parent_id = $1", message_id)]
