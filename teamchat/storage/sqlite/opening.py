"""Opening the database, whatever other processes are doing with it at that moment."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import apsw
import trio
from msgspec import Struct

from teamchat.errors import SettingsError, StorageError
from teamchat.interfaces import Transaction, Upgrade
from teamchat.observability.logs import get_logger
from teamchat.storage.schema import MIGRATIONS, Migration
from teamchat.storage.sqlite.connections import cause, connect, migrate, version_of
from teamchat.storage.sqlite.storage import SqliteStorage
from teamchat.storage.sqlite.transaction import SqliteTransaction
from teamchat.storage.sqlite.upgrading import keep_copy, rehearse

DATABASE_NAME = "teamchat.db"
_ENDS = ("", "-wal", "-shm", "-turns")
"""Of the names of the files that a database has."""
OPEN_SECONDS = 30.0
"""How long opening waits for another process that opens, migrates or closes the same database."""
_OPEN_PAUSE = 0.02

_log = get_logger(__name__)


class SqliteOptions(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The keys of ``[storage]`` for the backend ``sqlite``. `path` is the directory of the data.

    `copy_before_upgrade`: keep a copy of the database beside it when a new version changes the schema, of
    teamchat or of a capability.
    """

    path: str = "teamchat-data"
    copy_before_upgrade: bool = True


@asynccontextmanager
async def open_sqlite(options: SqliteOptions) -> AsyncIterator[SqliteStorage]:
    """Open (or make) the database in the directory `options.path` and bring its schema up to date.

    Other processes may have it open, or open it at the same moment.  Raises an `OperatorError` if the
    directory can't be used, or the schema is newer than this version knows.
    """
    refuse_closed(Path(options.path))
    try:
        storage = await _open_in_time(Path(options.path), keeps_copy=options.copy_before_upgrade)
    except (OSError, apsw.Error) as error:
        raise _unusable(error) from error
    try:
        yield storage
    finally:
        storage.close()


def _unusable(error: OSError | apsw.Error) -> StorageError:
    """Return the sentence for an operator whose database can't be opened."""
    if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return StorageError(
            f"The file {DATABASE_NAME} in storage.path is damaged, or no database at all. Move it away with "
            "those beside it whose names begin with its, and restore a backup (teamchat restore)."
        )
    if isinstance(error, apsw.FullError) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return StorageError("storage.path: the disk is full. Make room.")
    return StorageError(
        f"The directory of storage.path can't hold the database: {cause(error)}. "
        "Give a directory that this user may write to."
    )


async def _open_in_time(directory: Path, *, keeps_copy: bool) -> SqliteStorage:
    """Try again while another process opens, migrates or closes: what an attempt did can be done twice."""
    deadline = trio.current_time() + OPEN_SECONDS
    while True:
        try:
            return _open(directory, keeps_copy=keeps_copy)
        except apsw.BusyError:
            if trio.current_time() >= deadline:
                raise StorageError(
                    "The database in storage.path is in use by another program, which does not let go of it."
                ) from None
        await trio.sleep(_OPEN_PAUSE)


def _open(directory: Path, *, keeps_copy: bool) -> SqliteStorage:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / DATABASE_NAME
    writer = connect(path, 0)
    try:
        was_kept = keep_copy(writer, path) is not None if keeps_copy else False
        migrate(writer, _tell)
        # One copy is enough: what was before the first migration of this start.
        return SqliteStorage(path, writer, keeps_copy=keeps_copy and not was_kept)
    except BaseException:
        writer.close()
        raise


def _tell(migration: Migration) -> None:
    _log.warning("upgrading the database", schema=migration.number, newest=MIGRATIONS[-1].number)


async def rehearse_upgrade(
    options: SqliteOptions, then: Callable[[Transaction], Awaitable[object]] | None = None
) -> Upgrade:
    """Try on a copy what opening would do to the schema, and `then` what comes after it.

    Raises an `OperatorError` if it would fail.
    """

    def go_on(copy: apsw.Connection) -> None:
        if then is not None:
            with copy:
                trio.from_thread.run(then, SqliteTransaction(copy, writable=True))

    path = Path(options.path) / DATABASE_NAME
    refuse_closed(path.parent)
    if not _is_there(path):
        raise StorageError("There is no database in storage.path yet, so there is nothing to upgrade.")
    try:
        return await trio.to_thread.run_sync(rehearse, path, go_on)
    except (apsw.CantOpenError, apsw.NotADBError, apsw.CorruptError) as error:
        raise _unusable(error) from error
    except apsw.Error as error:
        raise StorageError(
            f"The upgrade was tried on a copy, and failed: {cause(error)}. Nothing was changed."
        ) from error


async def present_schema(options: SqliteOptions) -> int:
    """Return the number of the schema that is there, 0 for none. Raises an `OperatorError` if that fails."""
    path = Path(options.path) / DATABASE_NAME
    refuse_closed(path.parent)
    if not _is_there(path):
        return 0
    try:
        with closing(connect(path, int(OPEN_SECONDS * 1000))) as connection:
            return version_of(connection)
    except apsw.Error as error:
        raise _unusable(error) from error


def refuse_closed(directory: Path) -> None:
    """Raise `SettingsError` if this user can't use a data directory, or a file of the database in it."""
    if (why := why_closed(directory)) is not None:
        raise SettingsError(f"storage.path: {' '.join(why)}")


def why_closed(directory: Path) -> tuple[str, str] | None:
    """Return what of a data directory this user can't read and write, and the remedy; None if all can be.

    A file that is read-only is told of before SQLite opens it, which would make its log read-only too.
    """
    for path in (directory, *(directory / f"{DATABASE_NAME}{end}" for end in _ENDS)):
        if _is_read_only(path):
            return f"{path} is on a file system that is read-only.", (
                "Mount it for writing; if the system has done that by itself, look at the disk first."
            )
        if _is_closed(path):
            remedy = "Run this as the server's user."
            if path != directory:
                remedy += " The file has to belong to that user, with mode 600."
            return f"{path} can't be used by this user.", remedy
    return None


def _is_closed(path: Path) -> bool:
    """Return whether there is, or may be, what this user can't read and write."""
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
    except PermissionError:
        return True
    except OSError:
        return False
    return not os.access(path, os.R_OK | os.W_OK | (os.X_OK if is_directory else 0))


def _is_read_only(path: Path) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _is_there(path: Path) -> bool:
    """Return whether there is a file, as far as this user can see."""
    return os.path.isfile(path)
