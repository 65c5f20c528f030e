"""Reading and writing whole tables, a limited number of rows at a time.

Rows are read in the order of their key, the same on every storage. So the sum of a table (`Sum`) is the same
wherever it is stored, and a table of any length takes the memory of one page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Self

import msgspec
from msgspec import Struct

from teamchat.interfaces import Row, Transaction
from teamchat.storage.statements import flat, values
from teamchat.storage.tables import Table

PAGE_ROWS = 500
_DELETED_ROWS = 5000

_encode = msgspec.json.Encoder().encode


class Sum(Struct, frozen=True):
    """How many rows a table has, and the SHA-256 of them all, in hexadecimal digits."""

    rows: int
    sha256: str


class Summing:
    """Makes a `Sum` of rows as they pass by, in the order of their key."""

    def __init__(self) -> None:
        self._rows = 0
        self._hash = hashlib.sha256()

    def add(self, row: Row) -> bytes:
        """Count a row in, and return the line of JSON that it is in a file."""
        line = _encode(row) + b"\n"
        self._hash.update(line)
        self._rows += 1
        return line

    def sum(self) -> Sum:
        """Return the sum of the rows so far."""
        return Sum(self._rows, self._hash.hexdigest())


class Pages:
    """A table's rows in the order of their key, `PAGE_ROWS` at most at a time: an asynchronous iterator.

    `where` is a condition in place of the table's own; `after` the key of a row to go on behind.
    """

    def __init__(
        self, tx: Transaction, table: Table, where: str | None = None, after: Row | None = None
    ) -> None:
        self._tx = tx
        self._table = table
        self._where = table.only if where is None else where
        self._after = after
        self._key = [table.columns.index(column) for column in table.key]
        self._is_last = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[Row]:
        page = [] if self._is_last else await _page(self._tx, self._table, self._where, self._after)
        if not page:
            raise StopAsyncIteration
        self._is_last = len(page) < PAGE_ROWS
        self._after = tuple(page[-1][index] for index in self._key)
        return page


async def insert(tx: Transaction, table: Table, rows: Sequence[Row]) -> None:
    """Write rows, whose values stand in the order of the table's columns."""
    if not rows:
        return
    row = f"({', '.join(f'{{{number}}}' for number in range(len(table.columns)))})"
    listed = values(row, len(table.columns), len(rows), after=0)
    await tx.fetch(
        f"insert into {table.name} ({', '.join(table.columns)}) values {listed}",  # noqa: S608
        *flat(rows),
    )


async def delete_all(tx: Transaction, table: Table) -> None:
    """Remove every row that is to be copied, some at a time: no statement takes long."""
    key = ", ".join(table.key)
    for where in reversed(table.passes):
        chosen = f"select {key} from {table.name}{_where([where])} limit {_DELETED_ROWS}"  # noqa: S608
        statement = f"delete from {table.name} where ({key}) in ({chosen}) returning 1"  # noqa: S608
        while await tx.fetch(statement):
            pass


async def last_key(tx: Transaction, table: Table, where: str) -> Row | None:
    """Return the greatest key of the rows that meet a condition, or None if there are none."""
    order = ", ".join(f"{column} desc" for column in table.key)
    rows = await tx.fetch(
        f"select {', '.join(table.key)} from {table.name}{_where([where])} order by {order} limit 1"  # noqa: S608
    )
    return tuple(rows[0]) if rows else None


async def count(tx: Transaction, table: Table, where: str = "") -> int:
    """Return how many rows there are."""
    [(rows,)] = await tx.fetch(f"select count(*) from {table.name}{_where([where or table.only])}")  # noqa: S608
    return int(rows)


async def sum_of(tx: Transaction, table: Table) -> Sum:
    """Return a table's sum."""
    summing = Summing()
    async for page in Pages(tx, table):
        for row in page:
            summing.add(row)
    return summing.sum()


async def _page(tx: Transaction, table: Table, where: str, after: Row | None) -> Sequence[Row]:
    key = ", ".join(table.key)
    behind = "" if after is None else f"({key}) > ({', '.join(f'${n + 1}' for n in range(len(after)))})"
    rows = await tx.fetch(
        f"select {', '.join(table.columns)} from {table.name}{_where([where, behind])}"  # noqa: S608
        f" order by {key} limit {PAGE_ROWS}",
        *(after or ()),
    )
    return [tuple(row) for row in rows]


def _where(conditions: Sequence[str]) -> str:
    found = [condition for condition in conditions if condition]
    return f" where {' and '.join(found)}" if found else ""
