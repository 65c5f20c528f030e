"""Tables of capabilities: numbered migrations, in a namespace for each capability.

The database itself records which migrations were run, and how they define tables (``capability_migrations``).
So code that copies a whole database knows these tables without their plugin, and a removed plugin leaves its
tables as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import apsw

from teamchat.capabilities.offer import Check
from teamchat.errors import DeclarationError, StorageError
from teamchat.interfaces import KeepsCopies, Storage, Transaction
from teamchat.observability.logs import get_logger
from teamchat.storage.schema import Migration
from teamchat.storage.tables import DIALECT, Table, filled, tables

_DEFINES = re.compile(r"(create|alter|drop)\s+(unique\s+)?(table|index)\s", re.IGNORECASE)
_STORED = "select namespace, number, definitions from capability_migrations order by namespace, number"
_REFERRED = {"messages", "rooms", "users"}
"""The tables of teamchat that others may refer to."""

_log = get_logger(__name__)

Stored = Mapping[str, Mapping[int, Sequence[str]]]
"""The statements that define tables, by namespace and number."""


class CapabilityTables(NamedTuple):
    """The tables of one capability, the plugin that brings it, as a sentence calls it, and their checks."""

    capability: str
    migrations: Sequence[Migration]
    plugin: str
    checks: Sequence[Check] = ()

    @property
    def namespace(self) -> str:
        """What the names of its tables and indexes are, or begin with and an underscore."""
        return namespace(self.capability)

    @property
    def newest(self) -> int:
        """The number of its last migration."""
        return self.migrations[-1].number


class UnknownTables(StorageError):
    """The tables of a capability are newer than its plugin knows."""

    def __init__(self, ours: CapabilityTables, found: int) -> None:
        super().__init__(
            f"The tables of the capability {ours.capability} have schema {found}, and {ours.plugin} knows "
            f"{ours.newest} at most. Install the version that wrote them, or a later one."
        )


class ChangedMigration(StorageError):
    """A migration was changed after this database had seen it."""

    def __init__(self, ours: CapabilityTables, number: int) -> None:
        super().__init__(
            f"Migration {number} of the capability {ours.capability}, which {ours.plugin} brings, makes "
            "other tables than when it was run here. Leave it as it was, and make the change by the next "
            "number; while you only try things out, begin with an empty storage."
        )


def namespace(capability: str) -> str:
    """Return the namespace of a capability's tables."""
    return re.sub(r"[.-]", "_", capability)


def check(capability: str, migrations: Sequence[Migration]) -> None:
    """Raise `DeclarationError` for migrations that can't be run or copied, or touch what is not theirs."""
    if [migration.number for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise DeclarationError(f"the migrations of {capability} must be numbered 1, 2, 3 and so on")
    connection = filled()
    try:
        before = _objects(connection)
        for migration in migrations:
            for statement in map(str.strip, migration.statements):
                there = _objects(connection)
                _try(connection, capability, migration.number, statement)
                # Copies are made by these statements, and by no other.
                if _objects(connection) != there and (";" in statement or not _DEFINES.match(statement)):
                    raise DeclarationError(
                        f"migration {migration.number} of {capability} defines something by a statement "
                        "that is not one alone, or begins with something else than create, alter or drop of "
                        "a table or an index, be it a comment"
                    )
        if wrong := _wrong_about(connection, namespace(capability), before):
            raise DeclarationError(f"the tables of {capability}: {wrong}")
    finally:
        connection.close()


async def tables_in(tx: Transaction) -> tuple[Table, ...]:
    """Return every table of this database that is to be kept, those first that others refer to."""
    return tables(_definitions(await stored_in(tx)))


async def stored_in(tx: Transaction) -> Stored:
    """Return which migrations of capabilities this database has seen."""
    return stored_from(await tx.fetch(_STORED))


def stored_from(rows: Sequence[tuple[str, int, str]]) -> Stored:
    """Return what rows of ``capability_migrations`` say."""
    found: dict[str, dict[int, list[str]]] = {}
    for name, number, definitions in rows:
        found.setdefault(name, {})[number] = json.loads(definitions)
    return found


def defined(stored: Stored) -> tuple[Table, ...]:
    """Return every table of a database that has seen these migrations.

    Raises `DeclarationError` if one does something else than define tables of its namespace.
    """
    for name, migrations in stored.items():
        for statements in migrations.values():
            if not all(_DEFINES.match(statement) and ";" not in statement for statement in statements):
                raise DeclarationError(f"the tables of {name} are defined by what defines no table")
        check(name, [Migration(number, tuple(some)) for number, some in sorted(migrations.items())])
    return tables(_definitions(stored))


async def define_in(tx: Transaction, stored: Stored) -> None:
    """Make these tables, of which there is none yet, and note nothing."""
    for statement in _definitions(stored):
        await tx.define(statement)


async def drop_in(tx: Transaction) -> None:
    """Remove the tables of all capabilities, and forget that there were any."""
    core = {table.name for table in tables()}
    for table in reversed(await tables_in(tx)):
        if table.name not in core:
            await tx.define(f"drop table {table.name}")
    await tx.fetch("delete from capability_migrations")


async def upgrade(storage: Storage, wanted: Sequence[CapabilityTables]) -> None:
    """Run the migrations that the database has not seen, each in a transaction of its own.

    Where there are data, a storage that is a `KeepsCopies` is asked for a copy first, and each migration is
    logged. Raises `StorageError` if there is no room for the copy, if a migration fails or was changed, or
    if tables are newer than their plugin knows.
    """
    is_copied = False
    for ours in wanted:
        while True:
            async with storage.read() as tx:
                waiting = unseen(ours, await stored_in(tx))
                is_used = bool(await tx.fetch("select 1 from users limit 1"))
            if not waiting:
                break
            if is_used and not is_copied:
                await _keep_copy(storage, ours, waiting[0])
                is_copied = True
            if is_used:
                _tell(ours, waiting[0])
            async with storage.write() as tx:
                for migration in unseen(ours, await stored_in(tx))[:1]:
                    await _run(tx, ours, migration)


async def _keep_copy(storage: Storage, ours: CapabilityTables, migration: Migration) -> None:
    if isinstance(storage, KeepsCopies):
        await storage.keep_copy(ours.namespace, migration.number)


def _tell(ours: CapabilityTables, migration: Migration) -> None:
    _log.warning(
        "upgrading the tables of a capability",
        capability=ours.capability,
        migration=migration.number,
        newest=ours.newest,
    )


async def is_there(storage: Storage, ours: CapabilityTables) -> bool:
    """Return whether a database has tables of a capability, of whatever version."""
    async with storage.read() as tx:
        return ours.namespace in await stored_in(tx)


async def refuse_older(storage: Storage, wanted: Sequence[CapabilityTables]) -> None:
    """Raise `StorageError` if tables are not as their plugins know them."""
    async with storage.read() as tx:
        stored = await stored_in(tx)
    for ours in wanted:
        if unseen(ours, stored):
            raise StorageError(
                f"The tables of the capability {ours.capability} are older than {ours.plugin} uses. Stop the "
                "server and give teamchat upgrade, or use the version that they are of."
            )


async def rehearse(storage: Storage, wanted: Sequence[CapabilityTables]) -> int:
    """Try what `upgrade` would do, take it back, and return how many migrations were run.

    Others who write wait meanwhile. Raises `StorageError` as `upgrade` does.
    """
    count = 0
    try:
        async with storage.write() as tx:
            count = await upgrade_in(tx, wanted)
            raise _TakeBackError
    except _TakeBackError:
        return count


async def upgrade_in(tx: Transaction, wanted: Sequence[CapabilityTables]) -> int:
    """Do what `upgrade` does in a transaction that is open, and return how many migrations were run."""
    count = 0
    for ours in wanted:
        for migration in unseen(ours, await stored_in(tx)):
            await _run(tx, ours, migration)
            count += 1
    return count


class _TakeBackError(Exception):
    """Raised to have nothing of a transaction kept."""


def unseen(ours: CapabilityTables, stored: Stored) -> list[Migration]:
    """Return the migrations that a database has not seen.

    Raises `StorageError` if its tables are others than their plugin knows.
    """
    run = stored.get(ours.namespace, {})
    last = max(run, default=0)
    if last > ours.newest:
        raise UnknownTables(ours, last)
    before: list[str] = []
    now: list[str] = []
    for migration in ours.migrations[:last]:
        before += run.get(migration.number, ())
        now += _defining(migration)
        # Other words for the same tables are no change.
        if before != now and tables(tuple(before)) != tables(tuple(now)):
            raise ChangedMigration(ours, migration.number)
    return [migration for migration in ours.migrations if migration.number > last]


def _defining(migration: Migration) -> list[str]:
    """Return the statements of a migration that define tables."""
    return [one for one in map(str.strip, migration.statements) if _DEFINES.match(one)]


async def _run(tx: Transaction, ours: CapabilityTables, migration: Migration) -> None:
    try:
        for statement in migration.statements:
            await tx.define(statement.strip())
        await tx.fetch(
            "insert into capability_migrations (namespace, number, definitions) values ($1, $2, $3)",
            ours.namespace,
            migration.number,
            json.dumps(_defining(migration)),
        )
    except StorageError as error:
        raise StorageError(
            f"Migration {migration.number} of the capability {ours.capability}, which {ours.plugin} brings, "
            f"failed: {error}"
        ) from error


def _definitions(stored: Stored) -> tuple[str, ...]:
    return tuple(
        statement
        for _, migrations in sorted(stored.items())
        for _, statements in sorted(migrations.items())
        for statement in statements
    )


def _try(connection: apsw.Connection, capability: str, number: int, statement: str) -> None:
    try:
        connection.execute(statement.format(**DIALECT))
    except (apsw.Error, KeyError, IndexError, ValueError) as error:
        raise DeclarationError(
            f"migration {number} of {capability} has a statement that can't be run: {error}"
        ) from None


def _objects(connection: apsw.Connection) -> dict[str, str]:
    rows = connection.execute(
        "select name, type || ' ' || coalesce(sql, '') from sqlite_schema where name not like 'sqlite%'"
    )
    return {str(name): str(sql) for name, sql in rows}


def _wrong_about(connection: apsw.Connection, own: str, before: Mapping[str, str]) -> str | None:
    """Say what is wrong about the tables and indexes that migrations have left, or return None."""
    after = _objects(connection)
    if any(after.get(name) != sql for name, sql in before.items()):
        return "a migration changes a table of teamchat's own"
    for name, sql in after.items():
        if name in before:
            continue
        if name != own and not name.startswith(f"{own}_"):
            return f'"{name}" must be called {own}, or begin with {own}_'
        if sql.startswith("table"):
            if not connection.execute("select 1 from pragma_table_info(?) where pk > 0", (name,)).fetchall():
                return f"the table {name} has no primary key"
            if wrong := _wrong_reference(connection, name, set(before)):
                return wrong
    return None


def _wrong_reference(connection: apsw.Connection, name: str, core: set[str]) -> str | None:
    """A row that stayed behind would keep its message, and retention with it."""
    for other, on_delete in connection.execute(
        'select "table", on_delete from pragma_foreign_key_list(?)', (name,)
    ):
        if other in core and (other not in _REFERRED or on_delete != "CASCADE"):
            return (
                f"{name} refers to {other}; it may refer to messages, rooms and users, and with "
                "`on delete cascade` alone"
            )
    return None
