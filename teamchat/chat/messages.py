"""Messages of channels, and whatever message is addressed by its own id alone.

Replies and direct messages may be edited and deleted here too; they follow the rules of their own routes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from teamchat import recall
from teamchat.chat import records, sight
from teamchat.chat.changes import accepted_edit, amend, erase
from teamchat.chat.drafts import Draft, MessageEdit
from teamchat.chat.filters import Filters
from teamchat.chat.posting import Submission, post
from teamchat.chat.rules import Rules
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Message


class _KeptPage(NamedTuple):
    """An encoded page; of a private room, only who sees that is given it."""

    encoded: bytes
    is_private: bool


class Messages:
    """Reading and writing channel messages."""

    def __init__(self, storage: Storage, rules: Rules, filters: Filters) -> None:
        self._storage = storage
        self._rules = rules
        self._filters = filters
        self._pages = recall.Recall(storage, declared=rules.capabilities.event_types)

    async def page(
        self,
        caller: Caller,
        channel_id: str,
        limit: int,
        before: str | None,
    ) -> list[Message]:
        """Return the newest `limit` messages older than `before`, oldest first (decision D-08)."""
        return (await self._read(caller, channel_id, limit, before))[1]

    async def encoded_page(
        self,
        caller: Caller,
        channel_id: str,
        limit: int,
        before: str | None,
        encode: Callable[[list[Message]], bytes],
    ) -> bytes:
        """Return what `page` does, encoded. A newest page stays in memory until the log touches it.

        Everyone who opens a channel reads its newest page, and most channels change seldom.  Whoever asks is
        given the same bytes, of whichever `encode` came first.
        """
        if before is not None or self._rules.capabilities.message_fields.differ_by_caller:
            return encode(await self.page(caller, channel_id, limit, before))
        position = await self._pages.catch_up()
        key = (channel_id, limit)
        kept: _KeptPage | None = self._pages.get(key)
        if kept is None:
            room, messages = await self._read(caller, channel_id, limit, None)
            kept = _KeptPage(encode(messages), room.is_private)
            tags = (recall.room(channel_id), recall.NAMES, recall.REACTIONS)
            self._pages.keep(key, kept, tags, position=position, size=len(kept.encoded) + 500)
        elif kept.is_private:
            await self.check_post(caller, channel_id)
        return kept.encoded

    async def _read(
        self, caller: Caller, channel_id: str, limit: int, before: str | None
    ) -> tuple[sight.Room, list[Message]]:
        async with self._storage.read() as tx:
            room = await sight.channel(tx, caller, channel_id)
            page = await records.page_of_room(tx, channel_id, limit, before)
            return room, await self._rules.capabilities.message_fields.added(tx, page, caller)

    async def seen(self, tx: Transaction, caller: Caller, message_ids: Sequence[str]) -> list[Message]:
        """Return whole messages in the order of the ids, without those that the caller does not see."""
        seen = await sight.messages(tx, caller, message_ids)
        found = await records.messages(tx, [one for one in message_ids if one in seen])
        return await self._rules.capabilities.message_fields.added(tx, found, caller)

    async def check_post(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` for no channel."""
        async with self._storage.read() as tx:
            await sight.channel(tx, caller, channel_id)

    async def post(self, caller: Caller, channel_id: str, draft: Draft, key: str | None = None) -> Message:
        """Post a message in a channel; `key` is the Idempotency-Key (decision D-07b)."""
        kept = await self._filters.passed(
            draft, lambda: self.check_post(caller, channel_id), author_id=caller.user.id, room_id=channel_id
        )
        submission = Submission(caller.user.id, draft, kept, key, f"channel {channel_id}")
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            return await post(tx, room, submission, self._rules)

    async def check_edit(self, caller: Caller, message_id: str) -> None:
        """Raise `NotFound` for no message the caller sees, `Forbidden` for one they did not write."""
        async with self._storage.read() as tx:
            sight.check_may_edit(caller, await sight.message(tx, caller, message_id))

    async def edit(self, caller: Caller, message_id: str, edit: Draft | MessageEdit) -> Message:
        """Edit a message of the caller's own and return it whole."""
        kept = await accepted_edit(
            self._storage,
            self._filters,
            edit,
            lambda: self.check_edit(caller, message_id),
            author_id=caller.user.id,
            message_id=message_id,
        )
        async with self._storage.write() as tx:
            seen = await sight.message(tx, caller, message_id)
            sight.check_may_edit(caller, seen)
            return await amend(tx, seen, kept, self._rules)

    async def delete(self, caller: Caller, message_id: str) -> None:
        """Delete a message with its thread, reactions and images."""
        async with self._storage.write() as tx:
            seen = await sight.message(tx, caller, message_id)
            sight.check_may_delete(caller, seen)
            await erase(tx, seen, self._rules.capabilities)
