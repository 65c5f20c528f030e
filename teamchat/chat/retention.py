"""Removing messages that are older than ``chat.retentionDays``.

An old message is removed as if its author had deleted it: with its thread (including newer replies), its
reactions and its images, and with the events of that in the same transaction. No newer message is removed,
except for such replies. It is done in parts, oldest first, each in a transaction, so that years can be caught
up with while people write and streams stay responsive. Several processes may do it at once.
"""

from __future__ import annotations

from teamchat.capabilities import Capabilities
from teamchat.chat.changes import erase
from teamchat.chat.sight import ROOM, Room, SeenMessage
from teamchat.interfaces import Storage, Transaction
from teamchat.model import now_ms
from teamchat.storage.parts import in_parts

BATCH = 50
"""How many messages go in one transaction: others wait for so long to write."""
PAUSE_SECONDS = 0.5
"""The least time between two transactions: everybody is told of each message."""
_DAY_MS = 24 * 3600 * 1000
# Ids begin with the time of their message, so the oldest stand first in the index there is anyway.
_OLDEST = f"""select m.id, m.author_id, {ROOM} from messages m join rooms r on r.id = m.room_id
where m.id < $1 and m.parent_id is null and m.created_at < $2 and r.kind <> 'gone'
order by m.id limit $3"""  # noqa: S608


class Retention:
    """Removes messages that are older than so many days."""

    def __init__(self, storage: Storage, days: int, capabilities: Capabilities | None = None) -> None:
        self._storage = storage
        self._capabilities = capabilities or Capabilities()
        self._kept_ms = days * _DAY_MS

    async def sweep(self) -> int:
        """Remove all messages that are too old by now, and return how many; threads count as one."""
        before, removed = now_ms() - self._kept_ms, 0

        async def part(tx: Transaction) -> bool:
            nonlocal removed
            found = await _oldest(tx, before)
            for message in found:
                await erase(tx, message, self._capabilities)
            removed += len(found)
            return len(found) == BATCH

        await in_parts(self._storage, part, pause=PAUSE_SECONDS)
        return removed


async def _oldest(tx: Transaction, before: int) -> list[SeenMessage]:
    rows = await tx.fetch(_OLDEST, _id_before(before), before, BATCH)
    return [SeenMessage(id_, Room.of(room), None, author_id) for id_, author_id, *room in rows]


def _id_before(milliseconds: int) -> str:
    """Return what is less than every id that was made at this time or later (RFC 9562, section 5.7)."""
    return f"{max(0, milliseconds):012x}".ljust(32, "0")
