"""Moving everything from one storage into another, whatever they are.

* At first the target is empty, or has an unfinished move of the same installation. A mark in it says so, from
  before the first row until everything was compared; while it is there, no server starts.
* Rows are copied in the order of their keys, one page per transaction, from one snapshot. So an interrupted
  move continues after the last row that is there.
* The event log keeps its numbers, including those that no row has any more: a stream resumes across the move.
* A move has succeeded only when every table has the same number of rows and the same sum on both sides, read
  again from both. This also detects that the source was written to meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from teamchat.cluster.shared_settings import (
    remove_shared_setting_in,
    set_shared_setting_in,
    shared_setting_in,
)
from teamchat.errors import StorageError
from teamchat.interfaces import Storage, Transaction
from teamchat.storage.capability_tables import define_in, drop_in, stored_in, tables_in
from teamchat.storage.rows import Pages, count, delete_all, insert, last_key, sum_of
from teamchat.storage.tables import CAPABILITIES, MARK, RESTORING, Table, tables

Tell = Callable[[str, int, int], object]
"""Told how far it is: a table (or what is done), how many rows of it, of how many."""


class Outcome(Enum):
    """What a move came to."""

    MOVED = "moved"
    WAS_THERE = "was there already"


class SourceChanged(StorageError):
    """The source was written to while it was moved."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f"The source was written to while it was moved (table {table}): a server still runs on it. "
            "Stop it and give the same command again; it goes on by itself."
        )


async def move(source: Storage, target: Storage, tell: Tell = lambda *_: None) -> Outcome:
    """Copy everything. Raises `StorageError` if the target has data of its own, or the source changes."""
    identity = await _identity(source)
    state = await _begin(target, identity)
    if state is None:
        await _check_same(source, target, tell)
        return Outcome.WAS_THERE
    if state == "resumed" and not await _have_same_capabilities(source, target):
        await _empty(target)  # A plugin has brought tables between the two attempts, or changed its own.
    await _copy(source, target, tell)
    differing = await _differing(source, target, tell)
    if differing is not None and state == "resumed":
        # Something was written between the two attempts, to rows that were copied already.
        await _empty(target)
        await _copy(source, target, tell)
        differing = await _differing(source, target, tell)
    if differing is not None:
        raise SourceChanged(differing)
    async with target.write() as tx:
        await remove_shared_setting_in(tx, MARK)
    return Outcome.MOVED


async def refuse_unfinished(storage: Storage) -> None:
    """Raise `StorageError` if a move or a restore into this storage was begun and not finished."""
    async with storage.read() as tx:
        if await is_half_restored(tx):
            raise StorageError(
                "A backup was being restored into this database, and that has not been finished. "
                "Give the command teamchat restore again."
            )
        if await shared_setting_in(tx, MARK) is not None:
            raise StorageError(
                "Another database is being moved into this one, and that has not been finished. "
                "Give the command teamchat migrate-storage again; it goes on where it was."
            )


async def is_half_restored(tx: Transaction) -> bool:
    """Return whether a backup is in this storage whose signing secret may not be in its place yet."""
    return bool(await tx.fetch("select 1 from marks where name = $1", RESTORING))


async def _identity(source: Storage) -> str:
    """Return what distinguishes installations: the first user, who stays as a row for ever."""
    async with source.read() as tx:
        if await shared_setting_in(tx, MARK) is not None:
            raise StorageError("The source is itself the target of a move that was not finished.")
        [(first,)] = await tx.fetch("select min(id) from users")
    if first is None:
        raise StorageError("The source has no users, so there is nothing to move. Is --from the right file?")
    return str(first)


async def _begin(target: Storage, identity: str) -> str | None:
    """Mark the target; return whether the move is ``fresh`` or ``resumed``, or None if data is there."""
    async with target.write() as tx:
        marked = await shared_setting_in(tx, MARK)
        if marked is not None and marked != identity:
            raise StorageError(
                "Another installation is being moved into the target, and that has not been finished. "
                "Finish it, or give an empty target."
            )
        if marked is not None:
            return "resumed"
        if await is_used(tx):
            return None
        await set_shared_setting_in(tx, MARK, identity)
    return "fresh"


async def is_used(tx: Transaction) -> bool:
    """Return whether a storage has any row of an installation's."""
    for table in tables():
        if await tx.fetch(f"select 1 from {table.name} limit 1"):  # noqa: S608
            return True
    return False


async def _check_same(source: Storage, target: Storage, tell: Tell) -> None:
    """The last step of a move may have been cut off after it was done: then both hold the same."""
    async with source.read() as left, target.read() as right:
        kept = await tables_in(left)
        if kept != await tables_in(right):
            raise _occupied(CAPABILITIES)
        for table in kept:
            if await count(left, table) != await count(right, table):
                raise _occupied(table.name)
    differing = await _differing(source, target, tell)
    if differing is not None:
        raise _occupied(differing)


def _occupied(table: str) -> StorageError:
    return StorageError(
        f"The target has data of its own (table {table}) and is left as it is. "
        "Give an empty target: a new database, or another storage.path."
    )


async def _have_same_capabilities(source: Storage, target: Storage) -> bool:
    async with source.read() as left, target.read() as right:
        return await stored_in(left) == await stored_in(right)


async def _copy(source: Storage, target: Storage, tell: Tell) -> None:
    _, last = await source.log_bounds()
    async with source.read() as snapshot:
        await _define_tables(snapshot, target)
        for table in await tables_in(snapshot):
            await _copy_table(snapshot, target, table, tell)
    async with target.write() as tx:
        await tx.advance_log(last)


async def _define_tables(snapshot: Transaction, target: Storage) -> None:
    """Make the tables of capabilities in the target, and note them there, unless that is done already."""
    async with target.write() as tx:
        if not await stored_in(tx):
            await define_in(tx, await stored_in(snapshot))
            [noted] = [table for table in tables() if table.name == CAPABILITIES]
            async for page in Pages(snapshot, noted):
                await insert(tx, noted, page)


async def _copy_table(snapshot: Transaction, target: Storage, table: Table, tell: Tell) -> None:
    total = await count(snapshot, table)
    async with target.read() as tx:
        done = await count(tx, table)
        ends = [await last_key(tx, table, where) for where in table.passes]
    tell(table.name, done, total)
    for where, after in zip(table.passes, ends, strict=True):
        async for page in Pages(snapshot, table, where, after):
            async with target.write() as tx:
                await insert(tx, table, page)
            done += len(page)
            tell(table.name, done, total)


async def _empty(target: Storage) -> None:
    """Take back what was copied, the mark excepted."""
    async with target.write() as tx:
        await drop_in(tx)
        for table in reversed(tables()):
            await delete_all(tx, table)


async def _differing(source: Storage, target: Storage, tell: Tell) -> str | None:
    """Return the first table that is not the same on both sides, or None."""
    async with source.read() as tx:
        kept = await tables_in(tx)
    for number, table in enumerate(kept):
        tell("comparing", number, len(kept))
        async with source.read() as left, target.read() as right:
            if await sum_of(left, table) != await sum_of(right, table):
                return table.name
    tell("comparing", len(kept), len(kept))
    if (await source.log_bounds())[1] != (await target.log_bounds())[1]:
        return "events"
    return None
