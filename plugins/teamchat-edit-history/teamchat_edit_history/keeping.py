"""Keeping what a message said before an edit, in the transaction of the edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Struct

from teamchat import Changes, Outcome, Transaction, Written
from teamchat_edit_history.history import MOST_REVISIONS

if TYPE_CHECKING:
    from teamchat import Teamchat

_BATCH = 500
_LAST = "select number, ended_at from edit_history where message_id = $1 order by number desc limit 1"
_STORE = """insert into edit_history
(message_id, room_id, author_id, number, content, entities, set_at, ended_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)"""
_OF_USER = "delete from edit_history where author_id = $1"


class NoFields(Struct, frozen=True):
    """Bodies of messages have nothing for the history."""


def is_edit(written: Written) -> bool:
    """Return whether a message was there before."""
    return written.before is not None


class Keeping(Changes):
    """Keeps revisions, as far as ``chat.editHistory`` says so."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def edited(self, tx: Transaction, written: Written) -> Outcome:
        """Keep the text that an edit has replaced. An edit of images alone replaces none."""
        message, before, caller = written.message, written.before, written.caller
        if before is None or caller is None or not self._keeps:
            return Outcome()
        rows = await tx.fetch(_LAST, message.id)
        number, set_at = rows[0] if rows else (0, message.created_at)
        whose = message.id, written.room.id, message.author.id
        if before == message.content:
            if not rows:
                await tx.fetch(_STORE, *whose, 0, None, None, message.created_at, message.created_at)
            return Outcome()
        # Its entities are still those of the text before: capabilities take part in the order of their names,
        # each after those that it needs, and `mentions` needs some.
        [seen] = await self._app.messages(tx, caller, [message.id])
        entities = getattr(seen, "entities", UNSET)
        encoded = msgspec.json.encode(entities).decode() if entities is not UNSET and entities else None
        ended_at = message.updated_at or message.created_at
        await tx.fetch(_STORE, *whose, number + 1, before, encoded, set_at, ended_at)
        oldest = number + 1 - (MOST_REVISIONS - 1)
        await tx.fetch("delete from edit_history where message_id = $1 and number <= $2", message.id, oldest)
        return Outcome()

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """What somebody has edited away goes with their account: they could not drop it any more."""
        await tx.fetch(_OF_USER, user_id)

    async def sweep(self) -> None:
        """Where nothing is to be kept, remove what was, some in each transaction."""
        while not self._keeps:
            async with self._app.storage.read() as tx:
                rows = await tx.fetch("select distinct message_id from edit_history limit $1", _BATCH)
            if not rows:
                return
            async with self._app.storage.write() as tx:
                for (message_id,) in rows:
                    await tx.fetch("delete from edit_history where message_id = $1", message_id)

    @property
    def _keeps(self) -> bool:
        return self._app.settings.chat.edit_history != "nobody"
