"""What was said in a message that is edited or deleted is gone where it stands as quoted, also in the log.

The messages that quote it keep its id and all they say themselves (extension rule X-15).
"""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Changes, Room, Transaction
from teamchat.model import Message
from teamchat.storage.log import blank
from teamchat.storage.statements import chunks


class Going(Changes):
    """Takes what is quoted out of the events of the messages that quote it."""

    async def message_edited(self, tx: Transaction, message: Message, room: Room) -> None:
        """Other words stand there now; who resumes asks for them."""
        await _take_out(tx, [message.id], room)

    async def thread_going(
        self, tx: Transaction, message_id: str, replies: Sequence[str], room: Room
    ) -> None:
        """Nobody sees any of them from now on, though they are removed later."""
        await self.messages_going(tx, [*replies, message_id], room)

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
    if quoting:  # Those of other places are not found: their events hold nothing of it.
        await blank(tx, room.id, sorted(quoting), ["quoted"])
