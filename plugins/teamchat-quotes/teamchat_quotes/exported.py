"""Quotes in ``teamchat export`` and ``teamchat import``: a record a message that quotes another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from teamchat import ExportPart, Imported, Transaction

_PAGE = 500
_AFTER = """select message_id, room_id, quoted_id, quoted_room from quotes
where message_id > $1 order by message_id limit $2"""
_INSERT = "insert into quotes (message_id, room_id, quoted_id, quoted_room) values ($1, $2, $3, $4)"


class PortableQuote(Struct, frozen=True, rename="camel"):
    """A quote: the message and its channel or conversation, and the same of what it quotes.

    Without `quoted_channel_id` what it quoted is gone.
    """

    message_id: str
    channel_id: str
    quoted_message_id: str
    quoted_channel_id: str | None = None


class QuotesExported(ExportPart):
    """The quotes of an installation."""

    record = PortableQuote

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableQuote], None]:
        """Yield the quotes in the order of the messages that quote."""
        after = ""
        while rows := await tx.fetch(_AFTER, after, _PAGE):
            yield [PortableQuote(*row) for row in rows]
            after = rows[-1][0]

    async def take(self, tx: Transaction, records: Sequence[PortableQuote], imported: Imported) -> None:
        """Bring in the quotes of messages that quote nothing yet."""
        for record in records:
            await self._take(tx, record, imported)

    async def _take(self, tx: Transaction, record: PortableQuote, imported: Imported) -> None:
        message = await imported.message(tx, record.message_id, record.channel_id)
        quoted_room = record.quoted_channel_id and imported.room(record.quoted_channel_id)
        if message is None:
            imported.omit(record.message_id, "its message was left out")
        elif await tx.fetch("select 1 from quotes where message_id = $1", message):
            imported.find()
        elif imported.was_edited(message):
            imported.omit(record.message_id, "its message was edited since")
        elif (quoted := await _quoted(tx, record, imported)) is None or quoted == message:
            imported.omit(record.message_id, "what it quotes was left out")
        else:
            await tx.fetch(_INSERT, message, imported.room(record.channel_id), quoted, quoted_room)
            imported.create()


async def _quoted(tx: Transaction, record: PortableQuote, imported: Imported) -> str | None:
    """Return the id of what is quoted; one that is gone keeps its id; readers ask with their own sight."""
    if record.quoted_channel_id is None:
        return record.quoted_message_id
    return await imported.message(tx, record.quoted_message_id, record.quoted_channel_id)
