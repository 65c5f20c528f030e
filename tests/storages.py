"""Which storage the tests run on: SQLite, or PostgreSQL with ``TEAMCHAT_TEST_STORAGE=postgres``.

A test gives a directory and gets the storage that belongs to it: empty at first, the
same when it is opened again, by this process or another, and gone when the test has ended (`forget`, which
the fixture in ``conftest.py`` calls) or the directory has.  No test knows which it is, save those marked
`sqlite_only`.
"""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import apsw
import pytest

from teamchat.interfaces import Storage
from teamchat.settings import StorageSettings
from teamchat.storage.sqlite import DATABASE_NAME, SqliteOptions, open_sqlite
from teamchat.storage.tables import tables as kept_tables

ON_SQLITE = os.environ.get("TEAMCHAT_TEST_STORAGE", "sqlite") == "sqlite"
STORAGE_PLUGIN = "teamchat.storage.builtin" if ON_SQLITE else "teamchat_storage_postgres"
ONE_STORAGE = "with the tests on PostgreSQL, so is every server that they start"
_RESET = """
do $$ declare name text; begin
  set local session_replication_role = replica;
  for name in select tablename from pg_tables where schemaname = 'public' and tablename not like 'teamchat%'
  loop execute format('delete from %I', name); end loop;
  for name in select tablename from pg_tables where schemaname = 'public' and tablename not like 'teamchat%'
    and tablename not in ({core})
  loop execute format('drop table %I cascade', name); end loop;
  update teamchat_log_end set last = 0;
end $$
"""
_OF_PROCESSES = ("members", "streams", "request_windows")
_databases: dict[Path, str] = {}
_free: list[str] = []
_damaged: set[str] = set()


def lose_page(directory: Path, table: str) -> None:
    """Lose the first page of a table of SQLite's, which nobody has open, as a disk may."""
    path = directory / DATABASE_NAME
    database = apsw.Connection(str(path))
    root = database.execute("select rootpage from sqlite_schema where name = ?", (table,)).get
    size = database.pragma("page_size")
    database.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(bytes(size))


def sqlite_only(reason: str) -> pytest.MarkDecorator:
    """Mark a test that only SQLite can pass, or a module's ``pytestmark``; the reason says why."""
    return pytest.mark.skipif(not ON_SQLITE, reason=reason)


def open_storage(directory: str | Path) -> AbstractAsyncContextManager[Storage]:
    """Open the storage that belongs to a directory."""
    if ON_SQLITE:
        return open_sqlite(SqliteOptions(path=str(directory)))
    from teamchat_storage_postgres import PostgresOptions
    from teamchat_storage_postgres.storage import open_postgres

    return open_postgres(PostgresOptions(url=_url(Path(directory))))


def storage_section(directory: Path) -> dict[str, Any]:
    """Return the section ``[storage]`` for a server whose data shall be in a directory."""
    section = {"path": str(directory)}
    if ON_SQLITE:
        return section
    directory.mkdir(mode=0o700, exist_ok=True)
    return section | {"backend": "postgres", "url": _url(directory)}


def storage_settings(directory: Path) -> StorageSettings:
    """Return the same for a server in this process."""
    section = storage_section(directory)
    own = {name: section.pop(name) for name in ("path", "backend") if name in section}
    return StorageSettings(**own, options=section)


def look(directory: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query, asked of the database itself beside whoever uses it."""
    if not ON_SQLITE:
        from tests.postgres import shared

        return shared().query(sql, _database(directory))
    connection = apsw.Connection(str(directory / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(sql))
    finally:
        connection.close()


def tables(directory: Path) -> list[str]:
    """Return the names of all tables."""
    schema = (
        "select name from sqlite_master where type = 'table'"
        if ON_SQLITE
        else "select tablename from pg_tables where schemaname = 'public'"
    )
    return [name for (name,) in look(directory, schema)]


def damage(directory: Path, *statements: str) -> None:
    """Change the database under the feet of whoever uses it."""
    if not ON_SQLITE:
        from tests.postgres import shared

        _damaged.add(_database(directory))
        return shared().run(";".join(statements), _database(directory))
    connection = apsw.Connection(str(directory / DATABASE_NAME))
    connection.set_busy_timeout(5_000)
    for statement in statements:
        connection.execute(statement)
    return connection.close()


def forget() -> None:
    """End what directories and databases have to do with each other: the test is over."""
    _free.extend(name for name in _databases.values() if name not in _damaged)
    _databases.clear()


def _url(directory: Path) -> str:
    from tests.postgres import shared

    return shared().url(_database(directory))


def _database(directory: Path) -> str:
    if directory not in _databases:
        _databases[directory] = _emptied()
    return _databases[directory]


def _emptied() -> str:
    """Return an empty database; making one takes ten times as long as emptying one."""
    from tests.postgres import shared

    # Examples of hypothesis make a directory each, within one test.
    for gone in [directory for directory in _databases if not directory.is_dir()]:
        _free.append(_databases.pop(gone))
    if not _free:
        return shared().new_database()
    name = _free.pop()
    shared().run(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{name}'")
    if shared().query("select 1 from pg_tables where tablename = 'teamchat_log_end'", name):
        core = ", ".join(f"'{one}'" for one in (*(table.name for table in kept_tables()), *_OF_PROCESSES))
        shared().run(_RESET.replace("{core}", core), name)
    return name
