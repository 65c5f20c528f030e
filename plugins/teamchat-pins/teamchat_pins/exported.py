"""Pins in ``teamchat export`` and ``teamchat import``: a record a pin, by the message that is pinned."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from teamchat import ExportPart, Imported, Transaction
from teamchat_pins.tables import MOST_PINS

_PAGE = 500
_Time = Annotated[int, Meta(ge=0, lt=2**48)]
_AFTER = """select message_id, room_id, pinned_by, pinned_at from pins where message_id > $1
order by message_id limit $2"""
# Pins of an export and those that were here stand in the order of their times.
_NUMBER = """update pins set number = (select count(*) from pins other where other.room_id = pins.room_id
and (other.pinned_at, other.message_id) <= (pins.pinned_at, pins.message_id)) where room_id = $1"""


class PortablePin(Struct, frozen=True, rename="camel"):
    """A pin: the message, its channel or conversation, who has pinned it, and when (epoch milliseconds)."""

    message_id: str
    channel_id: str
    pinned_by: str
    pinned_at: _Time


class PinsExported(ExportPart):
    """The pins of an installation."""

    record = PortablePin

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortablePin], None]:
        """Yield the pins in the order of their messages."""
        after = ""
        while rows := await tx.fetch(_AFTER, after, _PAGE):
            yield [PortablePin(*row) for row in rows]
            after = rows[-1][0]

    async def take(self, tx: Transaction, records: Sequence[PortablePin], imported: Imported) -> None:
        """Pin what is not pinned yet, as far as a place may have pins."""
        rooms = {room for record in records if (room := await self._take(tx, record, imported))}
        for room in sorted(rooms):
            await tx.fetch(_NUMBER, room)

    async def _take(self, tx: Transaction, record: PortablePin, imported: Imported) -> str | None:
        """Take one pin, and return the room that has it now, unless that had it before."""
        message = await imported.message(tx, record.message_id, record.channel_id)
        user, room = imported.user(record.pinned_by), imported.room(record.channel_id)
        if message is None or room is None:
            imported.omit(record.message_id, "its message was left out")
        elif user is None:
            imported.omit(record.message_id, "by nobody among the users of the export")
        elif await tx.fetch("select 1 from pins where message_id = $1", message):
            imported.find()
        elif (await tx.fetch("select count(*) from pins where room_id = $1", room))[0][0] >= MOST_PINS:
            imported.omit(record.message_id, f"a place has {MOST_PINS} at most")
        else:
            await tx.fetch(
                "insert into pins (message_id, room_id, number, pinned_by, pinned_at)"
                " values ($1, $2, 0, $3, $4)",
                *(message, room, user, record.pinned_at),
            )
            imported.create()
            return room
        return None
