"""Reading what a message said before, and dropping it (extension H-6).

Revisions hold what was edited away for a reason, such as passwords.  By default the author reads them, and
the managers of the channel; ``chat.editHistory`` may say everyone who sees the message.  An admin who is no
manager does not, and in groups, notes and direct conversations the author alone does (extension C-8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct

from teamchat import Forbidden, SeenMessage
from teamchat.model import Caller

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST_REVISIONS = 50
"""How many texts of a message are kept, the present one among them."""
READERS = {"nobody": 0, "author": 1, "everyone": 2}
"""What is announced of who reads it, so that clients offer it to nobody else."""
_ALL = """select content, entities, set_at, ended_at from edit_history where message_id = $1
order by number desc"""
_decode = msgspec.json.Decoder(list[dict[str, Any]]).decode


class Revision(Struct, frozen=True, rename="camel"):
    """What a message said from `at` on (epoch milliseconds), and whom it mentioned."""

    content: str
    entities: Sequence[Any]
    at: int


class History:
    """The revisions of the messages of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def read(self, caller: Caller, message_id: str) -> list[Revision]:
        """Return the texts of a message, the present one first.

        Raises `NotFound` for no message that the caller sees, `Forbidden` if they may not read what it said.
        """
        async with self._app.storage.read() as tx:
            seen = await self._app.message(tx, caller, message_id)
            self._check_may_read(caller, seen)
            [message] = await self._app.messages(tx, caller, [seen.id])
            rows = await tx.fetch(_ALL, seen.id)
        at = rows[0][3] if rows else message.updated_at or message.created_at
        entities = getattr(message, "entities", UNSET)
        present = Revision(message.content, [] if entities is UNSET else entities, at)
        if self._app.settings.chat.edit_history == "nobody":
            return [present]
        return [present, *(Revision(row[0], _entities(row[1]), row[2]) for row in rows if row[0] is not None)]

    async def drop(self, caller: Caller, message_id: str) -> None:
        """Drop all texts of a message but the present one.

        Raises `NotFound` for no message that the caller sees, `Forbidden` to who has not written it.
        """
        async with self._app.storage.write() as tx:
            seen = await self._app.message(tx, caller, message_id)
            if seen.author_id != caller.user.id:
                raise Forbidden("Only the author may drop what a message said before.")
            [(last,)] = await tx.fetch("select max(number) from edit_history where message_id = $1", seen.id)
            if last is not None:  # The last row stays empty: it says since when the present text stands.
                await tx.fetch(
                    "delete from edit_history where message_id = $1 and number < $2", seen.id, last
                )
                await tx.fetch(
                    "update edit_history set content = null, entities = null where message_id = $1", seen.id
                )

    def _check_may_read(self, caller: Caller, seen: SeenMessage) -> None:
        is_managers = seen.room.kind == "channel" and seen.room.role == "manager"
        kept_for = self._app.settings.chat.edit_history
        if seen.author_id == caller.user.id or kept_for == "everyone":
            return
        if kept_for == "author" and is_managers:
            return
        raise Forbidden("You may not read what this message said before.")


def _entities(column: str | None) -> Sequence[Any]:
    return _decode(column) if column else ()
