"""Reading the event log, and removing what was said from it, with the same statements on every storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from teamchat.events import Audience, Blanked, Event, InRoom, LoggedEvent, blanked
from teamchat.interfaces import Transaction
from teamchat.storage.statements import chunks, flat, in_pieces, values

_AFTER = """select seq, type, payload, audience, text_room, text_message,
exists (select 1 from rooms r where r.id = events.text_room and r.kind = 'gone')
from events where seq > $1 order by seq limit $2"""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[str, ...] | InRoom).decode


def encoded_audience(audience: Audience) -> str | None:
    """Return an audience as it stands in the log: JSON, or null for everyone."""
    return None if audience is None else _encode(audience).decode()


def decoded_audience(column: str | None) -> Audience:
    """Return what `encoded_audience` was given."""
    return None if column is None else _decode(column)


class Blanking(NamedTuple):
    """The messages of a place, or with None all of it, whose text goes out of events that are in memory.

    With `fields` those go alone, and the messages are still found.
    """

    room_id: str
    message_ids: frozenset[str] | None
    fields: Sequence[str] | None = None

    def concerns(self, text_room: str | None, text_message: str | None) -> bool:
        """Return whether an event that carries this text is blanked."""
        return text_room == self.room_id and (self.message_ids is None or text_message in self.message_ids)

    def of(self, events: Sequence[Event]) -> list[Event]:
        """Return events that are not in the table yet as they are from now on."""
        return [
            self._left_of(event) if self.concerns(event.text_room, event.text_message) else event
            for event in events
        ]

    def _left_of(self, event: Event) -> Event:
        texts = (None, None) if self.fields is None else (event.text_room, event.text_message)
        return Event(event.type, blanked(event.payload, self.fields), event.audience, *texts)


async def logged_in(tx: Transaction, after: int, limit: int) -> list[LoggedEvent]:
    """Return up to `limit` events with ``seq > after``, in order, as a transaction sees them.

    What was said in a room that is being deleted is in none of them, though the table has it still.
    """
    return [
        LoggedEvent(seq, kind, blanked(payload), decoded_audience(audience))
        if is_gone
        else LoggedEvent(seq, kind, payload, decoded_audience(audience), room_id, message_id)
        for seq, kind, payload, audience, room_id, message_id, is_gone in await tx.fetch(_AFTER, after, limit)
    ]


async def last_in(tx: Transaction, last: int) -> int:
    """Return the number of the last event that a reading transaction sees.

    `last` is what `Storage.position` said before it began: the log may be empty by now.
    """
    [(found,)] = await tx.fetch("select max(seq) from events")
    return max(last, found or 0)


async def blank(
    tx: Transaction,
    room_id: str,
    message_ids: Sequence[str] | None = None,
    fields: Sequence[str] | None = None,
) -> None:
    """Take what was said in messages of a place, or in all of them, out of the log and of every memory of it.

    It goes before the event of the deletion or the edit, in the same transaction.  With `fields` the messages
    stay, and those of their fields go that show something else, as a quote does.
    """
    await tx.blank(room_id, message_ids, fields)
    await tx.append(Blanked(room_id, message_ids, fields).to())


async def blank_in(
    tx: Transaction,
    room_id: str,
    message_ids: Sequence[str] | None,
    fields: Sequence[str] | None = None,
) -> None:
    """Blank the events that stand in the table: what `Transaction.blank` does there, on every storage."""
    lost = ", text_room = null, text_message = null" if fields is None else ""
    for marks, piece in chunks(await _with_text(tx, room_id, message_ids)):
        rows = await tx.fetch(f"select seq, payload from events where seq in ({marks})", *piece)  # noqa: S608
        for some in in_pieces([(seq, blanked(payload, fields)) for seq, payload in rows]):
            listed = values("({0}, {1})", 2, len(some), after=0)
            await tx.fetch(
                f"""with emptied(seq, payload) as (values {listed})
                update events set payload = emptied.payload{lost}
                from emptied where events.seq = emptied.seq""",  # noqa: S608
                *flat(some),
            )


async def _with_text(tx: Transaction, room_id: str, message_ids: Sequence[str] | None) -> list[int]:
    """Return the numbers of the events that carry what was said."""
    if message_ids is None:
        rows = await tx.fetch("select seq from events where text_room = $1", room_id)
        return [seq for (seq,) in rows]
    found: list[int] = []
    for marks, piece in chunks(message_ids, after=1):
        rows = await tx.fetch(
            f"select seq from events where text_room = $1 and text_message in ({marks})",  # noqa: S608
            room_id,
            *piece,
        )
        found += [seq for (seq,) in rows]
    return found
