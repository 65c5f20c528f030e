"""Thread states in ``teamchat export`` and ``teamchat import``: a record for each that is stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from teamchat.capabilities import ExportPart, Imported
from teamchat.interfaces import Row, Transaction
from teamchat.read_state.positions import Mark
from teamchat.read_state.threads import states

_PAGE = 500
_AFTER = """select user_id, message_id, room_id, position, generation, is_marked, is_following, is_ended,
since from threads_states where (user_id, message_id) > ($1, $2) order by user_id, message_id limit $3"""
_HAS = "select 1 from threads_states where user_id = $1 and message_id = $2"


class PortableThreadState(Struct, frozen=True, rename="camel"):
    """A thread state: whose, of which message, whether they follow it or have ended that, what is read.

    What came after `since` has come since they follow it.  Older exports don't say: what is unread has.
    """

    user_id: str
    message_id: str
    channel_id: str
    position: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    generation: Annotated[int, Meta(ge=0, lt=2**53)]
    is_marked_unread: bool
    following: bool
    is_ended: bool
    since: Annotated[str, Meta(pattern="^([0-9a-f]{32})?$")] = ""


class ThreadStatesExported(ExportPart):
    """The thread states of an installation."""

    record = PortableThreadState

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableThreadState], None]:
        """Yield the thread states in the order of users and messages."""
        after = ("", "")
        while rows := await tx.fetch(_AFTER, *after, _PAGE):
            yield [_portable(row) for row in rows]
            after = (rows[-1][0], rows[-1][1])

    async def take(self, tx: Transaction, records: Sequence[PortableThreadState], imported: Imported) -> None:
        """Take in the states of users who have none here; who has one keeps it."""
        for record in records:
            await self._take(tx, record, imported)

    async def _take(self, tx: Transaction, record: PortableThreadState, imported: Imported) -> None:
        user = await imported.account(tx, record.user_id)
        parent = await imported.message(tx, record.message_id, record.channel_id)
        where = f"{record.user_id} in {record.message_id}"
        if user is None:
            imported.omit(where, "of nobody who has an account here")
        elif parent is None or not await states.sees_thread(tx, user, parent):
            imported.omit(where, "its message was left out, or they do not see it")
        elif await tx.fetch(_HAS, user, parent):
            imported.find()
        else:
            thread = await states.thread_of(tx, user, parent)

            async def place(position: str) -> str:
                # The reply may have another id here; without one the position is a moment in its order still.
                reply = await imported.message(tx, position, record.channel_id)
                return min(reply or position, thread.newest or parent)

            position = await place(record.position)
            mark = Mark(position, record.generation, record.is_marked_unread)
            taken = thread._replace(
                mark=mark,
                is_following=record.following and not record.is_ended,
                is_ended=record.is_ended,
                since=await place(record.since) if record.since else position,
            )
            await states.store(tx, user, taken)
            imported.create()


def _portable(row: Row) -> PortableThreadState:
    user, message, room, position, generation, is_marked, is_following, is_ended, since = row
    flags = bool(is_marked), bool(is_following), bool(is_ended)
    return PortableThreadState(user, message, room, position, generation, *flags, since)
