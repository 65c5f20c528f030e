"""Restoring a backup over an installation, empty or not.

* The file is read and compared with its manifest before anything changes. All rows are written, read again
  and compared in one transaction, so an installation is restored completely or left as it was.
* The bytes of images are stored before the rows that name them, and rows of images whose bytes are not in the
  file are left out. If the rows are not written in the end, these bytes are removed again; if they are, the
  bytes that only the previous rows named are removed.
* Rows and signing secret change together. The secret is put beside its place before the rows are written, and
  into its place afterwards. Until that is done, a mark that came with the rows keeps servers from starting,
  and a second restore finishes the work.
* The log continues at numbers that no client has ever seen. Clients saw more than the backup has; if their
  numbers were used again for other events, they would miss some without knowing. So the log is empty and
  continues at the time of the restore in microseconds, because no log grows that fast. Clients that resume
  are told to reload (decision D-34).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import trio

from teamchat.errors import DeclarationError, StorageError, TeamchatError
from teamchat.interfaces import FileStore, ImageStore, Storage
from teamchat.operations.archived import Archive, Damaged, opened
from teamchat.operations.installation import Installation
from teamchat.operations.restored_rows import image_keys_in, replace_rows
from teamchat.operations.room import bytes_in, check_room
from teamchat.operations.running import refuse_running, refuse_started_in
from teamchat.operations.stored_files import is_there, keys_in, put_file
from teamchat.operations.stored_images import put_image
from teamchat.settings.signing import secret_to_keep
from teamchat.storage.capability_tables import defined
from teamchat.storage.moving import Tell, is_half_restored, is_used
from teamchat.storage.schema import MIGRATIONS
from teamchat.storage.tables import LOG, MARK, RESTORING

_OF_SESSIONS = ("sessions", "refresh_tokens", "waiting_sign_ins")
_WHICH = "this installation"
_MARGIN = 1_000_000
_TAKING_OUT_SECONDS = 60.0


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
        _check_room(installation, archive, wishes)
        async with installation.storage() as storage:
            silent = await refuse_running(storage, _WHICH, waits)
            await _refuse_used(storage, wishes)
            with _secret(installation, archive) as put_secret:
                async with (
                    installation.images() as images,
                    installation.files() as files,
                    _images_put(images, storage, archive, tell),
                    _others_taken_out(installation, storage, files),
                    _files_put(files, archive, tell),
                ):
                    await _put_rows(storage, archive, wishes, tell, silent, marks=put_secret is not None)
                if put_secret is not None:
                    put_secret()
                    async with storage.write() as tx:
                        await tx.fetch("delete from marks where name = $1", RESTORING)
            return [f"{file} is restored.", *_said_of_secret(installation, archive)]


async def _refuse_used(storage: Storage, wishes: Wishes) -> None:
    async with storage.read() as tx:
        if not wishes.replaces and await is_used(tx) and not await is_half_restored(tx):
            raise StorageError(
                "This installation has data and is left as it is. Restore into an empty one, or "
                "give --replace: then everything that is there is lost."
            )


def _check_room(installation: Installation, archive: Archive, wishes: Wishes) -> None:
    """Refuse what can't find room in the end, before a disk is full of it. Over old data, less is needed."""
    if wishes.replaces:
        return
    wanted = []
    if installation.settings.storage.backend == "sqlite":
        wanted.append((installation.directory, archive.bytes_of("tables")))
    images = installation.image_directory
    if images is not None:  # Some may be there, of a restore that was killed.
        wanted.append((images, max(0, archive.bytes_of("images") - bytes_in(images))))
    files = installation.file_directory
    if files is not None:
        wanted.append((files, max(0, archive.bytes_of("files") - bytes_in(files))))
    check_room(wanted)


def _check_fits(file: Path, archive: Archive) -> None:
    schema, made_by = archive.manifest.schema, archive.manifest.teamchat
    found = {name: sorted(entry.columns) for name, entry in archive.manifest.tables.items()}
    if schema != MIGRATIONS[-1].number or found != _columns_of(file, archive):
        raise Damaged(
            file,
            f"it was made by teamchat {made_by[:20]}, whose tables are others (schema {schema}; this version "
            f"has {MIGRATIONS[-1].number}). Install that version, restore with it, then upgrade",
        )


def _columns_of(file: Path, archive: Archive) -> dict[str, list[str]]:
    """Return the columns of each table that there must be in the file."""
    try:
        tables = defined(archive.capability_migrations())
    except DeclarationError as error:
        raise Damaged(file, str(error)) from error
    return {table.name: sorted(table.columns) for table in tables if table.name != LOG}


@asynccontextmanager
async def _images_put(
    store: ImageStore, storage: Storage, archive: Archive, tell: Tell
) -> AsyncIterator[None]:
    """Put the images into the store; if what is done with them fails, take out what nothing names."""
    put, total = set[str](), archive.manifest.images.rows
    try:
        for done, (key, data) in enumerate(archive.images(), start=1):
            put.add(key)
            await put_image(store, key, data)
            tell("images", done, total)
        yield
    except BaseException:
        with trio.move_on_after(_TAKING_OUT_SECONDS, shield=True), suppress(TeamchatError, OSError):
            async with storage.read() as tx:
                put -= await image_keys_in(tx)
            for key in put:
                await store.delete(key)
        raise


@asynccontextmanager
async def _files_put(store: FileStore | None, archive: Archive, tell: Tell) -> AsyncIterator[None]:
    """Put the files into their store; if what is done with them fails, take out what was not there.

    Raises `StorageError` if there are some and no store: no plugin offers what keeps them.
    """
    put, total = [], archive.manifest.files.rows
    try:
        for done, (key, size, pieces) in enumerate(archive.files(), start=1):
            if store is None:
                raise StorageError(
                    "The backup has files, and no active plugin offers what keeps them. Install it, or take "
                    "it out of plugins.disabled."
                )
            if not await is_there(store, key):
                put.append(key)
                await put_file(store, key, size, _as_they_come(pieces))
            tell("files", done, total)
        yield
    except BaseException:
        with trio.move_on_after(_TAKING_OUT_SECONDS, shield=True), suppress(TeamchatError, OSError):
            for key in put:
                if store is not None:
                    await store.remove(key)
        raise


@asynccontextmanager
async def _others_taken_out(
    installation: Installation, storage: Storage, store: FileStore | None
) -> AsyncIterator[None]:
    """Take out the files that were there before and that nothing names after what is done meanwhile."""
    keeping = installation.kept_files()
    before = await keys_in(storage, keeping)
    yield
    if store is not None and before:
        for key in before - await keys_in(storage, keeping):
            await store.remove(key)


async def _as_they_come(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _put_rows(
    storage: Storage, archive: Archive, wishes: Wishes, tell: Tell, silent: Mapping[str, int], *, marks: bool
) -> None:
    """Replace all rows in one transaction; with `marks`, servers refuse them until the mark is gone.

    Raises `StorageError` if a server has started since those `silent` were all that there were.
    """
    _, last = await storage.log_bounds()
    async with storage.write() as tx:
        await refuse_started_in(tx, _WHICH, silent)
        await tx.fetch("delete from marks where name in ($1, $2)", MARK, RESTORING)
        await replace_rows(tx, archive, tell, without=_OF_SESSIONS if wishes.ends_sessions else ())
        await tx.advance_log(max(last, archive.manifest.log_end) + _MARGIN)
        await tx.advance_log(time.time_ns() // 1000)
        if marks:
            await tx.fetch("insert into marks (name, value) values ($1, $2)", RESTORING, "the secret")


@contextmanager
def _secret(installation: Installation, archive: Archive) -> Iterator[Callable[[], None] | None]:
    """Yield what puts the secret in its place, or None if the one that is there stays."""
    if archive.manifest.has_secret and installation.settings.auth.jwt_secret is None:
        with secret_to_keep(installation.settings, archive.secret()) as put:
            yield put
    else:
        yield None


def _said_of_secret(installation: Installation, archive: Archive) -> list[str]:
    configured = installation.settings.auth.jwt_secret
    if not archive.manifest.has_secret and configured is None:
        return [
            "Where the backup was made auth.jwtSecret was configured. Configure the same here; otherwise "
            "everyone has to sign in again."
        ]
    if archive.manifest.has_secret and configured is not None and configured.encode() != archive.secret():
        return ["auth.jwtSecret is another one than when the backup was made: everyone has to sign in again."]
    return []
