"""What was said in a message that is edited or deleted is gone where it stands as quoted, also in the log.

The messages that quote it keep its id and all they say themselves (extension rule X-15).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from teamchat import Changes, Room, Transaction
from teamchat.model import Message
from teamchat.storage.log import blank
from teamchat.storage.statements import chunks

_OF_THREAD = "where quoted_id in (select id from messages where id = $1 or parent_id = $1)"


class Going(Changes):
    """Takes what is quoted out of the events of the messages that quote it."""

    async def message_edited(self, tx: Transaction, message: Message, room: Room) -> None:
        """Other words stand there now; who resumes asks for them."""
        await _take_out(tx, [message.id], room)

    async def thread_going(self, tx: Transaction, message_id: str, room: Room) -> None:
        """What quotes any of them shows it no more, though they are removed later."""
        rows = await tx.fetch(f"select message_id from quotes {_OF_THREAD}", message_id)  # noqa: S608
        if rows:
            await _show_no_more(tx, {quoting for (quoting,) in rows}, room)
            await tx.fetch(f"update quotes set quoted_room = null {_OF_THREAD}", message_id)  # noqa: S608

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:
        """They are gone."""
        await _take_out(tx, ids, room)
        for marks, piece in chunks(ids):
            await tx.fetch(
                f"update quotes set quoted_room = null where quoted_id in ({marks})",  # noqa: S608
                *piece,
            )


async def _take_out(tx: Transaction, ids: Sequence[str], room: Room) -> None:
    quoting: set[str] = set()
    for marks, piece in chunks(ids):
        rows = await tx.fetch(
            f"select message_id from quotes where quoted_id in ({marks})",  # noqa: S608
            *piece,
        )
        quoting.update(message_id for (message_id,) in rows)
    await _show_no_more(tx, quoting, room)


async def _show_no_more(tx: Transaction, quoting: Collection[str], room: Room) -> None:
    if quoting:  # Those of other places are not found: their events hold nothing of it.
        await blank(tx, room.id, sorted(quoting), ["quoted"])
