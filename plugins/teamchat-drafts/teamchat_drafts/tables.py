"""The table of drafts, and how long what is left of one stands in it.

A draft that was deleted or sent leaves a tombstone: a row with its id and version, and nothing else of it.
One whose place or thread is gone leaves an empty row that is answered as a draft of a place which its user
does not see any more, for as long as the account is there: nobody can tell which of the two it is (extension
rule X-3).
"""

from __future__ import annotations

from teamchat import Check, Migration, Storage
from teamchat.model import now_ms

TOMBSTONE_MS = 30 * 24 * 3600 * 1000
"""How long a draft that was deleted or sent can't come back."""
_BATCH = 500

MIGRATIONS = (
    Migration(
        1,
        (
            # With `deleted_at` a tombstone. With room_id '' its place or its thread is gone, and the row is
            # empty. `entities` and `files` are JSON.
            """create table drafts (user_id text not null references users(id) on delete cascade,
               id text not null, room_id text not null, thread_id text, quoted_id text, quoted_room text,
               content text not null, entities text, files text, version {int} not null,
               updated_at {int} not null, deleted_at {int}, primary key (user_id, id)){table_end}""",
            "create index drafts_by_room on drafts(room_id)",
            "create index drafts_by_thread on drafts(thread_id) where thread_id is not null",
            "create index drafts_by_quoted on drafts(quoted_id) where quoted_id is not null",
            "create index drafts_by_quoted_room on drafts(quoted_room) where quoted_room is not null",
            "create index drafts_by_deletion on drafts(deleted_at) where deleted_at is not null",
        ),
    ),
)

CHECKS = (
    Check(
        "drafts",
        "of a draft that is gone nothing is kept",
        """select count(*) from drafts where (deleted_at is not null or room_id = '')
        and (content <> '' or entities is not null or files is not null or thread_id is not null)""",
    ),
)


class Tombstones:
    """The tombstones of a server, which have their time."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def sweep(self) -> None:
        """Remove those that are old enough, some in each transaction."""
        before = now_ms() - TOMBSTONE_MS
        while True:
            async with self._storage.read() as tx:
                rows = await tx.fetch(
                    "select user_id, id from drafts where deleted_at < $1 limit $2", before, _BATCH
                )
            if not rows:
                return
            async with self._storage.write() as tx:
                for user_id, id_ in rows:
                    await tx.fetch(
                        "delete from drafts where user_id = $1 and id = $2 and deleted_at < $3",
                        *(user_id, id_, before),
                    )
