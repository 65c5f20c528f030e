"""Mentions in ``teamchat export`` and ``teamchat import``: a record for each message that has some."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from teamchat.capabilities import ExportPart, Imported
from teamchat.interfaces import Transaction
from teamchat.mentions.entities import MOST, Entity
from teamchat.mentions.stored import entities_of, store
from teamchat.read_state import mentioned
from teamchat.read_state.mentioned import Where
from teamchat.storage.statements import chunks

_PAGE = 500
_IDS = """select m.id, m.room_id from messages m where m.id > $1 and (
exists (select 1 from mentions e where e.message_id = m.id)
or exists (select 1 from read_state_mentions w where w.message_id = m.id)
or exists (select 1 from read_state_wide w where w.message_id = m.id)) order by m.id limit $2"""
_REACHED = (
    "select message_id, user_id, cause, is_there, reached from read_state_mentions where message_id in ({})"
)
_WIDE = "select message_id, is_there, reached from read_state_wide where message_id in ({})"
_MESSAGE = "select parent_id, author_id, content from messages where id = $1"
Moment = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]


class PortableReach(Struct, frozen=True, rename="camel"):
    """Whom a message reaches by their name or a keyword of theirs; with `is_there` false, no longer."""

    user_id: str
    cause: Literal["user", "keyword", "both"]
    reached: Moment
    is_there: bool = True


class PortableMention(Struct, frozen=True, rename="camel"):
    """A message: its entities, whom it reaches, and since when it mentions everybody, if it does."""

    message_id: str
    channel_id: str
    entities: Annotated[Sequence[Entity], Meta(max_length=MOST)] = ()
    reached: Sequence[PortableReach] = ()
    wide: Moment | None = None


class MentionsExported(ExportPart):
    """The mentions of an installation."""

    record = PortableMention

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableMention], None]:
        """Yield them in the order of their messages."""
        after = ""
        while rows := await tx.fetch(_IDS, after, _PAGE):
            ids = [message_id for message_id, _ in rows]
            reached, wide = await _reached(tx, ids), await _wide(tx, ids)
            yield [
                PortableMention(one, room, await entities_of(tx, one), reached.get(one, ()), wide.get(one))
                for one, room in rows
            ]
            after = rows[-1][0]

    async def take(self, tx: Transaction, records: Sequence[PortableMention], imported: Imported) -> None:
        """Take in the mentions of messages that have none here."""
        for record in records:
            await self._take(tx, record, imported)

    async def _take(self, tx: Transaction, record: PortableMention, imported: Imported) -> None:
        room_id = imported.room(record.channel_id)
        message = await imported.message(tx, record.message_id, record.channel_id)
        if message is None or room_id is None:
            imported.omit(record.message_id, "its message was left out")
            return
        if any([await _there(tx, message, table) for table in _TABLES]):
            imported.find()
            return
        if imported.was_edited(message):  # What is told of stood in the text before.
            imported.omit(record.message_id, "its message was edited since")
            return
        [(parent_id, author_id, content)] = await tx.fetch(_MESSAGE, message)
        entities = [one for each in record.entities if (one := _named(each, content, imported)) is not None]
        await store(tx, message, entities)
        present: dict[str, str] = {}
        for reach in record.reached:
            user_id = imported.user(reach.user_id)
            if user_id is None or user_id == author_id:
                imported.omit(record.message_id, "it reaches nobody among the users of the export")
                continue
            where = Where(message, room_id, parent_id, reach.reached)
            await mentioned.reach(tx, where, {user_id: reach.cause})
            if reach.is_there:
                present[user_id] = reach.cause
        if len(present) < len(record.reached):
            await mentioned.reach_again(tx, Where(message, room_id, parent_id, message), present)
        if record.wide is not None:
            await mentioned.reach_all(tx, Where(message, room_id, parent_id, record.wide), author_id)
        imported.create()


_TABLES = ("mentions", "read_state_mentions", "read_state_wide")


async def _there(tx: Transaction, message_id: str, table: str) -> bool:
    return bool(await tx.fetch(f"select 1 from {table} where message_id = $1 limit 1", message_id))  # noqa: S608


def _named(entity: Entity, content: str, imported: Imported) -> Entity | None:
    """Return an entity with the id that it has here; None for one that means nothing here."""
    if entity.end > len(content):
        return None
    id_: str | None = entity.id
    if entity.type == "user":
        id_ = imported.user(entity.id)
    elif entity.type == "channel":
        id_ = imported.room(entity.id)
    return None if id_ is None else msgspec.structs.replace(entity, id=id_)


async def _reached(tx: Transaction, ids: Sequence[str]) -> Mapping[str, list[PortableReach]]:
    found: dict[str, list[PortableReach]] = {}
    for marks, piece in chunks(ids):
        rows = await tx.fetch(_REACHED.format(marks) + " order by message_id, user_id", *piece)
        for message_id, user_id, cause, is_there, reached in rows:
            found.setdefault(message_id, []).append(PortableReach(user_id, cause, reached, bool(is_there)))
    return found


async def _wide(tx: Transaction, ids: Sequence[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for marks, piece in chunks(ids):
        rows = await tx.fetch(_WIDE.format(marks), *piece)
        found |= {message_id: reached for message_id, is_there, reached in rows if is_there}
    return found
