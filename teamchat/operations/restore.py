"""Putting a backup in the place of an installation, empty or not.

What must stay true:

* The file is read and compared with its manifest before anything changes.  All rows are written, and read
  again and compared, in one transaction, so an installation is restored whole or left as it was.
* The bytes of images come before the rows that name them, and rows of images whose bytes are not in the
  file are left out.
* The log goes on at numbers that no client has ever seen.  Clients saw more than the backup knows of; were
  their numbers given again, to other events, they would miss some and not know.  So the log is empty and
  goes on at the time of the restore in microseconds: no log grows as fast.  Who resumes is told to reload
  (decision D-34).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from teamchat.chat.images import THUMBNAIL_PREFIX
from teamchat.errors import StorageError
from teamchat.interfaces import Row, Transaction
from teamchat.operations.archive import Archive, Damaged, opened
from teamchat.operations.installation import Installation
from teamchat.operations.running import refuse_running
from teamchat.operations.stored_images import keys_of
from teamchat.settings.signing import keep_secret, kept_secret
from teamchat.storage.moving import Tell, is_used
from teamchat.storage.rows import Summing, delete_all, insert, sum_of
from teamchat.storage.schema import MIGRATIONS
from teamchat.storage.tables import LOG, Table, tables

_OF_SESSIONS = {"sessions", "refresh_tokens"}
_MARGIN = 1_000_000


class Wishes(NamedTuple):
    """How to restore: over data that is there, and without the sessions in the backup."""

    replaces: bool = False
    ends_sessions: bool = False


_PLAIN = Wishes()


async def restore(
    installation: Installation,
    file: Path,
    wishes: Wishes = _PLAIN,
    tell: Tell = lambda *_: None,
    waits: Callable[[], object] = lambda: None,
) -> list[str]:
    """Restore a backup and return what is to be said about it. Raises an `OperatorError`."""
    with opened(file) as archive:
        _check_fits(file, archive)
        archive.verify()
        async with installation.storage() as storage:
            await refuse_running(storage, "this installation", waits)
            async with storage.read() as tx:
                if not wishes.replaces and await is_used(tx):
                    raise StorageError(
                        "This installation has data and is left as it is. Restore into an empty one, or "
                        "give --replace: then everything that is there is lost."
                    )
            await _put_images(installation, archive, tell)
            _, last = await storage.log_bounds()
            async with storage.write() as tx:
                await _replace_rows(tx, archive, wishes, tell)
                await tx.advance_log(max(last, archive.manifest.log_end) + _MARGIN)
                await tx.advance_log(time.time_ns() // 1000)
                said = _put_secret(installation, archive)
    return [f"{file} is restored.", *said]


def _check_fits(file: Path, archive: Archive) -> None:
    schema, made_by = archive.manifest.schema, archive.manifest.teamchat
    found = {name: set(entry.columns) for name, entry in archive.manifest.tables.items()}
    if schema != MIGRATIONS[-1].number or found != _kept_columns():
        raise Damaged(
            file,
            f"it was made by teamchat {made_by}, whose tables are others (schema {schema}; this version has "
            f"{MIGRATIONS[-1].number}). Install that version, restore with it, then upgrade",
        )


def _kept_columns() -> dict[str, set[str]]:
    return {table.name: set(table.columns) for table in tables() if table.name != LOG}


async def _put_images(installation: Installation, archive: Archive, tell: Tell) -> None:
    total = archive.manifest.images.rows
    async with installation.images() as store:
        for done, (key, data) in enumerate(archive.images(), start=1):
            await store.put(key, data)
            tell("images", done, total)


async def _replace_rows(tx: Transaction, archive: Archive, wishes: Wishes, tell: Tell) -> None:
    doomed = await _image_keys(tx)
    for table in reversed(tables()):
        await delete_all(tx, table)
    for table in tables():
        if table.name != LOG:
            await _insert_table(tx, archive, table, wishes, tell)
    for key in doomed - await _image_keys(tx):
        await tx.fetch("insert into doomed_images (key) values ($1) on conflict do nothing", key)


async def _image_keys(tx: Transaction) -> set[str]:
    rows = await tx.fetch("select filename, thumbnail_type from images")
    return {key for name, thumbnail in rows for key in keys_of(name, has_thumbnail=thumbnail is not None)}


async def _insert_table(tx: Transaction, archive: Archive, table: Table, wishes: Wishes, tell: Tell) -> None:
    if wishes.ends_sessions and table.name in _OF_SESSIONS:
        return
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


def _put_secret(installation: Installation, archive: Archive) -> list[str]:
    """Put the signing secret in its place: last, so that it changes only with everything else."""
    settings = installation.settings
    if not archive.manifest.has_secret:
        if settings.auth.jwt_secret is None:
            return [
                "Where the backup was made auth.jwtSecret was configured. Configure the same here; otherwise "
                "everyone has to sign in again."
            ]
        return []
    if settings.auth.jwt_secret is None:
        keep_secret(settings, archive.secret())
        return []
    if kept_secret(settings) != archive.secret():
        return ["auth.jwtSecret is another one than when the backup was made: everyone has to sign in again."]
    return []
