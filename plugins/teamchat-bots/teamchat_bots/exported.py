"""Whose bots are, in ``teamchat export`` and ``teamchat import``. Their tokens stay where they are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from teamchat import ExportPart, Imported, Transaction

_PAGE = 500
_AFTER = "select user_id, owner_id from bots where user_id > $1 order by user_id limit $2"
_STORE = """insert into bots (user_id, owner_id) select id, $2 from users
where id = $1 and is_bot = 1 and removed_at is null on conflict do nothing returning user_id"""


class PortableBot(Struct, frozen=True, rename="camel"):
    """A bot, and who made it."""

    user_id: str
    owner_id: str


class BotsExported(ExportPart):
    """The bots of an installation. Their accounts are among its users."""

    record = PortableBot

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableBot], None]:
        """Yield them in the order of their ids."""
        after = ""
        while rows := await tx.fetch(_AFTER, after, _PAGE):
            yield [PortableBot(*row) for row in rows]
            after = rows[-1][0]

    async def take(self, tx: Transaction, records: Sequence[PortableBot], imported: Imported) -> None:
        """Note who made those bots of which it is not known here."""
        for record in records:
            bot, owner = imported.user(record.user_id), imported.user(record.owner_id)
            if bot is None or owner is None:
                imported.omit(record.user_id, "the bot or its owner is not among the users of the export")
            else:
                (imported.create if await tx.fetch(_STORE, bot, owner) else imported.find)()
