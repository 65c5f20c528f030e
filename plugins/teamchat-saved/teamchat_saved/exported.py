"""What users keep in ``teamchat export`` and ``teamchat import``: a record a user and message."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from teamchat import ExportPart, Imported, Problem, Transaction
from teamchat.model import text
from teamchat_saved.saved import MOST_NOTE, MOST_SAVED

_PAGE = 500
_Time = Annotated[int, Meta(ge=0, lt=2**48)]
_AFTER = """select user_id, message_id, room_id, note, saved_at, remind_at, is_reminded from saved
where (user_id, message_id) > ($1, $2) order by user_id, message_id limit $3"""
_STORE = """insert into saved (user_id, message_id, room_id, note, saved_at, remind_at, is_reminded)
values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning message_id"""


class PortableSaved(Struct, frozen=True, rename="camel"):
    """A message that a user keeps, with its channel or conversation. Times are epoch milliseconds."""

    user_id: str
    message_id: str
    channel_id: str
    note: str
    saved_at: _Time
    remind_at: _Time | None = None
    is_reminded: bool = False


class SavedExported(ExportPart):
    """What the users of an installation keep."""

    record = PortableSaved

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableSaved], None]:
        """Yield it in the order of the users."""
        after = ("", "")
        while rows := await tx.fetch(_AFTER, *after, _PAGE):
            yield [PortableSaved(*[*row[:6], bool(row[6])]) for row in rows]
            after = rows[-1][:2]

    async def take(self, tx: Transaction, records: Sequence[PortableSaved], imported: Imported) -> None:
        """Keep what is not kept here yet."""
        for record in records:
            await self._take(tx, record, imported)

    async def _take(self, tx: Transaction, record: PortableSaved, imported: Imported) -> None:
        user = await imported.account(tx, record.user_id)
        message = await imported.message(tx, record.message_id, record.channel_id)
        try:
            note = text.note("note", record.note, most=MOST_NOTE)
        except Problem as problem:
            imported.omit(record.message_id, problem.sentence)
            return
        room = imported.room(record.channel_id)
        if message is None or room is None:
            imported.omit(record.message_id, "its message was left out")
        elif user is None:
            imported.omit(record.message_id, "by nobody who has an account here")
        elif await _count(tx, user) >= MOST_SAVED:
            imported.omit(record.message_id, f"a user keeps {MOST_SAVED} at most")
        else:
            is_reminded = int(record.is_reminded and record.remind_at is not None)
            row = (user, message, room, note, record.saved_at, record.remind_at, is_reminded)
            (imported.create if await tx.fetch(_STORE, *row) else imported.find)()


async def _count(tx: Transaction, user_id: str) -> int:
    [(count,)] = await tx.fetch("select count(*) from saved where user_id = $1", user_id)
    return int(count)
