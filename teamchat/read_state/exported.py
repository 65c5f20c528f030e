"""Read states in ``teamchat export`` and ``teamchat import``: a record for each that is stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from teamchat.capabilities import ExportPart, Imported
from teamchat.interfaces import Transaction
from teamchat.read_state.following import move
from teamchat.read_state.places import place_of
from teamchat.read_state.positions import Mark
from teamchat.read_state.tables import BEGINNING

_PAGE = 500
_AFTER = """select user_id, room_id, position, generation, is_marked from read_state
where (user_id, room_id) > ($1, $2) order by user_id, room_id limit $3"""
_HAS = "select 1 from read_state where user_id = $1 and room_id = $2"


class PortableReadState(Struct, frozen=True, rename="camel"):
    """A read state: whose, where, and up to which place in the order of messages."""

    user_id: str
    channel_id: str
    position: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    generation: Annotated[int, Meta(ge=0, lt=2**53)]
    is_marked_unread: bool


class ReadStatesExported(ExportPart):
    """The read states of an installation."""

    record = PortableReadState

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableReadState], None]:
        """Yield the read states in the order of users and rooms."""
        after = ("", "")
        while rows := await tx.fetch(_AFTER, *after, _PAGE):
            yield [
                PortableReadState(user, room, position, generation, bool(is_marked))
                for user, room, position, generation, is_marked in rows
            ]
            after = (rows[-1][0], rows[-1][1])

    async def take(self, tx: Transaction, records: Sequence[PortableReadState], imported: Imported) -> None:
        """Take in the states of members who have none here; who has one keeps it."""
        for record in records:
            await self._take(tx, record, imported)

    async def _take(self, tx: Transaction, record: PortableReadState, imported: Imported) -> None:
        user, room = imported.user(record.user_id), imported.room(record.channel_id)
        where = f"{record.user_id} in {record.channel_id}"
        if user is None:
            imported.omit(where, "of nobody among the users of the export")
        elif room is None or (place := await place_of(tx, user, room)) is None:
            imported.omit(where, "its place was left out, or they are no member there")
        elif await tx.fetch(_HAS, user, room):
            imported.find()
        else:
            # The message may have another id here; without one the position is a moment in its order still.
            message = await imported.message(tx, record.position, record.channel_id)
            position = min(message or record.position, place.newest or BEGINNING)
            mark = Mark(position, record.generation, record.is_marked_unread)
            await move(tx, [(user, room, mark)])
            imported.create()
