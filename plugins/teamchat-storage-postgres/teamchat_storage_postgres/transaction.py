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
from teamchat_storage_postgres.suppositions import LastAnswers, Supposition, WronglySupposed

MOST_PUT_OFF, MOST_BYTES_PUT_OFF = 32, 64 * 1024
"""How many statements that nobody waits for a body gathers, and bytes of theirs, before they are sent."""
Check = Callable[[list[Row]], Awaitable[None]]
Run = Callable[[Sequence[Statement]], Awaitable[list[list[Row]]]]
_ENDED = "The transaction has ended."
_BEGIN_READING = "begin isolation level repeatable read, read only"
_CHANGES = re.compile(r"\s*(insert|update|delete)\b(?!.*\breturning\b)", re.IGNORECASE | re.DOTALL)


class ReadingTransaction:
    """`teamchat.Transaction` that only reads. It begins with its first statement, in one round trip."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._connection: Connection | None = None
        self._has_ended = False

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        if self._has_ended:  # It would take a connection that nobody gives back.
            raise StorageError(_ENDED)
        if self._connection is None:
            self._connection, rows = await self._pool.begin((_BEGIN_READING, ()), (sql, params))
            return rows
        return (await ran(self._connection.run_together([_statement(self._connection, sql, params)])))[-1]

    async def end(self) -> None:
        """Give the connection back, if there is one, and take no statements any more."""
        self._has_ended = True
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
    """`teamchat.Transaction` for one body of a batch, which sends what it is to `run` together.

    A statement that returns no rows is put off until the next one that does, or beyond the body's end
    (`rest`), and goes in the same round trip; one that is asked ahead, or whose rows are supposed, goes with
    whatever comes next.  Before the first of all goes `savepoint`.
    """

    def __init__(
        self, connection: Connection, savepoint: str, run: Run, answers: LastAnswers, finished: trio.Event
    ) -> None:
        self._connection = connection
        self._savepoint = savepoint
        self._finished = finished  # the batch: what is asked from then on would never be sent
        self._run = run
        self._answers = answers
        self.events: list[Event] = []
        self.blankings: list[Blanking] = []
        self.refused: Exception | None = None
        """Why the body was taken back after it had ended, if it was."""
        self.has_failed = False
        """Whether the body can't be kept, whatever it makes of that."""
        self._has_run = False  # and so has set its savepoint
        self._put_off: list[Statement] = []
        self._bytes = 0
        self._checks: dict[int, Check] = {}  # by the place of the statement in what is put off
        self._is_supposing = False
        self._supposed: dict[int, Supposition] = {}  # by that place too

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        self._put(sql, params)
        # A body learns nothing, and goes on by nothing, before what was asked ahead has been looked at;
        # unless it supposes, and is run anew if that was wrong.
        if _returns_nothing(sql) and self._has_room and (self._supposed or not self._checks):
            return []
        return await self._send()

    def ask_ahead(self, check: Check, sql: str, *params: Any) -> None:
        self._checks[self._put(sql, params)] = check

    def begin_supposing(self) -> None:
        self._is_supposing = True

    @property
    def is_unsure(self) -> bool:
        return bool(self._supposed)

    async def suppose(self, rows: Sequence[Row] | None, sql: str, *params: Any) -> Sequence[Row]:
        if self._is_supposing and self._has_room:
            supposed = self._answers.to(sql, params) if rows is None else rows
            if supposed is not None:
                place = self._put(sql, params)
                self._supposed[place] = Supposition(list(supposed), sql, params, rows is None)
                return supposed
        found = await self.fetch(sql, *params)
        if rows is None:
            self._answers.keep(sql, params, found, is_new=self._is_supposing)
        return found

    def supposed_wrongly(self, rows: Sequence[list[Row]]) -> bool:
        """Return whether the rows of what was put off are others than the body has supposed.

        What they are is kept for the next one.
        """
        wrong = [self._answers.has_changed(one, rows[place]) for place, one in self._supposed.items()]
        return any(wrong)  # and not of a generator: each of them is kept

    async def define(self, statement: str) -> None:
        self._put(translated(statement))
        await self._send()  # Who defines tables says which statement it was that failed.

    def _put(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Put a statement off, and return its place."""
        self._check_open()
        if self.has_failed:
            raise StorageError("A statement of the transaction failed before.")
        if not (self._has_run or self._put_off):
            self._put_off.append(_statement(self._connection, f"savepoint {self._savepoint}"))
        try:
            statement = _statement(self._connection, sql, params)
        except BaseException:
            self.has_failed = True
            raise
        self._put_off.append(statement)
        self._bytes += statement.size
        return len(self._put_off) - 1

    def _check_open(self) -> None:
        if self._finished.is_set():
            raise StorageError(_ENDED)

    @property
    def _has_room(self) -> bool:
        return len(self._put_off) < MOST_PUT_OFF and self._bytes < MOST_BYTES_PUT_OFF

    @property
    def has_left_nothing(self) -> bool:
        """Whether nothing is put off."""
        return not self._put_off

    @property
    def size(self) -> int:
        """How many bytes the parameters of what is put off take."""
        return self._bytes

    @property
    def count(self) -> int:
        """How many statements are put off."""
        return len(self._put_off)

    @property
    def is_checked(self) -> bool:
        """Whether no answer has to be looked at yet."""
        return not (self._checks or self._supposed)

    async def send_rest(self) -> None:
        """Have what was put off carried out. Raises `StorageError` as `fetch` does, and what checks raise."""
        if self._put_off:
            await self._send()

    def rest(self) -> Sequence[Statement]:
        """Return what is put off, for who sends it now that the body has ended, and calls `look_at`."""
        self._has_run = True
        return self._put_off

    async def look_at(self, rows: Sequence[list[Row]]) -> None:
        """Look at the rows of what was put off. Raises whatever refuses the body."""
        if self.supposed_wrongly(rows):
            raise WronglySupposed
        self._put_off, self._bytes = [], 0
        checks, self._checks = self._checks, {}
        supposed, self._supposed = self._supposed, {}
        try:
            for place, check in checks.items():
                await check(rows[place])
        except BaseException:
            # A check that asked again may have seen what is taken back, or nothing at all where a later body
            # has failed: who supposed is run anew.
            self._supposed = supposed
            raise

    async def take_back(self) -> None:
        """Take back what the body did. Raises `psycopg.Error` or `ConnectionLost` if that fails."""
        self._put_off.clear()
        self._checks.clear()
        if self._has_run:
            await self._connection.command(f"rollback to {self._savepoint}")

    async def _send(self) -> list[Row]:
        """Send what was put off; return the rows of the last, once all others have been looked at.

        Raises `StorageError` if a statement is refused, or wrongly supposed, and whatever checks raise.
        """
        has_run, self._has_run = self._has_run, True
        try:
            # What goes first has what other bodies left with it; and a savepoint whose setting was cancelled
            # could not be distinguished from one that is set.
            with trio.CancelScope(shield=not has_run):
                rows = await ran(self._run(self._put_off))
            await self.look_at(rows)
        except BaseException:
            self.has_failed = True
            raise
        return rows[-1]

    async def append(self, event: Event) -> None:
        self._check_open()
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


async def ran(answers: Awaitable[list[list[Row]]]) -> list[list[Row]]:
    """Return answers. Raises `StorageError` for whatever the database has against it."""
    try:
        return await answers
    except ConnectionLost:
        raise DatabaseUnavailable("ended the connection") from None
    except psycopg.Error as error:
        raise refused(error) from None
