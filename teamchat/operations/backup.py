"""Backing up an installation while it is served.

The tables are those of one moment after the command was given, so they contain what was acknowledged before.
Images are copied after that: they never change, but they can be removed meanwhile, and one that was is listed
as missing. A server is not held up, because its database reads from a snapshot. Events are not in the file,
only the number of the last one (`teamchat.operations.restore` says why).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from enum import Enum
from pathlib import Path

from teamchat import __version__
from teamchat.capabilities import KeepsFiles, KeptFile
from teamchat.interfaces import FileStore, ImageStore, Storage, Transaction
from teamchat.model import now_ms
from teamchat.operations.archive import FORMAT, VERSION, ArchiveWriter, Manifest, TableEntry, written
from teamchat.operations.installation import Installation
from teamchat.operations.stored_files import kept_in, pieces_of, unoffered
from teamchat.operations.stored_images import keys_of, read_image
from teamchat.settings.signing import kept_secret
from teamchat.storage.capability_tables import tables_in
from teamchat.storage.moving import Tell
from teamchat.storage.rows import Pages, Summing, count
from teamchat.storage.schema import MIGRATIONS
from teamchat.storage.tables import LOG, Table


class _Secret(Enum):
    """Where the signing secret is, as it is told."""

    KEPT = "It holds the signing secret: who has this file can sign in as anyone. Keep it safe."
    CONFIGURED = "auth.jwtSecret is configured, so it is not in the backup. Keep the configuration too."
    MISSING = (
        "There is no signing secret in storage.path, and so none in the backup. Is this the server's "
        "directory? A relative path begins where the command is given."
    )


async def back_up(installation: Installation, file: Path, tell: Tell = lambda *_: None) -> list[str]:
    """Write a backup and return what is to be said about it. Raises an `OperatorError`."""
    keeping = installation.kept_files()
    async with (
        installation.existing_storage() as storage,
        installation.images() as images,
        installation.files() as files,
    ):
        with written(file) as archive:
            created_at = now_ms()
            entries, keys, kept = await _write_tables(storage, archive, keeping, tell)
            missing = await _write_images(images, archive, keys, tell)
            gone = await _write_files(files, archive, kept, tell)
            secret = _write_secret(installation, archive)
            _, log_end = await storage.log_bounds()
            archive.finish(
                Manifest(
                    format=FORMAT,
                    version=VERSION,
                    teamchat=__version__,
                    schema=MIGRATIONS[-1].number,
                    created_at=created_at,
                    log_end=log_end,
                    has_secret=secret is _Secret.KEPT,
                    tables=entries,
                    images=archive.finish_images(),
                    missing_images=missing,
                    files=archive.finish_files(),
                )
            )
        lost = await _still_named(storage, missing)
        async with storage.read() as tx:
            named = {one.key for one in await _kept(tx, keeping)}
            unknown = await unoffered(tx, installation.offered_namespaces())
    return [*_said(file, lost, len(named.intersection(gone)), secret), *unknown]


async def _write_tables(
    storage: Storage, archive: ArchiveWriter, keeping: Sequence[KeepsFiles], tell: Tell
) -> tuple[dict[str, TableEntry], list[str], list[KeptFile]]:
    """Write every table but the log, from one snapshot.

    Returns what was written, the keys of images, and the files that there are.
    """
    entries: dict[str, TableEntry] = {}
    keys: list[str] = []
    async with storage.read() as snapshot:
        for table in await tables_in(snapshot):
            if table.name != LOG:
                entries[table.name] = await _write_table(snapshot, archive, table, keys, tell)
        return entries, keys, await _kept(snapshot, keeping)


async def _kept(tx: Transaction, keeping: Sequence[KeepsFiles]) -> list[KeptFile]:
    """Return the files that the tables name; a capability that was never on has no tables."""
    there = {table.name for table in await tables_in(tx)}
    return await kept_in(tx, [one for one in keeping if one.table in there])


async def _write_files(
    store: FileStore | None, archive: ArchiveWriter, kept: Sequence[KeptFile], tell: Tell
) -> list[str]:
    """Write the bytes of files, and return the keys of those that are gone."""
    missing = []
    for done, (key, _) in enumerate(kept, start=1):
        pieces = None if store is None else await pieces_of(store, key)
        if pieces is None:
            missing.append(key)
        else:
            async with aclosing(pieces):
                await archive.add_file(key, pieces)
        tell("files", done, len(kept))
    return missing


async def _write_table(
    snapshot: Transaction, archive: ArchiveWriter, table: Table, keys: list[str], tell: Tell
) -> TableEntry:
    total, done, summing = await count(snapshot, table), 0, Summing()
    tell(table.name, 0, total)
    with archive.table(table.name) as lines:
        async for page in Pages(snapshot, table):
            lines.write(b"".join([summing.add(row) for row in page]))
            if table.name == "images":
                keys += _keys(table, page)
            done += len(page)
            tell(table.name, done, total)
    found = summing.sum()
    return TableEntry(table.columns, found.rows, found.sha256)


def _keys(table: Table, page: Sequence[tuple[object, ...]]) -> list[str]:
    name, thumbnail = table.columns.index("filename"), table.columns.index("thumbnail_type")
    return [key for row in page for key in keys_of(str(row[name]), has_thumbnail=row[thumbnail] is not None)]


async def _write_images(
    images: ImageStore, archive: ArchiveWriter, keys: Sequence[str], tell: Tell
) -> list[str]:
    """Write the bytes of images, and return the keys of those that are gone."""
    missing = []
    for done, key in enumerate(keys, start=1):
        data = await read_image(images, key)
        if data is None:
            missing.append(key)
        else:
            archive.add_image(key, data)
        tell("images", done, len(keys))
    return missing


def _write_secret(installation: Installation, archive: ArchiveWriter) -> _Secret:
    """Write the signing secret if it is one that was generated; a configured one is in the configuration."""
    if installation.settings.auth.jwt_secret is not None:
        return _Secret.CONFIGURED
    secret = kept_secret(installation.settings)
    if secret is None:
        return _Secret.MISSING
    archive.add_secret(secret)
    return _Secret.KEPT


async def _still_named(storage: Storage, missing: Sequence[str]) -> int:
    """Return how many images are named by the database though their bytes are gone."""
    lost = 0
    for key in missing:
        async with storage.read() as tx:
            lost += len(await tx.fetch("select 1 from images where filename = $1", key))
    return lost


def _said(file: Path, lost: int, lost_files: int, secret: _Secret) -> list[str]:
    said = [f"{file} is written."]
    if lost_files:
        said.append(f"{lost_files} files have no bytes in their store, and so not in the backup either.")
    if lost:
        said.append(f"{lost} images have no bytes in the image store, and so not in the backup either.")
    return [*said, secret.value]
