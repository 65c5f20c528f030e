"""What the bodies of transactions are given."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

import psycopg
import trio

from teamchat import Event, StorageError
from teamchat.storage.log import Blanking, blank_in
from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.exchange import Row, Statement
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable, refused
from teamchat_storage_postgres.migrations import translated
from teamchat_storage_postgres.pool import Pool

MOST_PUT_OFF, MOST_BYTES_PUT_OFF = 32, 64 * 1024
"""How many statements that return nothing a body gathers, and bytes of theirs, before they are sent."""
Check = Callable[[list[Row]], Awaitable[None]]
_BEGIN_READING = "begin isolation level repeatable read, read only"
_CHANGES = re.compile(r"\s*(insert|update|delete)\b(?!.*\breturning\b)", re.IGNORECASE | re.DOTALL)


class ReadingTransaction:
    """`teamchat.Transaction` that only reads. It begins with its first statement, in one round trip."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._connection: Connection | None = None

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        if self._connection is None:
            self._connection, rows = await self._pool.begin((_BEGIN_READING, ()), (sql, params))
            return rows
        return (await _run(self._connection, [_statement(self._connection, sql, params)]))[-1]

    async def end(self) -> None:
        """Give the connection back, if there is one."""
        if self._connection is not None:
            await self._pool.part(self._connection)

    async def define(self, statement: str) -> None:
        await self.fetch(translated(statement))

    async def append(self, _: Event) -> None:
        raise StorageError("An event can be appended in a writing transaction alone.")

    async def blank(self, _: str, __: Sequence[str] | None = None, ___: Sequence[str] | None = None) -> None:
        raise StorageError("The log can be changed in a writing transaction alone.")

    async def advance_log(self, _: int) -> None:
        raise StorageError("The log can be advanced in a writing transaction alone.")


class WritingTransaction:
    """`teamchat.Transaction` for one body of a batch.

    A statement that returns no rows is put off until the next one that does, or until the body's end, and
    goes in the same round trip; one that is asked ahead goes with whatever comes next.  Before the first of
    all goes `savepoint`; the first body of a batch has none.
    """

    def __init__(self, connection: Connection, savepoint: str | None = None) -> None:
        self._connection = connection
        self.events: list[Event] = []
        self.blankings: list[Blanking] = []
        self._savepoint = savepoint
        self._has_run = False
        self._put_off: list[Statement] = []
        self._bytes = 0
        self._checks: dict[int, Check] = {}  # by the place of the statement in what is put off

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        statement = _statement(self._connection, sql, params)
        self._put_off.append(statement)
        # A body learns nothing, and goes on by nothing, before what was asked ahead has been looked at.
        if _returns_nothing(sql) and not self._checks and len(self._put_off) < MOST_PUT_OFF:
            self._bytes += statement.size
            if self._bytes < MOST_BYTES_PUT_OFF:
                return []
        return await self._send()

    def ask_ahead(self, check: Check, sql: str, *params: Any) -> None:
        self._checks[len(self._put_off)] = check
        self._put_off.append(_statement(self._connection, sql, params))

    async def define(self, statement: str) -> None:
        self._put_off.append(_statement(self._connection, translated(statement)))
        await self._send()  # Who defines tables says which statement it was that failed.

    async def settle(self) -> None:
        """Have what was put off carried out. Raises `StorageError` as `fetch` does."""
        if self._put_off:
            await self._send()

    async def take_back(self) -> None:
        """Take back what the body did. Raises `psycopg.Error` or `ConnectionLost` if that fails."""
        self._put_off.clear()
        self._checks.clear()
        if self._has_run:
            await self._connection.command(f"rollback to {self._savepoint}")

    async def _send(self) -> list[Row]:
        """Send what was put off; return the rows of the last, once those asked ahead have been checked."""
        statements, self._put_off, self._bytes = self._put_off, [], 0
        checks, self._checks = self._checks, {}
        if self._has_run or self._savepoint is None:
            found = await _run(self._connection, statements)
        else:
            self._has_run = True
            savepoint = _statement(self._connection, f"savepoint {self._savepoint}")
            # A savepoint whose setting was cancelled could not be distinguished from one that is set.
            with trio.CancelScope(shield=True):
                _, *found = await _run(self._connection, [savepoint, *statements])
        for place, check in checks.items():
            await check(found[place])
        return found[-1]

    async def append(self, event: Event) -> None:
        event.check()
        self.events.append(event)

    async def blank(
        self,
        room_id: str,
        message_ids: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> None:
        await blank_in(self, room_id, message_ids, fields)
        blanking = Blanking(room_id, None if message_ids is None else frozenset(message_ids), fields)
        self.events = blanking.of(self.events)
        self.blankings.append(blanking)

    async def advance_log(self, last: int) -> None:
        await self.fetch("update teamchat_log_end set last = greatest(last, $1)", last)


@lru_cache(maxsize=512)
def _returns_nothing(sql: str) -> bool:
    return _CHANGES.match(sql) is not None


def _statement(connection: Connection, sql: str, params: Sequence[Any] = ()) -> Statement:
    try:
        return connection.statement(sql, *params)
    except psycopg.Error as error:
        raise refused(error) from None


async def _run(connection: Connection, statements: Sequence[Statement]) -> list[list[Row]]:
    try:
        return await connection.run_together(statements)
    except ConnectionLost:
        raise DatabaseUnavailable("ended the connection") from None
    except psycopg.Error as error:
        raise refused(error) from None
