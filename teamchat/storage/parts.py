"""Long work, in parts with a transaction each, so that others can write in between: one way for all of it.

When a part has ended, what it did is in the database. So if a process is killed, whoever does the work next
does the rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from teamchat.interfaces import Storage, Transaction

REST = 4.0
"""How many times as long as a part took nothing is done after it: others have four fifths of the time."""
SHORT_REST = 1.0
"""The same where somebody waits for all of it."""
ROWS = 100
"""Those that `delete_in_parts` takes away in one transaction, in 2 milliseconds on SQLite."""


async def in_parts(
    storage: Storage,
    part: Callable[[Transaction], Awaitable[bool]],
    *,
    rest: float = REST,
    pause: float = 0.0,
) -> None:
    """Do `part` again and again until it returns False, each time in a transaction of its own.

    A part is to be short, for all other writers wait for it, on SQLite the whole server.  After each comes a
    `rest` of so many times as long, and of `pause` seconds at least.
    """
    has_more = True
    while has_more:
        async with storage.write() as tx:
            began = trio.current_time()
            has_more = await part(tx)
            worked = trio.current_time() - began
        if has_more:
            await trio.sleep(max(pause, rest * worked))


async def delete_in_parts(storage: Storage, sql: str, *params: Any) -> None:
    """Delete what `sql` finds, `ROWS` at a time: that number stands for its ``{}``, and it returns what went.

    PostgreSQL does not know a number that is a parameter as it plans: it takes a tenth of the table.
    """
    some = sql.format(ROWS)

    async def part(tx: Transaction) -> bool:
        return len(await tx.fetch(some, *params)) == ROWS

    await in_parts(storage, part)
