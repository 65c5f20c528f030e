"""Brings the tables up to date: teamchat's numbered migrations, in PostgreSQL's dialect.

Each migration runs once, in a transaction of its own that holds a lock, so servers that
start together do it once and the others wait.  A schema newer than this version knows is refused.  Text is
compared byte by byte whatever the database's collation, as on SQLite: pages and cursors depend on it.  What
cannot keep every character is refused too.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Awaitable, Callable

import psycopg

from teamchat import StorageError, Upgrade
from teamchat.storage.schema import MIGRATIONS, Migration
from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable, refused

_log = logging.getLogger(__name__)

_LOCK = 0x7465616D736368  # "teamsch"
_DIALECT = {"int": "bigint", "log_key": "bigint primary key", "table_end": ""}
_DEFINES = ("create table", "alter table")
_TEXT = re.compile(r"\btext\b")
# What others upgrade is waited for to its end, and so is each statement of a migration. Who uses a table is
# waited for no longer than ever, for those who come after them would have to wait as well.
_BEGIN = f"""begin isolation level read committed; set local statement_timeout = 0;
select set_config('teamchat.lock_timeout', current_setting('lock_timeout'), true); set local lock_timeout = 0;
select pg_advisory_xact_lock({_LOCK});
select set_config('lock_timeout', current_setting('teamchat.lock_timeout'), true)"""
# The log's end stands in a row, for a sequence gives numbers also to what is not committed. The row is
# written with every batch: room beside it lets PostgreSQL do that in place.
_FOUNDATION = """
create table if not exists teamchat_schema (version bigint not null);
insert into teamchat_schema select 0 where not exists (select 1 from teamchat_schema);
create table if not exists teamchat_log_end (last bigint not null) with (fillfactor = 10);
insert into teamchat_log_end select 0 where not exists (select 1 from teamchat_log_end)
"""


async def migrate(connection: Connection) -> None:
    """Run the migrations that the database has not seen. Raises `StorageError`."""
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        raise StorageError(
            f"The database has the encoding {encoding}, and not every message could be kept in it. "
            "Create it with encoding 'UTF8' template template0."
        )
    is_new = not await present(connection)
    try:
        while await _step(connection, tells=not is_new):
            pass
    except ConnectionLost:
        raise DatabaseUnavailable("ended the connection") from None
    except psycopg.Error as error:
        await connection.roll_back()
        raise refused(error) from None


async def rehearse(
    connection: Connection, then: Callable[[Connection], Awaitable[object]] | None = None
) -> Upgrade:
    """Run the migrations in one transaction, and take it back. Raises `StorageError` if one fails.

    Where there are some, `then` tries in it what comes after them.  What a migration alters is locked
    meanwhile; a server that uses it waits for that long.
    """
    try:
        await _begin(connection)
        present = await _version(connection)
        rows = await _rows(connection)
        version = present
        while (migration := _after(version)) is not None:
            await _apply(connection, migration)
            version = migration.number
        if then is not None and version != present:
            await then(connection)
    except ConnectionLost:
        raise DatabaseUnavailable("ended the connection") from None
    except psycopg.Error as error:
        raise refused(error) from None
    finally:
        await connection.roll_back()
    return Upgrade(present, version, rows)


async def present(connection: Connection) -> int:
    """Return the number of the schema that is there, 0 for none. Raises `StorageError`."""
    try:
        [(is_there,)] = await connection.run("select to_regclass('teamchat_schema') is not null")
        rows = await connection.run("select version from teamchat_schema") if is_there else []
    except ConnectionLost:
        raise DatabaseUnavailable("ended the connection") from None
    except psycopg.Error as error:
        raise refused(error) from None
    return int(rows[0][0]) if rows else 0


async def _rows(connection: Connection) -> int:
    tables = await connection.run(
        "select tablename from pg_tables where schemaname = current_schema and tablename not like 'teamchat%'"
    )
    counts = [await connection.run(f'select count(*) from "{name}"') for (name,) in tables]  # noqa: S608
    return sum(int(count) for [(count,)] in counts)


def translated(statement: str) -> str:
    """Return a statement of the shared schema in PostgreSQL's dialect."""
    statement = statement.format(**_DIALECT)
    return _TEXT.sub('text collate "C"', statement) if statement.startswith(_DEFINES) else statement


async def _step(connection: Connection, *, tells: bool) -> bool:
    """Run the next migration and return whether there was one; the log says so if it `tells`."""
    await _begin(connection)
    version = await _version(connection)
    migration = _after(version)
    if migration is not None:
        if tells:
            _log.warning("upgrading the database to schema %d of %d", migration.number, MIGRATIONS[-1].number)
        await _apply(connection, migration)
    await connection.run("commit")
    return migration is not None


async def _begin(connection: Connection) -> None:
    connection.statement_seconds = math.inf
    await connection.command(_BEGIN)


async def _apply(connection: Connection, migration: Migration) -> None:
    for statement in migration.statements:
        await connection.command(translated(statement))
    await connection.run("update teamchat_schema set version = $1", migration.number)


async def _version(connection: Connection) -> int:
    await connection.run("set local client_min_messages = warning")
    await connection.command(_FOUNDATION)
    [(version,)] = await connection.run("select version from teamchat_schema")
    return int(version)


def _after(version: int) -> Migration | None:
    newest = MIGRATIONS[-1].number
    if version > newest:
        raise StorageError(
            f"The database has schema {version}, and this version of teamchat knows {newest} at most. "
            "Install the version that wrote it, or a later one."
        )
    return next((migration for migration in MIGRATIONS if migration.number > version), None)
