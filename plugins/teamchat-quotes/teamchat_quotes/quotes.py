"""Quoting a message in another, and what is shown of it (extension H-4).

Stored is the id of what is quoted.  A message carries `quoted` where whoever sees the message sees what it
quotes, for pages and events are the same bytes for all of them; any other quote each reader asks for by its
id, with their own sight, and is told nothing of what they don't see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from teamchat import BadRequest, NotFound, Outcome, Transaction, Written
from teamchat.model import Caller, Message
from teamchat.storage.statements import chunks

if TYPE_CHECKING:
    from teamchat import Teamchat

_STORE = """insert into quotes (message_id, room_id, quoted_id, quoted_room) values ($1, $2, $3, $4)
on conflict (message_id) do update set quoted_id = excluded.quoted_id, quoted_room = excluded.quoted_room"""
_OF = "select quoted_id from quotes where message_id = $1"


class QuoteDraft(Struct, frozen=True, rename="camel"):
    """Which message is quoted; null in an edit takes the quote away."""

    quoted_message_id: str | UnsetType | None = UNSET


class QuoteFields(Struct, frozen=True, rename="camel"):
    """What a message has that quotes another: its id, and where all may read it the message itself."""

    quoted_message_id: str | UnsetType = UNSET
    quoted: Message | UnsetType = UNSET


def names_one(written: Written) -> bool:
    """Return whether a post or an edit says anything of a quote."""
    return written.fields.quoted_message_id is not UNSET


class Quotes:
    """The quotes of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def read(
        self, tx: Transaction, ids: Sequence[str], _: Caller | None = None
    ) -> Mapping[str, QuoteFields]:
        """Return the fields of those of these messages that quote another."""
        quoted: dict[str, str] = {}
        for marks, piece in chunks(ids):
            rows = await tx.fetch(
                f"select message_id, quoted_id from quotes where message_id in ({marks})",  # noqa: S608
                *piece,
            )
            quoted |= {row[0]: row[1] for row in rows}
        if not quoted:
            return {}
        shown = await self._app.shown_in(tx, quoted, QuoteFields)
        return {one: QuoteFields(id_, shown.get(one, UNSET)) for one, id_ in quoted.items()}

    async def write(self, tx: Transaction, written: Written) -> Outcome:
        """Store what a message quotes. Raises `BadRequest` for what its author does not see.

        An edit that names nothing, or what is quoted already, leaves the quote as it is.
        """
        given, message_id = written.fields.quoted_message_id, written.message.id
        if given is UNSET or (given is None and written.before is None):
            return Outcome()
        if given is None:
            await tx.fetch("delete from quotes where message_id = $1", message_id)
            return Outcome()
        present = await tx.fetch(_OF, message_id) if written.before is not None else ()
        if any(given == id_ for (id_,) in present):
            return Outcome()
        quoted_room = await self._room_of(tx, written.caller, message_id, given)
        await tx.fetch(_STORE, message_id, written.room.id, given, quoted_room)
        return Outcome((await self.read(tx, [message_id]))[message_id])

    async def _room_of(self, tx: Transaction, caller: Caller | None, message_id: str, quoted_id: str) -> str:
        if caller is None:
            raise BadRequest("A webhook can't quote messages.")
        try:
            seen = await self._app.message(tx, caller, quoted_id)
        except NotFound:
            raise BadRequest("quotedMessageId is not the id of a message.") from None
        if seen.id == message_id:
            raise BadRequest("A message can't quote itself.")
        return seen.room.id

    async def stands_alone(self, tx: Transaction, fields: QuoteDraft, message_id: str | None) -> bool:
        """Return whether a message needs no text, for it passes another one on (extension H-5)."""
        if fields.quoted_message_id is not UNSET:
            return fields.quoted_message_id is not None
        return message_id is not None and bool(await tx.fetch(_OF, message_id))
