"""Revisions in ``teamchat export`` and ``teamchat import``: a record a text that a message had."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from teamchat import ExportPart, Imported, Problem, Transaction
from teamchat.model import text

_PAGE = 500
_Time = Annotated[int, Meta(ge=0, lt=2**48)]
_Count = Annotated[int, Meta(ge=0, lt=2**31)]
_AFTER = """select message_id, room_id, author_id, number, set_at, ended_at, content, entities
from edit_history where (message_id, number) > ($1, $2) order by message_id, number limit $3"""
# Before a row that is empty, its author has dropped all, here.
_STORE = """insert into edit_history
(message_id, room_id, author_id, number, content, entities, set_at, ended_at)
select $1, $2, $3, $4, $5, $6, $7, $8 where not exists
(select 1 from edit_history where message_id = $1 and number > $4 and content is null)
on conflict do nothing returning message_id"""


class PortableEntity(Struct, frozen=True, rename="camel"):
    """Who or what was meant by a part of the text."""

    type: Literal["user", "group", "channel", "message", "wide"]
    offset: _Count
    length: _Count
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:@-]{1,64}$")]


class PortableRevision(Struct, frozen=True, rename="camel"):
    """A text of a message, from and until when it stood; without content it was dropped."""

    message_id: str
    channel_id: str
    author_id: str
    number: _Count
    set_at: _Time
    ended_at: _Time
    content: str | None = None
    entities: Annotated[Sequence[PortableEntity], Meta(max_length=100)] = ()


_decode = msgspec.json.Decoder(list[PortableEntity]).decode


class HistoryExported(ExportPart):
    """The revisions of an installation."""

    record = PortableRevision

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableRevision], None]:
        """Yield them in the order of their messages."""
        after = ("", -1)
        while rows := await tx.fetch(_AFTER, *after, _PAGE):
            yield [PortableRevision(*[*row[:7], _decode(row[7]) if row[7] else ()]) for row in rows]
            after = rows[-1][0], rows[-1][3]

    async def take(self, tx: Transaction, records: Sequence[PortableRevision], imported: Imported) -> None:
        """Bring in what is not here yet."""
        for record in records:
            message = await imported.message(tx, record.message_id, record.channel_id)
            try:
                content = None if record.content is None else text.storable("content", record.content)
            except Problem as problem:
                imported.omit(record.message_id, problem.sentence)
                continue
            room, author = imported.room(record.channel_id), await imported.account(tx, record.author_id)
            if message is None or room is None:
                imported.omit(record.message_id, "its message was left out")
                continue
            if author is None:
                imported.omit(record.message_id, "by nobody who has an account here")
                continue
            entities = [one for each in record.entities if (one := _renamed(each, imported))]
            encoded = msgspec.json.encode(entities).decode() if entities and content is not None else None
            row = (message, room, author, record.number, content, encoded, record.set_at, record.ended_at)
            (imported.create if await tx.fetch(_STORE, *row) else imported.find)()


def _renamed(entity: PortableEntity, imported: Imported) -> PortableEntity | None:
    """Return an entity with the id that it has here; None for one that means nothing here."""
    id_: str | None = entity.id
    if entity.type == "user":
        id_ = imported.user(entity.id)
    elif entity.type == "channel":
        id_ = imported.room(entity.id)
    return None if id_ is None else msgspec.structs.replace(entity, id=id_)
