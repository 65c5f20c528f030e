"""Pins in ``teamchat export`` and ``teamchat import``: a record a pin, by the message that is pinned."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from teamchat import ExportPart, Imported, Transaction
from teamchat_pins.tables import MOST_PINS

_PAGE = 500
_Time = Annotated[int, Meta(ge=0, lt=2**48)]
_AFTER = """select message_id, room_id, pinned_by, pinned_at from pins where message_id > $1
order by message_id limit $2"""
# Pins of an export and those that were here stand in the order of their times.
_NUMBER = """update pins set number = (select count(*) from pins other where other.room_id = pins.room_id
and (other.pinned_at, other.message_id) <= (pins.pinned_at, pins.message_id)) where room_id = $1"""


class PortablePin(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pin: the message, its channel or conversation, who has pinned it, and when (epoch milliseconds).

    `origin` says where it stood in what it was made from, for the report of an import.
    """

    message_id: str
    channel_id: str
    pinned_by: str
    pinned_at: _Time
    origin: str = field(default="", name="place")


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
        where = record.origin or record.message_id
        message = await imported.message(tx, record.message_id, record.channel_id)
        user, room = imported.user(record.pinned_by), imported.room(record.channel_id)
        if message is None or room is None:
            imported.omit(where, "its message was left out")
        elif user is None:
            imported.omit(where, "by nobody among the users of the export")
        elif await tx.fetch("select 1 from pins where message_id = $1", message):
            imported.find()
        elif (await tx.fetch("select count(*) from pins where room_id = $1", room))[0][0] >= MOST_PINS:
            imported.omit(where, f"a place has {MOST_PINS} at most")
        else:
            await tx.fetch(
                "insert into pins (message_id, room_id, number, pinned_by, pinned_at)"
                " values ($1, $2, 0, $3, $4)",
                *(message, room, user, record.pinned_at),
            )
            imported.create()
            return room
        return None
