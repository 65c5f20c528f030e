"""Drafts as they are stored, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat import Transaction
from teamchat.model import now_ms
from teamchat_drafts.events import DraftChanged

COLUMNS = """id, room_id, thread_id, quoted_id, quoted_room, content, entities, files, version, updated_at,
deleted_at"""
_ONE = f"select {COLUMNS} from drafts where user_id = $1 and id = $2"  # noqa: S608
_STORE = """insert into drafts (user_id, id, room_id, thread_id, quoted_id, quoted_room, content, entities,
files, version, updated_at, deleted_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (user_id, id) do update set room_id = excluded.room_id, thread_id = excluded.thread_id,
quoted_id = excluded.quoted_id, quoted_room = excluded.quoted_room, content = excluded.content,
entities = excluded.entities, files = excluded.files, version = excluded.version,
updated_at = excluded.updated_at, deleted_at = excluded.deleted_at"""
_Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:@-]{1,255}$")]
_Count = Annotated[int, Meta(ge=0, lt=2**31)]


class Entity(Struct, frozen=True, rename="camel"):
    """Who or what is meant by a part of the text, as in a message; it is judged when that is posted."""

    type: Literal["user", "group", "channel", "message", "wide"]
    offset: _Count
    length: Annotated[int, Meta(ge=1, lt=2**31)]
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:@-]{1,64}$")]


Entities = Annotated[list[Entity], Meta(max_length=100)]
Files = Annotated[list[_Word], Meta(max_length=10)]
_entities = msgspec.json.Decoder(list[Entity]).decode
_files = msgspec.json.Decoder(list[str]).decode


class Draft(Struct, frozen=True, rename="camel"):
    """What somebody has not sent. `version` grows with every change, the last at `updated_at`."""

    id: str
    place_id: str
    content: str
    version: int
    updated_at: int
    thread_id: str | UnsetType = UNSET
    entities: Sequence[Entity] | UnsetType = UNSET
    files: Sequence[str] | UnsetType = UNSET
    quoted_message_id: str | UnsetType = UNSET


class Row(NamedTuple):
    """A row of the table; `is_tombstone` of one that was deleted or sent."""

    id: str
    room_id: str
    thread_id: str | None
    quoted_id: str | None
    quoted_room: str | None
    content: str
    entities: str | None
    files: str | None
    version: int
    updated_at: int
    deleted_at: int | None

    @property
    def is_tombstone(self) -> bool:
        """Whether it was deleted or sent."""
        return self.deleted_at is not None

    def draft(self) -> Draft:
        """Return the draft that it is."""
        return Draft(
            self.id,
            self.room_id,
            self.content,
            self.version,
            self.updated_at,
            self.thread_id or UNSET,
            _entities(self.entities) if self.entities else UNSET,
            _files(self.files) if self.files else UNSET,
            self.quoted_id or UNSET,
        )


def encoded(values: Sequence[Entity] | Sequence[str] | UnsetType) -> str | None:
    """Return a list as it is stored; None for one that is empty or left out."""
    return msgspec.json.encode(values).decode() if values is not UNSET and values else None


async def row_of(tx: Transaction, user_id: str, draft_id: str) -> Row | None:
    """Return a user's row of an id."""
    rows = await tx.fetch(_ONE, user_id, draft_id)
    return Row(*rows[0]) if rows else None


async def store(tx: Transaction, user_id: str, row: Row) -> None:
    """Write a row in the place of the one with its id."""
    await tx.fetch(_STORE, user_id, *row)


async def bury(tx: Transaction, user_id: str, draft_id: str, row: Row | None) -> None:
    """Make a tombstone of a draft, whether it was ever saved or not, and tell the user's devices."""
    if row is not None and row.is_tombstone:
        return
    now, version = now_ms(), 1 if row is None else row.version + 1
    await store(tx, user_id, Row(draft_id, "", None, None, None, "", None, None, version, now, now))
    await tx.append(DraftChanged(draft_id, version, deleted=True).to((user_id,)))
