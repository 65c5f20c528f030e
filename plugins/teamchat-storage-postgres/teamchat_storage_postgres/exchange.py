"""Statements that go to PostgreSQL together, in one round trip (libpq's pipeline mode).

They are carried out in their order, and after one that failed none is.  A statement that a session is given
again is prepared on the way: that takes no round trip of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import psycopg
from psycopg import generators, pq
from psycopg.abc import AdaptContext
from psycopg.adapt import PyFormat, Transformer

from teamchat_storage_postgres.sockets import Steps

Row = tuple[Any, ...]
MOST_KNOWN = 200
"""How many statements a session remembers; those that were used last are kept."""


class _Key(NamedTuple):
    """What a prepared statement is known by: the same SQL may be given parameters of other types."""

    sql: str
    types: tuple[int, ...]


class Statement(NamedTuple):
    """A statement as it is sent. Made by `Exchange.statement`."""

    key: _Key
    values: Sequence[Any]
    formats: Sequence[Any]

    @property
    def size(self) -> int:
        """How many bytes its parameters take."""
        return sum(len(value) for value in self.values if value is not None)


class Exchange:
    """Sends statements on one connection, and reads what comes back."""

    def __init__(self, pgconn: pq.abc.PGconn, context: AdaptContext) -> None:
        self._pgconn = pgconn
        self._values = Transformer(context)
        self._known: dict[_Key, bytes] = {}  # the name of each that is prepared, empty for one given once
        self._numbers = count()
        self.answered: list[list[Row]] = []
        """The rows of each statement that was carried out, of those that were sent last."""

    def statement(self, sql: str, params: Sequence[Any]) -> Statement:
        """Return a statement to be sent. Raises `psycopg.Error` or `ValueError` if a parameter can't be."""
        if not params:
            return Statement(_Key(sql, ()), (), ())
        values = self._values.dump_sequence(params, [PyFormat.AUTO] * len(params))
        return Statement(_Key(sql, self._values.types or ()), values, self._values.formats or ())

    def of(self, statements: Sequence[Statement]) -> Steps[list[list[Row]]]:
        """Send statements and read all answers; return the rows of each.

        Raises `psycopg.Error` for the first that the server refused.
        """
        rows: list[list[Row]] = []
        self.answered = rows
        self._pgconn.enter_pipeline_mode()
        sent = [key for one in statements for key in self._send(one)]
        self._pgconn.pipeline_sync()
        yield from generators.send(self._pgconn)
        failure = None
        for prepared in sent:
            result = yield from self._answer()
            if result.status == pq.ExecStatus.FATAL_ERROR:
                failure = failure or result
            if failure is None:
                if prepared is None:
                    rows.append(self._rows(result))
            elif prepared is not None:
                self._known.pop(prepared, None)
        yield from self._answer()  # that to the sync
        self._pgconn.exit_pipeline_mode()
        if failure is not None:
            raise psycopg.errors.error_from_result(failure, "utf-8")
        return rows

    def _send(self, one: Statement) -> Iterator[_Key | None]:
        """Send a statement; yield None for its answer, before it what other answers are about."""
        name = self._known.pop(one.key, None)
        if name is None:
            yield from self._make_room()
            self._known[one.key] = b""
            sql = one.key.sql.encode()
            self._pgconn.send_query_params(sql, one.values, one.key.types, one.formats)
        else:
            if not name:
                name = b"known_%d" % next(self._numbers)
                self._pgconn.send_prepare(name, one.key.sql.encode(), one.key.types)
                yield one.key
            self._known[one.key] = name  # last now, of those to be forgotten
            self._pgconn.send_query_prepared(name, one.values, one.formats)
        yield None

    def _make_room(self) -> Iterator[_Key]:
        if len(self._known) >= MOST_KNOWN:
            oldest = next(iter(self._known))
            if name := self._known.pop(oldest):
                self._pgconn.send_query_params(b"deallocate " + name, None)
                yield oldest

    def _answer(self) -> Steps[pq.abc.PGresult]:
        found = yield from generators.fetch_many(self._pgconn)
        if not found:
            raise psycopg.OperationalError("the connection has ended")
        result: pq.abc.PGresult = found[0]
        return result

    def _rows(self, result: pq.abc.PGresult) -> list[Row]:
        if result.status != pq.ExecStatus.TUPLES_OK:
            return []
        self._values.set_pgresult(result)
        rows = self._values.load_rows(0, result.ntuples, tuple)
        self._values.set_pgresult(None)
        return rows
