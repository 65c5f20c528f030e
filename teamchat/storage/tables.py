"""Which tables there are, as data, for code that copies everything and so names none of them itself.

The tables are in an order in which rows come after the rows they refer to. For references within a table,
rows that refer to none come in a first pass and the others in a second one (a reply never has replies). All
this is read from the result of the migrations, so whatever a later one adds or alters is included.
"""

from __future__ import annotations

from functools import cache
from graphlib import TopologicalSorter
from typing import NamedTuple

import apsw

from teamchat.storage.schema import MIGRATIONS

LOG = "events"
"""The table of the event log, whose numbers mean something to clients."""
CAPABILITIES = "capability_migrations"
"""The table of the tables of capabilities."""
MARK = "movingFrom"
"""The row of ``marks`` that stands in a database while another one is moved into it."""
RESTORING = "restoring"
"""The row of ``marks`` that stands in a database from when a backup is in it until its secret is in place."""

DIALECT = {"int": "integer", "log_key": "integer primary key", "table_end": ""}
_ONLY = {"marks": f"name not in ('{MARK}', '{RESTORING}')"}
# What processes know of each other while they run. It is nothing of the installation's.
_OF_PROCESSES = {"members", "streams", "request_windows"}


class Table(NamedTuple):
    """One table. `only` is a condition that all rows to be copied meet, or empty."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    refers_to_itself_by: str | None = None
    only: str = ""

    @property
    def passes(self) -> tuple[str, ...]:
        """Conditions that part the rows: in this order each refers only to what is there already."""
        if self.refers_to_itself_by is None:
            return (self.only,)
        return f"{self.refers_to_itself_by} is null", f"{self.refers_to_itself_by} is not null"

    def is_in_pass(self, number: int, row: tuple[object, ...]) -> bool:
        """Return whether a row belongs to one of `passes`."""
        if self.refers_to_itself_by is None:
            return True
        return (row[self.columns.index(self.refers_to_itself_by)] is not None) == bool(number)


def filled() -> apsw.Connection:
    """Return a database in memory that has teamchat's own tables, and no rows."""
    connection = apsw.Connection(":memory:")
    for migration in MIGRATIONS:
        for statement in migration.statements:
            connection.execute(statement.format(**DIALECT))
    return connection


@cache
def tables(more: tuple[str, ...] = ()) -> tuple[Table, ...]:
    """Return every table that is to be kept, those first that others refer to.

    `more` are statements that define tables besides teamchat's own
    (`teamchat.storage.capability_tables` has those of a database).
    """
    connection = filled()
    try:
        for statement in more:
            connection.execute(statement.format(**DIALECT))
        names = [name for (name,) in connection.execute(_NAMES)]
        references = {name: _references(connection, name) for name in names}
        order = TopologicalSorter({name: set(found) - {name} for name, found in references.items()})
        kept = [name for name in order.static_order() if name not in _OF_PROCESSES]
        return tuple(_table(connection, name, references[name]) for name in kept)
    finally:
        connection.close()


_NAMES = """select name from pragma_table_list
where schema = 'main' and type = 'table' and name not like 'sqlite%' order by name"""
_REFERENCES = 'select "table", "from" from pragma_foreign_key_list(?)'
_COLUMNS = "select name, pk from pragma_table_info(?) order by cid"


def _references(connection: apsw.Connection, name: str) -> dict[str, str]:
    return {str(other): str(column) for other, column in connection.execute(_REFERENCES, (name,))}


def _table(connection: apsw.Connection, name: str, references: dict[str, str]) -> Table:
    columns = connection.execute(_COLUMNS, (name,)).fetchall()
    key = sorted((int(str(place)), str(column)) for column, place in columns if place)
    return Table(
        name,
        tuple(str(column) for column, _ in columns),
        tuple(column for _, column in key),
        references.get(name),
        _ONLY.get(name, ""),
    )
