"""What a search notes in the transaction of a change: which rooms others see from then on."""

from __future__ import annotations

from teamchat import Changes, Migration, Room, Transaction

MIGRATIONS = (
    Migration(
        1,
        (
            # Rooms whose messages may stand in the index under another class than they are of by now.
            """create table search_moving (room_id text primary key references rooms(id) on delete cascade,
               changes {int} not null){table_end}""",
        ),
    ),
)


class Following(Changes):
    """Notes rooms whose messages belong to another class of the index."""

    async def privacy_changed(self, tx: Transaction, room: Room) -> None:
        await tx.fetch(
            """insert into search_moving (room_id, changes) values ($1, 1)
            on conflict (room_id) do update set changes = search_moving.changes + 1""",
            room.id,
        )
