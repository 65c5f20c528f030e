"""Saving, reading and deleting one's drafts (extension H-8).

A draft is seen where its place is, and its thread.  One that is not seen is answered as a draft that was
deleted, and comes back with its place; limits do not count it (extension rule X-3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from teamchat import BadRequest, Gone, NotFound, PreconditionFailed, Transaction
from teamchat.model import Caller, now_ms, text
from teamchat.storage.log import last_in
from teamchat.web import Condition
from teamchat_drafts.events import DraftChanged
from teamchat_drafts.sending import checked_id
from teamchat_drafts.stored import COLUMNS, Draft, Entities, Files, Row, bury, encoded, row_of, store

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST_DRAFTS = 500
"""How many drafts a user has at most, of those that they see."""
_ALL = f"""select {COLUMNS} from drafts where user_id = $1 and deleted_at is null and room_id <> ''
order by updated_at desc, id desc"""  # noqa: S608
_ANOTHER = "There is another version of this draft."


class DraftBody(Struct, frozen=True, rename="camel"):
    """The whole of a draft. What is null or left out is not in it."""

    place_id: str
    content: str
    thread_id: str | UnsetType | None = UNSET
    entities: Entities | UnsetType = UNSET
    files: Files | UnsetType = UNSET
    quoted_message_id: str | UnsetType | None = UNSET


class Drafts:
    """The drafts of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def all(self, caller: Caller) -> tuple[list[Draft], int]:
        """Return the caller's drafts, last changed first, and the position in the log they are as of."""
        logged = await self._app.storage.position()
        async with self._app.storage.read() as tx:
            rows = [Row(*row) for row in await tx.fetch(_ALL, caller.user.id)]
            return await self._seen(tx, caller, rows), await last_in(tx, logged)

    async def one(self, caller: Caller, draft_id: str) -> Draft:
        """Return a draft. Raises `NotFound` if there is none that the caller sees."""
        async with self._app.storage.read() as tx:
            row = await row_of(tx, caller.user.id, draft_id.lower())
            seen = await self._seen(tx, caller, [row]) if row is not None else []
            if not seen:
                raise NotFound("No such draft.")
            return seen[0]

    async def save(
        self, caller: Caller, draft_id: str, body: DraftBody, condition: Condition | None
    ) -> Draft:
        """Put `body` in the place of what a draft was, if that is the version which the caller knows.

        Raises `NotFound` for a place or thread that the caller does not see, `Gone` for a draft that was
        deleted or sent, and `PreconditionFailed` for another version.
        """
        draft_id = checked_id(draft_id)
        if condition is None:
            raise BadRequest('If-Match: "<version>" or If-None-Match: * is missing.')
        most = self._app.settings.chat.max_message_length
        content = text.content(body.content, most=most, may_be_blank=True)
        async with self._app.storage.write() as tx:
            row = await row_of(tx, caller.user.id, draft_id)
            if row is not None and not await self._seen(tx, caller, [row]):
                raise Gone("This draft was deleted or sent.")
            if not condition.holds(None if row is None else row.version):
                raise PreconditionFailed(_ANOTHER)
            quoted_room = await self._check_place(tx, caller, body)
            if row is None:
                await self._check_count(tx, caller)
            saved = Row(
                draft_id,
                body.place_id,
                body.thread_id or None,
                body.quoted_message_id or None,
                quoted_room,
                content,
                encoded(body.entities),
                encoded(body.files),
                1 if row is None else row.version + 1,
                now_ms(),
                None,
            )
            await store(tx, caller.user.id, saved)
            await tx.append(DraftChanged(draft_id, saved.version, deleted=False).to((caller.user.id,)))
        return saved.draft()

    async def delete(self, caller: Caller, draft_id: str, condition: Condition | None) -> None:
        """Delete a draft, so that it does not come back; one that was never saved neither.

        Raises `PreconditionFailed` if a condition is given and there is another version.
        """
        draft_id = checked_id(draft_id)
        async with self._app.storage.write() as tx:
            row = await row_of(tx, caller.user.id, draft_id)
            is_other = row is not None and condition is not None and not condition.holds(row.version)
            if row is not None and is_other and await self._seen(tx, caller, [row]):
                raise PreconditionFailed(_ANOTHER)
            if row is not None and caller.places is not None and not await self._seen(tx, caller, [row]):
                return  # of a place that a token does not reach
            await bury(tx, caller.user.id, draft_id, row)

    async def _check_place(self, tx: Transaction, caller: Caller, body: DraftBody) -> str | None:
        room = await self._app.room(tx, caller, body.place_id)
        if body.thread_id:
            parent = await self._app.message(tx, caller, body.thread_id)
            if parent.room.id != room.id or parent.parent_id is not None:
                raise NotFound("No such message.")
        if not body.quoted_message_id:
            return None
        said = await self._app.corpus.seen(tx, caller, [body.quoted_message_id])
        if not said:
            raise BadRequest("quotedMessageId is not the id of a message.")
        return said[body.quoted_message_id].room_id

    async def _check_count(self, tx: Transaction, caller: Caller) -> None:
        rows = [Row(*row) for row in await tx.fetch(_ALL, caller.user.id)]
        if len(rows) >= MOST_DRAFTS and len(await self._seen(tx, caller, rows)) >= MOST_DRAFTS:
            raise BadRequest(f"There are {MOST_DRAFTS} drafts already; send or delete one first.")

    async def _seen(self, tx: Transaction, caller: Caller, rows: Sequence[Row]) -> list[Draft]:
        """Return those drafts whose place and thread the caller sees, with nothing that they don't see."""
        there = [row for row in rows if not row.is_tombstone]
        places = await self._app.corpus.places(tx, caller, sorted({row.room_id for row in there}))
        named = {one for row in there for one in (row.thread_id, row.quoted_id) if one}
        messages = await self._app.corpus.seen(tx, caller, sorted(named))
        return [
            (row if row.quoted_id in messages else row._replace(quoted_id=None)).draft()
            for row in there
            if row.room_id in places and (row.thread_id is None or row.thread_id in messages)
        ]
