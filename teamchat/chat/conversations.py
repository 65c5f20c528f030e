"""Conversations of two users and their direct messages (decision D-29).

What must stay true: two users have one conversation at most, kept under their ids in order.  Only the two
participants read it and hear of it.  `last_message_at` is the time of the newest message that is there.
"""

from __future__ import annotations

from msgspec import UNSET, Struct

from teamchat import events
from teamchat.chat import records
from teamchat.chat.access import (
    check_may_delete,
    check_may_edit,
    find_conversation,
    find_direct,
)
from teamchat.chat.changes import accepted_edit, amend, erase
from teamchat.chat.drafts import Draft, MessageEdit, content_of, images_of
from teamchat.chat.filters import Filters
from teamchat.chat.idempotency import keyed, recollect, remember
from teamchat.chat.messages_table import insert_message
from teamchat.errors import BadRequest, NotFound
from teamchat.ids import could_be_id, new_conversation_id
from teamchat.interfaces import Row, Storage, Transaction
from teamchat.model import Caller, Conversation, Message, UserName, now_ms

_OF_USER = """select c.id, c.first_user, c.second_user, c.last_message_at, other.id, other.user_name
from conversations c
join users other on other.id = case when c.first_user = $1 then c.second_user else c.first_user end
"""


class Opened(Struct, frozen=True, rename="camel"):
    """The answer to opening a conversation: the conversation, and whether it is a new one."""

    conversation: Conversation
    is_new: bool


class Conversations:
    """The conversations of a user."""

    def __init__(self, storage: Storage, max_length: int, filters: Filters) -> None:
        self._storage = storage
        self._max_length = max_length
        self._filters = filters

    async def open(self, caller: Caller, target_user_id: str) -> Opened:
        """Return the conversation with another user, a new one if there is none yet.

        One that exists is found even if the other user was removed since (decision D-22). Raises
        `BadRequest` for oneself and `NotFound` for a user who is unknown.
        """
        if target_user_id == caller.user.id:
            raise BadRequest("A conversation needs another user.")
        first, second = sorted((caller.user.id, target_user_id))
        async with self._storage.write() as tx:
            existing = could_be_id(target_user_id) and await tx.fetch(
                _OF_USER + "where c.first_user = $2 and c.second_user = $3",
                caller.user.id,
                first,
                second,
            )
            if existing:
                return Opened(_opened(existing[0]), is_new=False)
            return await _open(tx, target_user_id, first, second)

    async def page(
        self, caller: Caller, conversation_id: str, limit: int, before: str | None
    ) -> list[Message]:
        """Return the newest `limit` messages older than `before`, oldest first (decision D-08)."""
        async with self._storage.read() as tx:
            await find_conversation(tx, caller, conversation_id)
            return await records.page_of_place(tx, conversation_id, limit, before)

    async def check_post(self, caller: Caller, conversation_id: str) -> None:
        """Raise `NotFound` for no conversation, `Forbidden` to an outsider."""
        async with self._storage.read() as tx:
            await find_conversation(tx, caller, conversation_id)

    async def post(
        self, caller: Caller, conversation_id: str, draft: Draft, key: str | None = None
    ) -> Message:
        """Send a direct message; `key` is the Idempotency-Key (decision D-07b)."""
        kept = await self._filters.passed(
            draft,
            lambda: self.check_post(caller, conversation_id),
            author_id=caller.user.id,
            place_id=conversation_id,
        )
        async with self._storage.write() as tx:
            participants = await find_conversation(tx, caller, conversation_id)
            content_of(kept, most=self._max_length, has_images=bool(images_of(kept)))
            request = keyed(caller.user.id, key, f"conversation {conversation_id}", draft)
            message = await recollect(tx, request)
            if message is None:
                message = await insert_message(
                    tx, place_id=conversation_id, author_id=caller.user.id, bot_name=None, draft=kept
                )
                await tx.fetch(
                    "update conversations set last_message_at = $2 where id = $1",
                    conversation_id,
                    message.created_at,
                )
                await remember(tx, request, message)
                await tx.append(events.NewDirectMessage.about(message, participants).to(participants))
        return message

    async def check_edit(self, caller: Caller, conversation_id: str, message_id: str) -> None:
        """Raise `NotFound` for no such message in the conversation, `Forbidden` for one of the other user."""
        async with self._storage.read() as tx:
            check_may_edit(caller, await find_direct(tx, caller, conversation_id, message_id))

    async def edit(
        self, caller: Caller, conversation_id: str, message_id: str, edit: Draft | MessageEdit
    ) -> Message:
        """Edit a direct message of the caller's own and return it whole."""
        kept = await accepted_edit(
            self._storage,
            self._filters,
            edit,
            lambda: self.check_edit(caller, conversation_id, message_id),
            author_id=caller.user.id,
            message_id=message_id,
        )
        async with self._storage.write() as tx:
            found = await find_direct(tx, caller, conversation_id, message_id)
            check_may_edit(caller, found)
            return await amend(tx, found, kept, self._max_length)

    async def delete(self, caller: Caller, conversation_id: str, message_id: str) -> None:
        """Delete a direct message of the caller's own."""
        async with self._storage.write() as tx:
            found = await find_direct(tx, caller, conversation_id, message_id)
            check_may_delete(caller, found)
            await erase(tx, found)

    # Last, for in a class the name hides the type of lists from what follows it.
    async def list(self, caller: Caller) -> list[Conversation]:
        """Return the caller's conversations, the one with the latest activity first."""
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                _OF_USER
                + """where c.first_user = $1 or c.second_user = $1
                order by coalesce(c.last_message_at, c.created_at) desc, c.id desc""",
                caller.user.id,
            )
        return [_conversation(row) for row in rows]


async def _open(tx: Transaction, target_user_id: str, first: str, second: str) -> Opened:
    name = await records.user_name(tx, target_user_id)
    if name is None:
        raise NotFound("No such user.")
    created_at = now_ms()
    # Where several writers run at once, the other user may have opened it since we looked.
    rows = await tx.fetch(
        """insert into conversations (id, first_user, second_user, created_at) values ($1, $2, $3, $4)
        on conflict do nothing returning id""",
        new_conversation_id(),
        first,
        second,
        created_at,
    )
    is_new = bool(rows)
    if is_new:
        event = events.NewConversation(rows[0][0], (first, second), created_at)
        await tx.append(event.to((first, second)))
    else:
        rows = await tx.fetch(
            "select id from conversations where first_user = $1 and second_user = $2", first, second
        )
    other = UserName(target_user_id, name)
    return Opened(Conversation(rows[0][0], (first, second), other), is_new=is_new)


def _conversation(row: Row) -> Conversation:
    id_, first, second, last_message_at, other_id, other_name = row
    return Conversation(id_, (first, second), UserName(other_id, other_name), last_message_at)


def _opened(row: Row) -> Conversation:
    id_, first, second, _, other_id, other_name = row
    return Conversation(id_, (first, second), UserName(other_id, other_name), UNSET)
