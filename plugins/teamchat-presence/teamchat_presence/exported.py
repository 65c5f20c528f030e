"""The statuses that users have chosen, in ``teamchat export`` and ``teamchat import``: a record a user."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from teamchat import ExportPart, Imported, Transaction
from teamchat_presence.statuses import ChosenStatus
from teamchat_presence.stored import choose, kept_of

_PAGE = 500
_AFTER = """select user_id, status from presence where status <> 'auto' and user_id > $1
order by user_id limit $2"""


class PortablePresence(Struct, frozen=True, rename="camel"):
    """What a user has others told of them."""

    user_id: str
    status: ChosenStatus


class PresenceExported(ExportPart):
    """What the users of an installation have chosen; when they were seen stays where it is."""

    record = PortablePresence

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortablePresence], None]:
        """Yield what users have chosen, in the order of their ids."""
        after = ""
        while rows := await tx.fetch(_AFTER, after, _PAGE):
            yield [PortablePresence(*row) for row in rows]
            after = rows[-1][0]

    async def take(self, tx: Transaction, records: Sequence[PortablePresence], imported: Imported) -> None:
        """Take in what users have chosen who have chosen nothing here."""
        for record in records:
            user = imported.user(record.user_id)
            kept = {} if user is None else await kept_of(tx, [user])
            if user is None or user not in kept:
                imported.omit(record.user_id, "nobody among the users of the export")
            elif kept[user].choice.status != "auto" or record.status == "auto":
                imported.find()
            else:
                await choose(tx, user, record.status)
                imported.create()
