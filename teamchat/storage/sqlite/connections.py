"""A connection to the database file, and the schema in it.

Every connection is in WAL mode, with foreign keys enforced and commits that are on disk when they return.
Processes that open, migrate or close the same database at the same time disturb each other only by
`apsw.BusyError`: what was begun can be begun again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from teamchat.errors import StorageError
from teamchat.storage.schema import MIGRATIONS, Migration

MOST_LOG_BYTES = 16 * 1024 * 1024
"""How long the write-ahead log may stay once a long reader, such as a backup, has let go of it."""
DIALECT = {"int": "integer", "log_key": "integer primary key autoincrement", "table_end": " strict"}


def migrate(connection: apsw.Connection, begins: Callable[[Migration], object] | None = None) -> None:
    """Run the migrations that the database has not seen, each in a transaction of its own.

    A new database gets all of them in one, so that none is left half made where the disk is full; with
    any other, `begins` is called before each.
    """
    newest = MIGRATIONS[-1].number
    if (version := version_of(connection)) > newest:
        raise StorageError(
            f"The database has schema {version}, and this version of teamchat knows {newest} at most. "
            "Install the version that wrote it, or a later one."
        )
    unseen = [migration for migration in MIGRATIONS if migration.number > version]
    if version == 0:
        _run(unseen, connection)
        return
    for migration in unseen:
        if begins is not None:
            begins(migration)
        _run([migration], connection)


def _run(step: Sequence[Migration], connection: apsw.Connection) -> None:
    """Run migrations in one transaction, but for those that others have run by the time this may write."""
    connection.execute("begin immediate")
    try:
        for migration in step:
            if migration.number > version_of(connection):
                for statement in migration.statements:
                    connection.execute(statement.format(**DIALECT))
                connection.pragma("user_version", migration.number)
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def version_of(connection: apsw.Connection) -> int:
    """Return the number of the last migration that the database has seen, 0 for a new one."""
    return int(connection.execute("pragma user_version").get)


def connect(path: Path, busy_milliseconds: int) -> apsw.Connection:
    """Open a connection in WAL mode, which waits so long where SQLite would answer that it is busy.

    A reader meets that only for as long as another reads the write-ahead log anew after a crash, which is
    milliseconds; it waits inline.  The writer does not wait at all: `Turns` does.
    """
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(busy_milliseconds)
        if connection.pragma("journal_mode", "wal") != "wal":
            raise StorageError(
                "The file system of storage.path can't hold SQLite's write-ahead log. "
                "Give a directory on a disk of this machine."
            )
        connection.pragma("synchronous", "full")
        connection.pragma("foreign_keys", True)
        connection.pragma("journal_size_limit", MOST_LOG_BYTES)
        # What is deleted is overwritten in the file too. On posts and on deleting a channel of 8,000 messages
        # it makes no difference that could be measured.
        connection.pragma("secure_delete", True)
        # Otherwise a statement whose plan may hang on a parameter, as where an index is partial, is planned
        # anew each time: 22 of the 80 microseconds of a page.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    except BaseException:
        connection.close()
        raise
    return connection


def cause(error: BaseException) -> str:
    """Name an error without its message, which may hold a path or a value."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, apsw.FullError):
        return "the disk is full"
    if isinstance(error, apsw.CorruptError):
        return "the database is damaged"
    if isinstance(error, apsw.ReadOnlyError):
        return "it is read-only"
    return type(error).__name__
