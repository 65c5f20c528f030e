"""Replacing all rows by those of a backup, in a transaction that is open.

What was written is read again and compared. Rows of images whose bytes the backup does not have are left out.
Images that no row names any more are recorded, to be removed from the image store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from teamchat.chat.images_table import THUMBNAIL_PREFIX
from teamchat.errors import StorageError
from teamchat.interfaces import Row, Transaction
from teamchat.operations.archived import Archive
from teamchat.operations.stored_images import keys_of
from teamchat.storage.capability_tables import define_in, defined, drop_in
from teamchat.storage.moving import Tell
from teamchat.storage.rows import Summing, delete_all, insert, sum_of
from teamchat.storage.tables import LOG, Table, tables


async def replace_rows(tx: Transaction, archive: Archive, tell: Tell, without: Collection[str] = ()) -> None:
    """Write the rows of a backup in place of all, save those of the tables in `without`.

    Raises `Damaged` for a row that is none, `StorageError` for what the database does not take.
    """
    doomed = await image_keys_in(tx) | {key for (key,) in await tx.fetch("select key from doomed_images")}
    await drop_in(tx)
    for table in reversed(tables()):
        await delete_all(tx, table)
    stored = archive.capability_migrations()
    await define_in(tx, stored)
    for table in defined(stored):
        if table.name != LOG and table.name not in without:
            await _insert_table(tx, archive, table, tell)
    for key in doomed - await image_keys_in(tx):
        await tx.fetch("insert into doomed_images (key) values ($1) on conflict do nothing", key)


async def image_keys_in(tx: Transaction) -> set[str]:
    """Return the key of every image and thumbnail that the rows name."""
    rows = await tx.fetch("select filename, thumbnail_type from images")
    return {key for name, thumbnail in rows for key in keys_of(name, has_thumbnail=thumbnail is not None)}


async def _insert_table(tx: Transaction, archive: Archive, table: Table, tell: Tell) -> None:
    total, done, summing = archive.manifest.tables[table.name].rows, 0, Summing()
    for number in range(len(table.passes)):
        for page in _restored(archive, table):
            chosen = [row for row in page if table.is_in_pass(number, row)]
            if number == 0:
                for row in page:
                    summing.add(row)
            await insert(tx, table, chosen)
            done += len(chosen)
            tell(table.name, done, total)
    if await sum_of(tx, table) != summing.sum():
        raise StorageError(f"The table {table.name} is not what was written into it. Nothing was changed.")


def _restored(archive: Archive, table: Table) -> Iterator[Sequence[Row]]:
    """Yield a table's rows without those of images that have no bytes, its columns in today's order."""
    missing = set(archive.manifest.missing_images)
    columns = archive.manifest.tables[table.name].columns
    order = [columns.index(column) for column in table.columns]
    for page in archive.pages(table.name):
        rows = [tuple(row[index] for index in order) for row in page]
        if missing and "filename" in table.columns:
            kept = [row for row in rows if _name(table, row) not in missing]
            rows = [_without_thumbnail(table, row, missing) for row in kept]
        yield rows


def _name(table: Table, row: Row) -> str:
    return str(row[table.columns.index("filename")])


def _without_thumbnail(table: Table, row: Row, missing: set[str]) -> Row:
    if table.name != "images" or THUMBNAIL_PREFIX + _name(table, row) not in missing:
        return row
    return tuple(
        None if column.startswith("thumbnail_") else value
        for column, value in zip(table.columns, row, strict=True)
    )
