"""Threads: the replies under a message of a channel, and the figures its parent carries (decision D-28).

A reply can't have replies, and a direct message has no thread; reading the thread of either gives none.
"""

from __future__ import annotations

from msgspec import Struct

from teamchat.chat import records, sight
from teamchat.chat.changes import accepted_edit, amend, erase
from teamchat.chat.drafts import Draft, MessageEdit
from teamchat.chat.filters import Filters
from teamchat.chat.posting import Submission, post_reply
from teamchat.chat.rules import Rules
from teamchat.interfaces import Storage
from teamchat.model import Caller, Message, ThreadMeta


class Replied(Struct, frozen=True, rename="camel"):
    """The answer to a reply: the reply, and what its thread amounts to now."""

    reply: Message
    thread_meta: ThreadMeta


class Threads:
    """Reading and writing replies."""

    def __init__(self, storage: Storage, rules: Rules, filters: Filters) -> None:
        self._storage = storage
        self._rules = rules
        self._filters = filters

    async def page(self, caller: Caller, parent_id: str, limit: int, before: str | None) -> list[Message]:
        """Return the newest `limit` replies older than `before`, oldest first (decision D-08)."""
        async with self._storage.read() as tx:
            await sight.message(tx, caller, parent_id)
            page = await records.page_of_thread(tx, parent_id, limit, before)
            return await self._rules.capabilities.message_fields.added(tx, page, caller)

    async def check_reply(self, caller: Caller, parent_id: str) -> None:
        """Raise `NotFound` for no message the caller sees."""
        async with self._storage.read() as tx:
            await sight.message(tx, caller, parent_id)

    async def reply(self, caller: Caller, parent_id: str, draft: Draft, key: str | None = None) -> Replied:
        """Reply to a message of a channel. Raises `BadRequest` if that can't have a thread."""
        kept = await self._filters.passed(
            draft,
            lambda: self.check_reply(caller, parent_id),
            author_id=caller.user.id,
            parent_id=parent_id,
        )
        submission = Submission(caller.user.id, draft, kept, key, f"thread {parent_id}")
        async with self._storage.write() as tx:
            parent = await sight.message(tx, caller, parent_id)
            sight.check_can_have_thread(parent)
            return Replied(*await post_reply(tx, parent, submission, self._rules))

    async def check_edit(self, caller: Caller, parent_id: str, reply_id: str) -> None:
        """Raise `NotFound` for no such reply in the thread, `Forbidden` for one of somebody else."""
        async with self._storage.read() as tx:
            sight.check_may_edit(caller, await sight.reply(tx, caller, parent_id, reply_id))

    async def edit(self, caller: Caller, parent_id: str, reply_id: str, edit: Draft | MessageEdit) -> Message:
        """Edit a reply of the caller's own and return it whole."""
        kept = await accepted_edit(
            self._storage,
            self._filters,
            edit,
            lambda: self.check_edit(caller, parent_id, reply_id),
            author_id=caller.user.id,
            message_id=reply_id,
        )
        async with self._storage.write() as tx:
            seen = await sight.reply(tx, caller, parent_id, reply_id)
            sight.check_may_edit(caller, seen)
            return await amend(tx, seen, kept, self._rules)

    async def delete(self, caller: Caller, parent_id: str, reply_id: str) -> None:
        """Delete a reply; its parent's figures are made anew."""
        async with self._storage.write() as tx:
            seen = await sight.reply(tx, caller, parent_id, reply_id)
            sight.check_may_delete(caller, seen)
            await erase(tx, seen, self._rules.capabilities)
