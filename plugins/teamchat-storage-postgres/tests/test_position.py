"""Asking how far the log reaches, when the one who asks the database is gone."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from teamchat_storage_postgres.failures import DatabaseUnavailable
from teamchat_storage_postgres.position import Position


class Silent:
    """A pool whose database never answers."""

    async def ask(self, _: str) -> list[tuple[int]]:
        await trio.sleep_forever()
        return []


async def test_whoever_asks_while_it_ends_is_told_no_position() -> None:
    position = Position(Silent())  # type: ignore[arg-type]
    ending = trio.CancelScope()

    async def run() -> None:
        with ending:
            await position.run()

    async def ask() -> None:
        with pytest.raises(DatabaseUnavailable):
            await position.ask()

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            ending.cancel()
