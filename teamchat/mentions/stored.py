"""The entities of messages, as they are stored and read for pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from teamchat.interfaces import Transaction
from teamchat.mentions.entities import Entity, MentionFields, fields_of
from teamchat.model import Caller
from teamchat.storage.statements import chunks

_decode = msgspec.json.Decoder(list[Entity]).decode


async def read_fields(
    tx: Transaction, ids: Sequence[str], _: Caller | None = None
) -> Mapping[str, MentionFields]:
    """Return the fields of those of these messages that have entities."""
    found: dict[str, MentionFields] = {}
    for marks, piece in chunks(ids):
        rows = await tx.fetch(
            f"select message_id, entities from mentions where message_id in ({marks})",  # noqa: S608
            *piece,
        )
        found |= {message_id: fields_of(_decode(entities)) for message_id, entities in rows}
    return found


async def naming(tx: Transaction, _: Caller, ids: Sequence[str], user_id: str) -> set[str]:
    """Return those of these messages that name a user, for who searches."""
    found: set[str] = set()
    for marks, piece in chunks(ids):
        rows = await tx.fetch(
            f"select message_id, entities from mentions where message_id in ({marks})",  # noqa: S608
            *piece,
        )
        found |= {
            message_id
            for message_id, entities in rows
            if any(one.type == "user" and one.id == user_id for one in _decode(entities))
        }
    return found


async def entities_of(tx: Transaction, message_id: str) -> list[Entity]:
    """Return the entities of a message."""
    rows = await tx.fetch("select entities from mentions where message_id = $1", message_id)
    return _decode(rows[0][0]) if rows else []


async def store(tx: Transaction, message_id: str, entities: Sequence[Entity]) -> None:
    """Put entities in the place of those that a message has."""
    if not entities:
        await tx.fetch("delete from mentions where message_id = $1", message_id)
        return
    await tx.fetch(
        """insert into mentions (message_id, entities) values ($1, $2)
        on conflict (message_id) do update set entities = excluded.entities""",
        message_id,
        msgspec.json.encode(entities).decode(),
    )
