"""Conversations of two users and their direct messages (decision D-29).

Two users have at most one conversation, stored under their ids in order. Only these two participants can read
it and get its events. `last_message_at` is the time of the newest message that still exists.
"""

from __future__ import annotations

from msgspec import UNSET, Struct
from msgspec.structs import replace

from teamchat import events
from teamchat.chat import permissions, records, sight
from teamchat.chat.changes import accepted_edit, amend, erase
from teamchat.chat.drafts import Draft, MessageEdit, Stored
from teamchat.chat.filters import Filters
from teamchat.chat.pages import MessagePage, page_of_room
from teamchat.chat.posting import Submission, post
from teamchat.chat.rooms_table import insert_direct, pair_key
from teamchat.chat.rules import Rules
from teamchat.chat.sight import Participants, Room
from teamchat.errors import BadRequest, NotFound
from teamchat.interfaces import Row, Storage, Transaction
from teamchat.model import Caller, Conversation, Message, UserName, now_ms
from teamchat.model.ids import could_be_id, new_conversation_id
from teamchat.model.pages import Page
from teamchat.storage.supposing import supposing

_OF_USER = """select r.id, r.last_message_at, other.id, other.user_name
from memberships mine
join rooms r on r.id = mine.room_id and r.kind = 'direct'
join memberships theirs on theirs.room_id = r.id and theirs.user_id <> mine.user_id
join users other on other.id = theirs.user_id
where mine.user_id = $1
"""


class Opened(Struct, frozen=True, rename="camel"):
    """The answer to opening a conversation: the conversation, and whether it is a new one."""

    conversation: Conversation
    is_new: bool


class Conversations:
    """The conversations of a user."""

    def __init__(self, storage: Storage, rules: Rules, filters: Filters) -> None:
        self._storage = storage
        self._rules = rules
        self._filters = filters

    async def open(self, caller: Caller, target_user_id: str) -> Opened:
        """Return the conversation with another user, a new one if there is none yet.

        One that exists is found even if the other user was removed since (decision D-22). Raises
        `BadRequest` for oneself and `NotFound` for a user who is unknown.
        """
        if target_user_id == caller.user.id:
            raise BadRequest("A conversation needs another user.")
        if not could_be_id(target_user_id):
            raise NotFound("No such user.")
        async with self._storage.write() as tx:
            key = pair_key(caller.user.id, target_user_id)
            existing = await tx.fetch(_OF_USER + "and r.pair_key = $2", caller.user.id, key)
            if existing:
                return Opened(
                    replace(_conversation(caller, existing[0]), last_message_at=UNSET), is_new=False
                )
            return await self._open(tx, caller, target_user_id)

    async def _open(self, tx: Transaction, caller: Caller, target_user_id: str) -> Opened:
        name = await records.user_name(tx, target_user_id)
        if name is None:
            raise NotFound("No such user.")
        id_, participants, now = (
            new_conversation_id(),
            _participants(caller.user.id, target_user_id),
            now_ms(),
        )
        await insert_direct(tx, id_, participants, now)
        await tx.append(events.NewConversation(id_, participants, now).to(participants))
        await self._rules.capabilities.in_transaction.room_made(tx, await sight.made(tx, id_))
        return Opened(Conversation(id_, participants, UserName(target_user_id, name)), is_new=True)

    async def page(self, caller: Caller, conversation_id: str, page: Page) -> MessagePage:
        """Return a page of a conversation's messages."""
        logged = await self._storage.position()
        async with self._storage.read() as tx:
            await sight.conversation(tx, caller, conversation_id)
            found = await page_of_room(tx, conversation_id, page, logged)
            fields = self._rules.capabilities.message_fields
            return found._replace(messages=await fields.added(tx, found.messages, caller))

    async def check_post(self, caller: Caller, conversation_id: str) -> Room:
        """Raise `NotFound` for no conversation, `Forbidden` to an outsider."""
        async with self._storage.read() as tx:
            return await sight.conversation(tx, caller, conversation_id)

    async def post(
        self, caller: Caller, conversation_id: str, draft: Draft, key: str | None = None
    ) -> Message:
        """Do what `submit` does, and return the message alone."""
        return (await self.submit(caller, conversation_id, draft, key)).message

    async def submit(
        self, caller: Caller, conversation_id: str, draft: Draft, key: str | None = None
    ) -> Stored:
        """Send a direct message; `key` is the Idempotency-Key (decision D-07b)."""
        kept = await self._filters.passed(
            draft,
            lambda: self.check_post(caller, conversation_id),
            author_id=caller.user.id,
            room_id=conversation_id,
        )
        submission = Submission(
            caller.user.id, draft, kept, key, f"conversation {conversation_id}", caller=caller
        )

        async def body(tx: Transaction) -> Stored:
            room = await sight.conversation(tx, caller, conversation_id)
            return await post(tx, room, submission, self._rules)

        return await supposing(self._storage, body)

    async def check_edit(self, caller: Caller, conversation_id: str, message_id: str) -> Room:
        """Raise `NotFound` for no such message in the conversation, `Forbidden` for one of the other user."""
        async with self._storage.read() as tx:
            seen = await sight.direct_message(tx, caller, conversation_id, message_id)
        permissions.check_may_edit(caller, seen)
        return seen.room

    async def edit(
        self, caller: Caller, conversation_id: str, message_id: str, edit: Draft | MessageEdit
    ) -> Message:
        """Do what `revise` does, and return the message alone."""
        return (await self.revise(caller, conversation_id, message_id, edit)).message

    async def revise(
        self, caller: Caller, conversation_id: str, message_id: str, edit: Draft | MessageEdit
    ) -> Stored:
        """Edit a direct message of the caller's own and return it whole."""
        revision = await accepted_edit(
            self._storage,
            self._filters,
            edit,
            lambda: self.check_edit(caller, conversation_id, message_id),
            author_id=caller.user.id,
            message_id=message_id,
        )
        async with self._storage.write() as tx:
            seen = await sight.direct_message(tx, caller, conversation_id, message_id)
            permissions.check_may_edit(caller, seen)
            return await amend(tx, caller, seen, revision, self._rules)

    async def delete(self, caller: Caller, conversation_id: str, message_id: str) -> None:
        """Delete a direct message of the caller's own."""
        async with self._storage.write() as tx:
            seen = await sight.direct_message(tx, caller, conversation_id, message_id)
            permissions.check_may_delete(caller, seen)
            await erase(tx, seen, self._rules.capabilities)

    # Last, for in a class the name hides the type of lists from what follows it.
    async def list(self, caller: Caller) -> list[Conversation]:
        """Return the caller's conversations, the one with the latest activity first."""
        latest_first = "order by coalesce(r.last_message_at, r.created_at) desc, r.id desc"
        async with self._storage.read() as tx:
            rows = await tx.fetch(_OF_USER + latest_first, caller.user.id)
        return [_conversation(caller, row) for row in rows if caller.reaches(row[0])]


def _conversation(caller: Caller, row: Row) -> Conversation:
    id_, last_message_at, other_id, other_name = row
    other = UserName(other_id, other_name)
    return Conversation(id_, _participants(caller.user.id, other_id), other, last_message_at)


def _participants(one: str, another: str) -> Participants:
    return (one, another) if one < another else (another, one)
