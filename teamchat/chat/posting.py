"""The one way to post a message, whatever its kind and wherever it goes.

Before this, the author was let in and the room was found (`teamchat.chat.sight`). Then, in one transaction:
the content is checked against the rules; a retry finds what it made before; the message is stored with its
images; capabilities do their part; counts of replies are updated; and the event is appended for everybody who
sees it. Within a room or a thread, ids are in the order of commits, whatever a server's clock says, because
the bodies of writing transactions run one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from teamchat import events
from teamchat.accounts.idempotency import CHAT, KeyedRequest, MadeIsGone, asking, made_before, note
from teamchat.capabilities import ChangeGuard, Written
from teamchat.chat import records
from teamchat.chat.changes import count_reply
from teamchat.chat.drafts import Draft, Stored, content_of, images_of
from teamchat.chat.images_table import attach
from teamchat.chat.records import author
from teamchat.chat.rules import Rules
from teamchat.chat.sight import Room, SeenMessage
from teamchat.errors import NotFound, Unauthorized
from teamchat.interfaces import Transaction
from teamchat.model import Caller, Message, ThreadMeta, now_ms
from teamchat.model.ids import new_id_after
from teamchat.storage.supposing import likely

# One statement stores a message and returns who writes, for each costs a round trip.
_STORE = """insert into messages (id, room_id, parent_id, author_id, bot_name, content, created_at)
select $1, $2, $3, $4, $5, $6, $7 {}
returning (select user_name from users where id = $4 and removed_at is null),
  (select is_bot from users where id = $4)"""
_STORE_ANYWAY = _STORE.format("")
# The last one is looked up: whether any exists from an id on PostgreSQL asks of all of them, for it takes a
# third of a table to come after an id that it does not know when it plans.
_LAST = "select id from messages where {} order by id desc limit 1"
_STORE_MESSAGE, _STORE_REPLY = (
    _STORE.format(f"where coalesce(({_LAST.format(place)}), '') < $1")
    for place in ("room_id = $2 and parent_id is null", "parent_id = $3")
)
_LAST_MESSAGE, _LAST_REPLY = map(_LAST.format, ("room_id = $1 and parent_id is null", "parent_id = $1"))


class Submission(NamedTuple):
    """What somebody posts. `asked` is the draft as it came, `kept` what the filters left of it.

    `key` is the Idempotency-Key, and `path` says of which request: the same key on another one is refused
    (decision D-07b).  A webhook's `author_id` is ``webhook:<id>``; it has a `bot_name` and no `caller`.
    """

    author_id: str
    asked: Draft
    kept: Draft
    key: str | None
    path: str
    bot_name: str | None = None
    caller: Caller | None = None


class _Posted(NamedTuple):
    """A message, what its thread amounts to if it is a new reply, and what its author alone is answered."""

    message: Message
    meta: ThreadMeta | None = None
    beside: Mapping[str, Any] = MappingProxyType({})


async def post(tx: Transaction, room: Room, submission: Submission, rules: Rules) -> Stored:
    """Post a message that is no reply."""
    posted = await _post(tx, room, submission, rules, None)
    return Stored(posted.message, posted.beside)


async def post_reply(
    tx: Transaction, parent: SeenMessage, submission: Submission, rules: Rules
) -> tuple[Stored, ThreadMeta]:
    """Post a reply, and return it with what its thread amounts to then."""
    posted = await _post(tx, parent.room, submission, rules, parent)
    meta = posted.meta or await records.thread_meta(tx, parent.id)
    if meta is None:
        raise NotFound("This message has no thread.")
    return Stored(posted.message, posted.beside), meta


async def _post(
    tx: Transaction, room: Room, submission: Submission, rules: Rules, parent: SeenMessage | None
) -> _Posted:
    kept, drafts = submission.kept, rules.capabilities.drafts
    is_blank = not (images_of(kept) or kept.content.strip())
    may_be_blank = not is_blank or await drafts.stands_alone(tx, kept)
    content_of(kept, most=rules.most, may_be_blank=may_be_blank)
    request = _request(submission, rules)
    made = await made_before(tx, request)
    if made is not None:
        message, beside = await _still_there(tx, room, made.id), made.beside
        if submission.bot_name is not None:  # A webhook sees nothing of what others made of its message.
            return _Posted(replace(message, reactions={}, thread_meta=UNSET), None, beside)
        [message] = await rules.capabilities.message_fields.added(tx, [message])
        return _Posted(message, None, beside)
    message = await _insert(tx, room, submission, None if parent is None else parent.id)
    written = Written(message, room, submission.caller, None, submission.asked.content)
    with ChangeGuard(tx) as guard:
        await rules.capabilities.in_transaction.message_stored(guard, message, room)
        known, beside = await drafts.write(guard, kept, written)
    await note(tx, request, message.id, beside)
    message = await rules.capabilities.message_fields.of_new(tx, message, known)
    if parent is not None:
        meta = await count_reply(tx, message, parent.id)
        event = events.NewThreadReply(parent.id, room.id, message, meta, parent.author_id)
        await tx.append(event.to(parent.audience))
        return _Posted(message, meta, beside)
    if room.participants is None:
        await tx.append(events.NewMessage.about(message).to(room.audience_of(message.id)))
        return _Posted(message, None, beside)
    await tx.fetch("update rooms set last_message_at = $2 where id = $1", room.id, message.created_at)
    await tx.append(events.NewDirectMessage.about(message, room.participants).to(room.audience))
    return _Posted(message, None, beside)


def _request(submission: Submission, rules: Rules) -> KeyedRequest:
    request, asked = KeyedRequest(submission.author_id, CHAT, submission.key), submission.asked
    if submission.key is None:
        return request
    given = rules.capabilities.drafts.given(asked)
    return asking(request, [submission.path, asked.content, images_of(asked), *([given] if given else [])])


async def _still_there(tx: Transaction, room: Room, message_id: str) -> Message:
    """Return a message as it is now. Raises `MadeIsGone` if it was deleted, or its author sees it no more."""
    message = await records.message(tx, message_id)
    is_here = message is not None and message.channel_id == room.id  # and not set aside, to be removed
    if message is None or not is_here or (message.thread_id or message.id) < room.first_seen:
        raise MadeIsGone
    return message


async def _insert(tx: Transaction, room: Room, submission: Submission, parent_id: str | None) -> Message:
    """Store what was posted, with its images, and return the message as everyone sees it.

    Raises `Unauthorized` if the author was removed since they were authenticated, `BadRequest` if an image is
    not one of the room.
    """
    author_id, bot_name, draft = submission.author_id, submission.bot_name, submission.kept
    caller = submission.caller
    room_id, created_at, images = room.id, now_ms(), images_of(draft)
    columns = room_id, parent_id, author_id, bot_name, draft.content, created_at
    message_id = new_id_after(room.last_bound or None)
    stored = await likely(
        tx,
        _STORE_MESSAGE if parent_id is None else _STORE_REPLY,
        *(message_id, *columns),
        supposed=[(None, None) if caller is None else (caller.user.user_name, int(caller.is_bot))],
    )
    if not stored:  # An id of its place comes later, by another server's clock.
        [(last,)] = (
            await tx.fetch(_LAST_MESSAGE, room_id)
            if parent_id is None
            else await tx.fetch(_LAST_REPLY, parent_id)
        )
        message_id = new_id_after(max(last, room.last_bound))
        stored = await tx.fetch(_STORE_ANYWAY, message_id, *columns)
    [(name, is_bot)] = stored
    if name is None and bot_name is None:
        raise Unauthorized
    if images:
        await attach(tx, room_id, message_id, images, first_seen=room.first_seen, by=author_id)
    return Message(
        id=message_id,
        channel_id=room_id,
        author=author(author_id, name, bot_name, is_bot),
        content=draft.content,
        created_at=created_at,
        updated_at=None,
        reactions={},
        thread_id=UNSET if parent_id is None else parent_id,
        images=images or UNSET,
    )
