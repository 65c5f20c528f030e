"""Rows for every table, made by hypothesis from the schema itself: whatever a column may hold, it holds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import apsw
from hypothesis import strategies as st

from teamchat.interfaces import Row, Storage
from teamchat.storage.rows import Sum, sum_of
from teamchat.storage.schema import MIGRATIONS
from teamchat.storage.tables import CAPABILITIES, LOG, Table, tables

INTEGERS = st.integers(-(2**63), 2**63 - 1)
# A log goes on after a restore, so it must not be at the end of all numbers.
EVENT_NUMBERS = st.integers(-(2**63), 2**61)
# What text.storable lets in: everything but NUL and lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
Filling = Mapping[str, list[Row]]


class Column(NamedTuple):
    name: str
    kind: str
    is_required: bool
    refers_to: tuple[str, str] | None


@cache
def columns(table: str) -> list[Column]:
    connection = apsw.Connection(":memory:")
    for migration in MIGRATIONS:
        for statement in migration.statements:
            connection.execute(statement.format(int="integer", log_key="integer primary key", table_end=""))
    references = {
        row[0]: (row[1], row[2])
        for row in connection.execute(
            'select "from", "table", "to" from pragma_foreign_key_list(?)', (table,)
        )
    }
    found = connection.execute('select name, type, "notnull", pk from pragma_table_info(?)', (table,))
    return [Column(name, kind, bool(must or pk), references.get(name)) for name, kind, must, pk in found]


@st.composite
def fillings(draw: st.DrawFn, most: int = 4) -> Filling:
    """Draw rows for every table, in which every reference leads to a row."""
    made: dict[str, list[Row]] = {}
    for table in tables():
        made[table.name] = []
        if table.name == CAPABILITIES:  # What stands there makes tables.
            continue
        for number in range(draw(st.integers(0 if table.name != "users" else 1, most))):
            row = draw(rows_of(table, number, made))
            if row is not None:
                made[table.name].append(row)
    return made


@st.composite
def rows_of(draw: st.DrawFn, table: Table, number: int, made: Mapping[str, list[Row]]) -> Row | None:
    values: list[Any] = []
    for column in columns(table.name):
        if column.refers_to is None:
            integers = EVENT_NUMBERS if (table.name, column.name) == (LOG, "seq") else INTEGERS
            value = draw(integers if column.kind.lower() == "integer" else TEXTS)
            # What is unique must differ: nothing here knows which columns are.
            values.append(f"{number}{value}" if isinstance(value, str) else value)
        else:
            other, key = column.refers_to
            place = [each.name for each in columns(other)].index(key)
            candidates = [row[place] for row in made[other] if _may_be_referred_to(table, other, row)]
            values.append(draw(st.sampled_from(candidates)) if candidates else None)
        if column.refers_to is not None and values[-1] is None and column.is_required:
            return None
        if not column.is_required and draw(st.booleans()):
            values[-1] = None
    return tuple(values)


def _may_be_referred_to(table: Table, other: str, row: Row) -> bool:
    """A reply never has replies."""
    if other != table.name or table.refers_to_itself_by is None:
        return True
    return row[table.columns.index(table.refers_to_itself_by)] is None


async def fill(storage: Storage, filling: Filling) -> None:
    """Write rows, those left out that a unique constraint refuses, and with them what refers to them."""
    async with storage.write() as tx:
        for table in tables():
            for row in filling[table.name]:
                if not await _refers_to_rows(tx, table, row):
                    continue
                marks = ", ".join(f"${number + 1}" for number in range(len(row)))
                await tx.fetch(
                    f"insert into {table.name} ({', '.join(table.columns)}) values ({marks})"
                    " on conflict do nothing",
                    *row,
                )


async def _refers_to_rows(tx: Any, table: Table, row: Row) -> bool:
    for column, value in zip(columns(table.name), row, strict=True):
        if column.refers_to is not None and value is not None:
            other, key = column.refers_to
            if not await tx.fetch(f"select 1 from {other} where {key} = $1", value):
                return False
    return True


async def sums(storage: Storage) -> dict[str, Sum]:
    """Return the sum of every table."""
    async with storage.read() as tx:
        return {table.name: await sum_of(tx, table) for table in tables()}
