"""Threads: the replies to a message of a channel, and the figures that its parent carries (decision D-28).

A reply can't have replies, and a direct message has no thread; the thread of either is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from teamchat.chat import permissions, sight
from teamchat.chat.changes import accepted_edit, amend, erase
from teamchat.chat.drafts import Draft, MessageEdit, Stored
from teamchat.chat.filters import Filters
from teamchat.chat.pages import MessagePage, page_of_thread
from teamchat.chat.posting import Submission, post_reply
from teamchat.chat.rules import Rules
from teamchat.chat.sight import Room
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Message, ThreadMeta
from teamchat.model.pages import Page
from teamchat.storage.supposing import supposing


class Replied(Struct, frozen=True, rename="camel"):
    """The answer to a reply: the reply, what its thread amounts to now, and what is for its author alone."""

    reply: Message
    thread_meta: ThreadMeta
    beside: Mapping[str, Any] = field(default_factory=dict)


class Threads:
    """Reading and writing replies."""

    def __init__(self, storage: Storage, rules: Rules, filters: Filters) -> None:
        self._storage = storage
        self._rules = rules
        self._filters = filters

    async def page(self, caller: Caller, parent_id: str, page: Page) -> MessagePage:
        """Return a page of the replies to a message."""
        logged = await self._storage.position()
        async with self._storage.read() as tx:
            await sight.message(tx, caller, parent_id)
            found = await page_of_thread(tx, parent_id, page, logged)
            fields = self._rules.capabilities.message_fields
            return found._replace(messages=await fields.added(tx, found.messages, caller))

    async def check_reply(self, caller: Caller, parent_id: str) -> Room:
        """Raise `NotFound` for no message the caller sees, `Forbidden` in an archived channel."""
        async with self._storage.read() as tx:
            parent = await sight.message(tx, caller, parent_id)
        permissions.check_open(parent.room)
        return parent.said_in

    async def reply(self, caller: Caller, parent_id: str, draft: Draft, key: str | None = None) -> Replied:
        """Reply to a message of a channel. Raises `BadRequest` if that can't have a thread."""
        kept = await self._filters.passed(
            draft,
            lambda: self.check_reply(caller, parent_id),
            author_id=caller.user.id,
            parent_id=parent_id,
        )
        submission = Submission(caller.user.id, draft, kept, key, f"thread {parent_id}", caller=caller)

        async def body(tx: Transaction) -> Replied:
            parent = await sight.message(tx, caller, parent_id)
            permissions.check_can_have_thread(parent)
            permissions.check_open(parent.room)
            (reply, beside), meta = await post_reply(tx, parent, submission, self._rules)
            return Replied(reply, meta, beside)

        return await supposing(self._storage, body)

    async def check_edit(self, caller: Caller, parent_id: str, reply_id: str) -> Room:
        """Raise `NotFound` for no such reply in the thread, `Forbidden` for one of somebody else."""
        async with self._storage.read() as tx:
            seen = await sight.reply(tx, caller, parent_id, reply_id)
        permissions.check_may_edit(caller, seen)
        return seen.said_in

    async def edit(self, caller: Caller, parent_id: str, reply_id: str, edit: Draft | MessageEdit) -> Message:
        """Do what `revise` does, and return the reply alone."""
        return (await self.revise(caller, parent_id, reply_id, edit)).message

    async def revise(
        self, caller: Caller, parent_id: str, reply_id: str, edit: Draft | MessageEdit
    ) -> Stored:
        """Edit a reply of the caller's own and return it whole."""
        revision = await accepted_edit(
            self._storage,
            self._filters,
            edit,
            lambda: self.check_edit(caller, parent_id, reply_id),
            author_id=caller.user.id,
            message_id=reply_id,
        )
        async with self._storage.write() as tx:
            seen = await sight.reply(tx, caller, parent_id, reply_id)
            permissions.check_may_edit(caller, seen)
            return await amend(tx, caller, seen, revision, self._rules)

    async def delete(self, caller: Caller, parent_id: str, reply_id: str) -> None:
        """Delete a reply; its parent's figures are made anew."""
        async with self._storage.write() as tx:
            seen = await sight.reply(tx, caller, parent_id, reply_id)
            permissions.check_may_delete(caller, seen)
            await erase(tx, seen, self._rules.capabilities)
