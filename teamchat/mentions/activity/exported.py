"""The feed in ``teamchat export`` and ``teamchat import``: how far it was read, and what has a time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from teamchat.capabilities import ExportPart, Imported
from teamchat.interfaces import Transaction

_PAGE = 500
Moment = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
_READ = "select user_id, position from activity_read where user_id > $1 order by user_id limit $2"
_REACTED = """select a.message_id, a.user_id, a.reaction, a.reached, m.room_id from activity_reactions a
join messages m on m.id = a.message_id
where (a.message_id, a.user_id, a.reaction) > ($1, $2, $3)
order by a.message_id, a.user_id, a.reaction limit $4"""
_REMINDED = """select a.user_id, a.reached, a.message_id, m.room_id from activity_reminders a
join messages m on m.id = a.message_id where (a.message_id, a.user_id) > ($1, $2)
order by a.message_id, a.user_id limit $3"""
_STANDS = """select m.author_id from reactions r join messages m on m.id = r.message_id
where r.message_id = $1 and r.user_id = $2 and r.reaction = $3 and m.author_id <> r.user_id
and exists (select 1 from users u where u.id = m.author_id and u.removed_at is null)"""


class PortableActivity(Struct, frozen=True, rename="camel"):
    """How far a user has read their feed, or when they have reacted to a message or were reminded of one."""

    kind: Literal["read", "reaction", "reminder"]
    user_id: str
    at: Moment
    message_id: str = ""
    channel_id: str = ""
    reaction: str = ""


class ActivityExported(ExportPart):
    """What is kept of feeds."""

    record = PortableActivity

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableActivity], None]:
        """Yield positions by their users, then reactions and reminders by their messages."""
        user = ""
        while rows := await tx.fetch(_READ, user, _PAGE):
            yield [PortableActivity("read", *row) for row in rows]
            user = rows[-1][0]
        after = ("", "", "")
        while rows := await tx.fetch(_REACTED, *after, _PAGE):
            yield [
                PortableActivity("reaction", by, reached, message, room, reaction)
                for message, by, reaction, reached, room in rows
            ]
            after = rows[-1][:3]
        told = ("", "")
        while rows := await tx.fetch(_REMINDED, *told, _PAGE):
            yield [PortableActivity("reminder", *row) for row in rows]
            told = rows[-1][2], rows[-1][0]

    async def take(self, tx: Transaction, records: Sequence[PortableActivity], imported: Imported) -> None:
        """Take in what is not here yet."""
        for record in records:
            user_id = await imported.account(tx, record.user_id)
            if user_id is None:
                imported.omit(record.message_id, "of nobody who has an account here")
            elif record.kind == "read":
                made = await tx.fetch(
                    """insert into activity_read (user_id, position, generation) values ($1, $2, 0)
                    on conflict do nothing returning user_id""",
                    *(user_id, record.at),
                )
                (imported.create if made else imported.find)()
            elif record.kind == "reminder":
                await _take_reminder(tx, record, user_id, imported)
            else:
                await _take_reaction(tx, record, user_id, imported)


async def _take_reminder(tx: Transaction, record: PortableActivity, user_id: str, imported: Imported) -> None:
    message = await imported.message(tx, record.message_id, record.channel_id)
    if message is None:
        imported.omit(record.message_id, "its message was left out")
        return
    made = await tx.fetch(
        """insert into activity_reminders (user_id, message_id, reached) values ($1, $2, $3)
        on conflict do nothing returning message_id""",
        *(user_id, message, record.at),
    )
    (imported.create if made else imported.find)()


async def _take_reaction(tx: Transaction, record: PortableActivity, user_id: str, imported: Imported) -> None:
    message = await imported.message(tx, record.message_id, record.channel_id)
    rows = await tx.fetch(_STANDS, message, user_id, record.reaction) if message is not None else []
    if not rows:
        imported.omit(record.message_id, "its message or its reaction was left out")
        return
    made = await tx.fetch(
        """insert into activity_reactions (message_id, user_id, reaction, author_id, reached)
        values ($1, $2, $3, $4, $5) on conflict do nothing returning message_id""",
        *(message, user_id, record.reaction, rows[0][0], record.at),
    )
    (imported.create if made else imported.find)()
