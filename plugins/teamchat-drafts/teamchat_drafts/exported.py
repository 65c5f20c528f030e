"""Drafts in ``teamchat export`` and ``teamchat import``: a record a draft, by its user and its id."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from teamchat import ExportPart, Imported, Problem, Transaction
from teamchat.model import text
from teamchat_drafts.sending import checked_id
from teamchat_drafts.stored import Entity, Row, encoded, row_of, store

_PAGE = 500
_Time = Annotated[int, Meta(ge=0, lt=2**48)]
_AFTER = """select d.user_id, d.id, d.room_id, d.content, d.version, d.updated_at, d.thread_id, d.quoted_id,
d.quoted_room, d.entities from drafts d
where d.deleted_at is null and d.room_id <> '' and (d.user_id, d.id) > ($1, $2)
order by d.user_id, d.id limit $3"""
_decode = msgspec.json.Decoder(list[Entity]).decode


class PortableDraft(Struct, frozen=True, rename="camel"):
    """A draft: whose it is, where it stands, what it says and quotes, and when it was changed last.

    Files that nobody has seen are in no export, and neither are they here.
    """

    user_id: str
    id: str
    place_id: str
    content: str
    version: Annotated[int, Meta(ge=1, lt=2**48)]
    updated_at: _Time
    thread_id: str | None = None
    quoted_message_id: str | None = None
    quoted_place_id: str | None = None
    entities: Annotated[Sequence[Entity], Meta(max_length=100)] = ()


class DraftsExported(ExportPart):
    """The drafts of an installation; of those that are gone there is nothing."""

    record = PortableDraft

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableDraft], None]:
        """Yield the drafts in the order of their users."""
        user_id, id_ = "", ""
        while rows := await tx.fetch(_AFTER, user_id, id_, _PAGE):
            yield [_portable(row) for row in rows]
            user_id, id_ = rows[-1][:2]

    async def take(self, tx: Transaction, records: Sequence[PortableDraft], imported: Imported) -> None:
        """Bring in drafts that were never here; what was deleted or sent here does not come back."""
        for record in records:
            await self._take(tx, record, imported)

    async def _take(self, tx: Transaction, record: PortableDraft, imported: Imported) -> None:
        user, room = await imported.account(tx, record.user_id), imported.room(record.place_id)
        thread = record.thread_id and await imported.message(tx, record.thread_id, record.place_id)
        try:
            id_, content = checked_id(record.id), text.storable("content", record.content)
        except Problem as problem:
            imported.omit("a draft", problem.sentence)
            return
        if user is None:
            imported.omit(id_, "by nobody who has an account here")
        elif room is None or (record.thread_id and thread is None):
            imported.omit(id_, "its place was left out")
        elif await row_of(tx, user, id_):
            imported.find()
        else:
            quoted = None
            if record.quoted_message_id and record.quoted_place_id:
                quoted = await imported.message(tx, record.quoted_message_id, record.quoted_place_id)
            quoted_room = imported.room(record.quoted_place_id) if quoted and record.quoted_place_id else None
            entities = [one for each in record.entities if (one := _renamed(each, imported))]
            row = Row(
                id_, room, thread or None, quoted, quoted_room, content, encoded(entities), None, *_of(record)
            )
            await store(tx, user, row)
            imported.create()


def _portable(row: Sequence[Any]) -> PortableDraft:
    entities: Sequence[Entity] = _decode(row[9]) if row[9] else ()
    return PortableDraft(*[*row[:9], entities])


def _of(record: PortableDraft) -> tuple[int, int, None]:
    return record.version, record.updated_at, None


def _renamed(entity: Entity, imported: Imported) -> Entity | None:
    """Return an entity with the id that it has here; None for one that means nothing here."""
    id_: str | None = entity.id
    if entity.type == "user":
        id_ = imported.user(entity.id)
    elif entity.type == "channel":
        id_ = imported.room(entity.id)
    elif entity.type == "message":
        id_ = None
    return None if id_ is None else msgspec.structs.replace(entity, id=id_)
