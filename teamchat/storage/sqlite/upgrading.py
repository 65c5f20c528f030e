"""Upgrading the schema without fear: a copy is kept, and an upgrade can be rehearsed.

Before a migration touches a database that has data, there is a complete copy beside it, readable only by its
owner, and named after its schema or after the capability's migration that comes next. An interrupted copy
does not count, and the next one removes it. A copy replaces an older one of the same name: somebody who went
back and upgrades again has written since. A rehearsal works on a copy, which it removes, and leaves the
database as it is, even while a server uses it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from teamchat.errors import StorageError
from teamchat.interfaces import Upgrade
from teamchat.observability.logs import get_logger
from teamchat.storage.disk import sync
from teamchat.storage.schema import MIGRATIONS
from teamchat.storage.sqlite.connections import cause, connect, migrate, version_of

_RUN = "select count(*) from capability_migrations where namespace = ? and number >= ?"

_log = get_logger(__name__)


def keep_copy(connection: apsw.Connection, path: Path) -> Path | None:
    """Keep a copy of a database that is about to be migrated; return where, or None if it needs none.

    Raises `StorageError` if there is no room for it.
    """
    version = version_of(connection)
    kept = path.with_name(f"{path.name}.schema-{version}")
    if not 0 < version < MIGRATIONS[-1].number:
        return None
    return _keep(connection, path, kept, lambda copy: version_of(copy) == version)


def keep_copy_before(path: Path, namespace: str, number: int) -> Path | None:
    """Keep a copy before migration `number` of a capability's tables runs; return where.

    None if another process has run it meanwhile. Raises `StorageError` if there is no room for it.
    """
    kept = path.with_name(f"{path.name}.before-{namespace}-{number}")
    with closing(connect(path, 5000)) as connection:
        return _keep(connection, path, kept, lambda copy: not copy.execute(_RUN, (namespace, number)).get)


def _keep(
    connection: apsw.Connection, path: Path, kept: Path, is_of_before: Callable[[apsw.Connection], bool]
) -> Path | None:
    """Keep a copy, unless another process was faster: it has kept its own."""
    size = path.stat().st_size // 1_048_576 + 1
    _log.warning("keeping a copy of the database before its upgrade", file=kept.name, mebibytes=size)
    with _copied(connection, path, "set storage.copyBeforeUpgrade to false") as copy:
        with closing(apsw.Connection(str(copy))) as opened:
            if not is_of_before(opened):
                return None
        sync(copy)
        copy.replace(kept)
        sync(path.parent)
    return kept


def rehearse(path: Path, then: Callable[[apsw.Connection], object] = lambda _: None) -> Upgrade:
    """Run the migrations on a copy of the database and look whether everything is still there.

    `then` tries on the copy what comes after them.  Where there are none to run there is no copy.  Raises
    `StorageError` if a migration fails or something is missing afterwards.
    """
    with closing(connect(path, 5000)) as connection:
        present = version_of(connection)
        if present == MIGRATIONS[-1].number:
            return Upgrade(present, present, sum(_counts(connection).values()))
        otherwise = "have teamchat serve upgrade it without a trial"
        with _copied(connection, path, otherwise) as copy, closing(apsw.Connection(str(copy))) as opened:
            opened.pragma("foreign_keys", True)
            before = _counts(opened)
            migrate(opened)
            if (
                opened.pragma("integrity_check") != "ok"
                or opened.execute("pragma foreign_key_check").fetchall()
            ):
                raise StorageError(
                    "The upgrade was tried on a copy, and left it damaged. Nothing was changed."
                )
            after = _counts(opened)
            if missing := [table for table, count in _moved(before, present).items() if after[table] < count]:
                raise StorageError(
                    f"The upgrade was tried on a copy, and rows of {', '.join(missing)} were missing "
                    "afterwards. Nothing was changed."
                )
            then(opened)
    return Upgrade(present, MIGRATIONS[-1].number, sum(before.values()))


def _moved(counts: Mapping[str, int], present: int) -> Counter[str]:
    """Return how many rows there must be in each table after the migrations that the schema has not seen."""
    for migration in MIGRATIONS:
        if migration.number > present:
            moved: Counter[str] = Counter()
            for table, count in counts.items():
                moved[migration.moved.get(table, table)] += count
            counts = moved
    return Counter(counts)


@contextmanager
def _copied(connection: apsw.Connection, path: Path, otherwise: str) -> Iterator[Path]:
    """Copy the database as it is at one moment, for as long as the copy is looked at.

    `otherwise` is what can be done where there is no room for one.
    """
    _remove_leftovers(path)
    copy, held = _begun(path)
    try:
        try:
            connection.execute("vacuum into ?", (str(copy),))
        except (apsw.FullError, apsw.IOError) as error:
            size = path.stat().st_size // 1_048_576 + 1
            raise StorageError(
                "Before an upgrade a copy of the database is made beside it, and there is no room for that: "
                f"about {size} MiB ({cause(error)}). Make room, or {otherwise}."
            ) from error
        yield copy
    finally:
        _remove(copy)
        os.close(held)


def _begun(path: Path) -> tuple[Path, int]:
    """Make the file of a copy, and hold it: by its ``flock`` others see that it is still being made."""
    while True:
        copy = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
        held = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_SH)
        if os.fstat(held).st_nlink:
            return copy, held
        os.close(held)  # Another process took it for a leftover before it was held.


def _remove_leftovers(path: Path) -> None:
    """Remove the copies of processes that were killed: each is as large as the database."""
    for leftover in path.parent.glob(f".{path.name}-{'[0-9a-f]' * 16}"):
        try:
            found = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(leftover)
        except OSError:
            continue
        finally:
            os.close(found)


def _remove(copy: Path) -> None:
    for each in (copy, *(copy.with_name(copy.name + end) for end in ("-wal", "-shm", "-journal"))):
        each.unlink(missing_ok=True)


def _counts(connection: apsw.Connection) -> dict[str, int]:
    tables = connection.execute(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'"
    ).fetchall()
    return {
        str(name): connection.execute(f"select count(*) from {name}").get  # noqa: S608  # its own tables
        for (name,) in tables
    }
