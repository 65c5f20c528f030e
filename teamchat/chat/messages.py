"""Messages of channels, and any message that is addressed only by its own id.

Replies and direct messages can be edited and deleted here too, by the rules of their own endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from teamchat.capabilities.fields import Fields
from teamchat.chat import channel_rows, permissions, records, sight
from teamchat.chat.changes import accepted_edit, amend, erase
from teamchat.chat.drafts import Draft, MessageEdit, Stored
from teamchat.chat.filters import Filters
from teamchat.chat.kept_pages import Encode, Encoded, KeptPage
from teamchat.chat.pages import MessagePage, page_of_room
from teamchat.chat.posting import Submission, post
from teamchat.chat.rules import Rules
from teamchat.chat.sight import Room
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Message
from teamchat.model.pages import Page
from teamchat.model.resources import RoomKind
from teamchat.storage import cache
from teamchat.storage.log import last_in
from teamchat.storage.supposing import supposing


class Place(Struct, frozen=True, rename="camel"):
    """Where a message stands; a direct conversation has no name."""

    id: str
    kind: RoomKind
    name: str | None
    is_private: bool


class Found(Struct, frozen=True, rename="camel"):
    """A message that was asked for by its id, and its place."""

    message: Message
    place: Place
    as_of: str


class Messages:
    """Reading and writing channel messages."""

    def __init__(self, storage: Storage, rules: Rules, filters: Filters) -> None:
        self._storage = storage
        self._rules = rules
        self._filters = filters
        self._pages = cache.ReadCache(storage, declared=rules.capabilities.event_types)

    async def one(self, caller: Caller, message_id: str) -> Found:
        """Return a message, where it stands, and the number of the event as of which it is so."""
        logged = await self._storage.position()
        async with self._storage.read() as tx:
            seen = await sight.message(tx, caller, message_id)
            [message] = await self._fields.added(tx, await records.messages(tx, [seen.id]), caller)
            return Found(message, await _place(tx, seen.room), str(await last_in(tx, logged)))

    async def page(self, caller: Caller, channel_id: str, page: Page) -> MessagePage:
        """Return a page of a channel's messages."""
        logged = await self._storage.position()
        async with self._storage.read() as tx:
            room = await sight.channel(tx, caller, channel_id)
            found = await page_of_room(tx, channel_id, page, logged, room.first_seen)
            return found._replace(messages=await self._fields.added(tx, found.messages, caller))

    async def encoded_page(
        self, caller: Caller, channel_id: str, page: Page, encode: Encode, as_of: int | None = None
    ) -> Encoded:
        """Return what `page` does, encoded. A newest page stays in memory until the log touches it.

        Everyone who opens a channel reads its newest page, and most channels change seldom.  Whoever asks is
        given the same bytes, of whichever `encode` came first, and in them the fields that differ by caller.
        `as_of` is where the log's end was since the caller asked, if that is known; the page is no older.
        """
        if not page.is_newest:
            return Encoded(encode(await self.page(caller, channel_id, page)))
        position = await self._pages.catch_up(as_of)
        key = (channel_id, page.limit, "")
        kept: KeptPage | None = self._pages.get(key)
        if kept is None or not kept.is_for_all or not caller.reaches(channel_id):
            async with self._storage.read() as tx:
                room = await sight.channel(tx, caller, channel_id)
                key = (channel_id, page.limit, room.first_seen)
                kept = self._pages.get(key)
                if kept is None:
                    kept = await self._newest(tx, room, page, position, encode)
                    self._keep(key, kept, position)
        if (now := kept.as_of_now(position)) is not kept:
            kept = now
            self._keep(key, kept, position)
        if self._fields.differ_by_caller:
            return await self._with_own_fields(caller, channel_id, kept)
        return kept.encoded

    def _keep(self, key: tuple[str, int, str], kept: KeptPage, position: int) -> None:
        tags = (cache.room(key[0]), cache.NAMES, cache.REACTIONS)
        self._pages.keep(key, kept, tags, position=position, size=kept.size)

    async def _newest(self, tx: Transaction, room: Room, page: Page, logged: int, encode: Encode) -> KeptPage:
        """Read a newest page with the fields that are the same for everybody."""
        found = await page_of_room(tx, room.id, page, logged, room.first_seen)
        found = found._replace(messages=await self._fields.added(tx, found.messages))
        is_for_all = not room.is_private and not room.public_from
        has_places = self._fields.differ_by_caller
        return KeptPage.of(found, encode, is_for_all=is_for_all, has_places=has_places)

    async def _with_own_fields(self, caller: Caller, channel_id: str, kept: KeptPage) -> Encoded:
        """Return a kept page as one caller reads it, who is asked for again: the page may be private."""
        async with self._storage.read() as tx:
            await sight.channel(tx, caller, channel_id)
            return kept.with_fields(await self._fields.own(tx, kept.ids, caller))

    @property
    def _fields(self) -> Fields:
        return self._rules.capabilities.message_fields

    async def seen(self, tx: Transaction, caller: Caller, message_ids: Sequence[str]) -> list[Message]:
        """Return whole messages in the order of the ids, without those that the caller does not see."""
        seen = await sight.messages(tx, caller, message_ids)
        found = await records.messages(tx, [one for one in message_ids if one in seen])
        return await self._fields.added(tx, found, caller)

    async def shown_in(
        self, tx: Transaction, shown: Mapping[str, str], without: type[Struct]
    ) -> Mapping[str, Message]:
        """Return the messages that others show, by the ids of these others, if who sees these sees them."""
        together = await sight.seen_together(tx, list(shown.items()))
        found = await records.messages(tx, sorted({shown[one] for one in together}))
        by_id = {one.id: one for one in await self._fields.for_all(tx, found, without)}
        return {one: by_id[shown[one]] for one in together}

    async def check_post(self, caller: Caller, channel_id: str) -> Room:
        """Raise `NotFound` for no channel, `Forbidden` for one in which the caller may not post."""
        async with self._storage.read() as tx:
            room = await sight.channel(tx, caller, channel_id)
        permissions.check_may_post(caller, room)
        return room

    async def post(self, caller: Caller, channel_id: str, draft: Draft, key: str | None = None) -> Message:
        """Do what `submit` does, and return the message alone."""
        return (await self.submit(caller, channel_id, draft, key)).message

    async def submit(self, caller: Caller, channel_id: str, draft: Draft, key: str | None = None) -> Stored:
        """Post a message in a channel; `key` is the Idempotency-Key (decision D-07b)."""
        kept = await self._filters.passed(
            draft, lambda: self.check_post(caller, channel_id), author_id=caller.user.id, room_id=channel_id
        )
        submission = Submission(caller.user.id, draft, kept, key, f"channel {channel_id}", caller=caller)

        async def body(tx: Transaction) -> Stored:
            room = await sight.channel(tx, caller, channel_id)
            permissions.check_may_post(caller, room)
            return await post(tx, room, submission, self._rules)

        return await supposing(self._storage, body)

    async def check_edit(self, caller: Caller, message_id: str) -> Room:
        """Raise `NotFound` for no message the caller sees, `Forbidden` for one they did not write."""
        async with self._storage.read() as tx:
            seen = await sight.message(tx, caller, message_id)
        permissions.check_may_edit(caller, seen)
        return seen.said_in

    async def edit(self, caller: Caller, message_id: str, edit: Draft | MessageEdit) -> Message:
        """Do what `revise` does, and return the message alone."""
        return (await self.revise(caller, message_id, edit)).message

    async def revise(self, caller: Caller, message_id: str, edit: Draft | MessageEdit) -> Stored:
        """Edit a message of the caller's own and return it whole."""
        revision = await accepted_edit(
            self._storage,
            self._filters,
            edit,
            lambda: self.check_edit(caller, message_id),
            author_id=caller.user.id,
            message_id=message_id,
        )
        async with self._storage.write() as tx:
            seen = await sight.message(tx, caller, message_id)
            permissions.check_may_edit(caller, seen)
            return await amend(tx, caller, seen, revision, self._rules)

    async def delete(self, caller: Caller, message_id: str) -> None:
        """Delete a message with its thread, reactions and images."""
        async with self._storage.write() as tx:
            seen = await sight.message(tx, caller, message_id)
            permissions.check_may_delete(caller, seen)
            await erase(tx, seen, self._rules.capabilities)


async def _place(tx: Transaction, room: Room) -> Place:
    name = None if room.participants else (await channel_rows.channel(tx, room.id)).name
    return Place(room.id, room.kind, name, room.is_private)
