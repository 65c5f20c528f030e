"""Reading the event log: the same statement on every storage, and how a row of it becomes an event."""

from __future__ import annotations

import json

from teamchat.events import LoggedEvent
from teamchat.interfaces import Transaction

_AFTER = "select seq, type, payload, audience from events where seq > $1 order by seq limit $2"


async def logged_in(tx: Transaction, after: int, limit: int) -> list[LoggedEvent]:
    """Return up to `limit` events with ``seq > after``, in order, as a transaction sees them."""
    return [
        LoggedEvent(seq, kind, payload, None if audience is None else tuple(json.loads(audience)))
        for seq, kind, payload, audience in await tx.fetch(_AFTER, after, limit)
    ]
