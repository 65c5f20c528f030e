"""Fills a channel with a long history, straight into the database of a server that is not running."""

from __future__ import annotations

from pathlib import Path

import trio

from teamchat.model import now_ms
from teamchat.model.ids import new_id
from teamchat.storage.sqlite import SqliteOptions, open_sqlite

_BATCH = 5_000


async def fill(data: Path, channel_id: str, author_id: str, count: int) -> None:
    """Write `count` messages of some 60 characters into the channel."""
    async with open_sqlite(SqliteOptions(str(data / "data"))) as storage:
        for begun in range(0, count, _BATCH):
            async with storage.write() as tx:
                for number in range(begun, min(begun + _BATCH, count)):
                    await tx.fetch(
                        "insert into messages (id, room_id, author_id, content, created_at)"
                        " values ($1, $2, $3, $4, $5)",
                        new_id(),
                        channel_id,
                        author_id,
                        f"message {number} of a long history, about as long as people write",
                        now_ms(),
                    )
            await trio.lowlevel.checkpoint()
