"""What the tests of a storage do over and over.

The tests write rows of ``server_settings`` and events, for those tables hang on nothing.
"""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio

from teamchat.events import Audience, Encoded, LoggedEvent
from teamchat.interfaces import Storage, Transaction

PATIENCE_SECONDS = 20


async def set_value(tx: Transaction, name: str, value: str) -> None:
    """Write one row."""
    await tx.fetch(
        "insert into server_settings (name, value) values ($1, $2)"
        " on conflict (name) do update set value = excluded.value",
        name,
        value,
    )


async def save(storage: Storage, name: str, value: str) -> None:
    """Write one row in a transaction of its own."""
    async with storage.write() as tx:
        await set_value(tx, name, value)


async def values(storage: Storage) -> dict[str, str]:
    """Return all rows."""
    async with storage.read() as tx:
        return dict(await tx.fetch("select name, value from server_settings"))


async def append(storage: Storage, payload: str, audience: Audience = None) -> None:
    """Write one event in a transaction of its own."""
    async with storage.write() as tx:
        await tx.append(Encoded("TEST", payload, audience))


@asynccontextmanager
async def following(storage: Storage, after: int) -> AsyncIterator[AsyncIterator[Sequence[LoggedEvent]]]:
    """Follow the log, and close the iterator in the end if it is a generator."""
    batches = storage.follow(after)
    try:
        yield batches
    finally:
        if isinstance(batches, AsyncGenerator):
            await batches.aclose()


async def followed(storage: Storage, after: int, count: int) -> list[LoggedEvent]:
    """Return the first `count` events that `follow` gives."""
    events: list[LoggedEvent] = []
    with trio.move_on_after(PATIENCE_SECONDS):
        async with following(storage, after) as batches:
            async for batch in batches:
                assert batch, "follow() yields no empty batch"
                events += batch
                if len(events) >= count:
                    return events
    raise AssertionError(
        f"follow({after}) gave {len(events)} of {count} events within {PATIENCE_SECONDS} seconds"
    )
