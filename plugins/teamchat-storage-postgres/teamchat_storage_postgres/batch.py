"""A batch: bodies that share one transaction of the database, and its end.

Each body has a savepoint and can fail alone.  What a body put off last, and need not wait for, goes with what
is sent next, be it of another body or of the commit.  If the database refuses that, or its answer is not what
the body supposed, the body that left it is taken back and refused, and what went along after it is sent
again: so it harms nobody else.  COMMIT goes along with nothing that is still to be looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import psycopg
import trio

from teamchat import Event, StorageError
from teamchat.observability import metrics
from teamchat.storage.log import encoded_audience
from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.exchange import Row, Statement
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable, refused
from teamchat_storage_postgres.suppositions import LastAnswers, WronglySupposed
from teamchat_storage_postgres.transaction import WritingTransaction, ran

CHANNEL = "teamchat_events"
MOST_BODIES = 60
"""PostgreSQL keeps 64 savepoints of a transaction in shared memory; more make everybody's reads slower."""
MOST_BYTES_LEFT = 256 * 1024
"""How much bodies may leave to be sent before it is."""

_LOG = """
with reached as (update teamchat_log_end set last = last + $1 returning last - $1 as before)
insert into events (seq, type, audience, payload, created_at, text_room, text_message)
select reached.before + new.place, new.type, new.audience, new.payload, $2, new.text_room, new.text_message
from reached, unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
  as new(type, audience, payload, text_room, text_message, place)
"""


class Batch:
    """Bodies that wait for the same COMMIT, and the connection they run on."""

    def __init__(self, connection: Connection, answers: LastAnswers) -> None:
        self.connection = connection
        self.bodies = 0
        self.finished = trio.Event()
        self.error: StorageError | None = None
        self._answers = answers
        self._events: list[Event] = []
        self._left: list[WritingTransaction] = []  # bodies that have ended, with what is still to be sent

    @property
    def is_full(self) -> bool:
        return self.bodies >= MOST_BODIES

    @property
    def has_logged(self) -> bool:
        """Whether there is an event in it."""
        return bool(self._events)

    def body(self) -> WritingTransaction:
        """Return the transaction of the next body."""
        self.bodies += 1
        # Names differ, so that what takes a body back can never take back the one before it.
        name = f"body_{self.bodies}"
        return WritingTransaction(self.connection, name, self._run, self._answers, self.finished)

    async def keep(self, tx: WritingTransaction) -> None:
        """Keep what a body did. What it left to be sent may be refused later: then `tx.refused` says why.

        Raises `StorageError` if something of it is refused now, or was before and the body went on, and
        whatever its checks raise.
        """
        if not (tx.is_checked or tx.is_unsure or tx.has_failed):
            await tx.send_rest()
        if tx.has_failed or not self.connection.is_in_transaction:
            raise StorageError("A statement of the transaction failed, and it went on.")
        if tx.has_left_nothing and not self._left:
            self._count_in(tx)
        else:
            self._left.append(tx)
            if sum(one.size for one in self._left) > MOST_BYTES_LEFT:
                with trio.CancelScope(shield=True):
                    await ran(self._run([]))

    async def settle(self) -> None:
        """Send what has to be looked at before COMMIT is sent.

        Raises `psycopg.Error` or `DatabaseUnavailable` if that is not possible: nothing is stored then.
        """
        if not all(tx.is_checked for tx in self._left):
            try:
                await self._run([])
            except ConnectionLost:
                raise DatabaseUnavailable("ended the connection") from None

    async def commit(self) -> None:
        """Write the events of all bodies and commit, in one round trip.

        Raises `psycopg.Error` if the database refuses that, `ConnectionLost` if it can't be told.
        """
        await self._together(self._ending)

    async def _run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        return await self._together(lambda _: statements)

    async def _together(
        self, last: Callable[[Sequence[WritingTransaction]], Sequence[Statement]]
    ) -> list[list[Row]]:
        """Send what bodies left, and then `last`, which is given those bodies; return the rows of the latter.

        While something is left the body that runs has sent nothing, for what it sends first takes everything
        along.  That may not be cancelled.  Raises `psycopg.Error` if `last` is refused, and `ConnectionLost`.
        """
        left, self._left = self._left, []
        while True:
            statements = [statement for tx in left for statement in tx.rest()]
            count = len(statements)
            statements += last(left)
            try:
                rows, failure = await self._answers_to(statements)
                again = await self._look(left, rows, failure)
            except BaseException:
                if left:  # Of these nobody could tell what is there.
                    await self.connection.close()
                raise
            if again is None:
                break
            left = again
        if failure is not None:
            raise failure
        return rows[count:]

    async def _answers_to(
        self, statements: Sequence[Statement]
    ) -> tuple[list[list[Row]], psycopg.Error | None]:
        """Return the rows of the statements that were carried out, and why the next one was refused."""
        if not statements:
            return [], None
        try:
            return await self.connection.run_together(statements), None
        except psycopg.Error as error:
            return self.connection.answered, error

    async def _look(
        self, left: Sequence[WritingTransaction], rows: Sequence[list[Row]], failure: psycopg.Error | None
    ) -> list[WritingTransaction] | None:
        """Keep what bodies left, up to the first that is refused, which is taken back with all after it.

        Returns those of the latter that are to be sent again, and None if nobody was refused.
        """
        answers = _each(left, rows)
        for tx, own in answers:
            try:
                if failure is not None and own is None:
                    raise refused(failure)
                await tx.look_at(own or ())
                if not tx.has_left_nothing:
                    raise StorageError("A check has written something, and may only read.")
            except Exception as error:
                tx.refused = error
                await tx.take_back()
                return _to_be_sent_again(answers)
            self._count_in(tx)
        return None

    def _ending(self, left: Sequence[WritingTransaction]) -> list[Statement]:
        """Return what ends a batch: the events of all bodies, and COMMIT."""
        statement, events = self.connection.statement, self._events
        for tx in left:
            events = _with(events, tx)
        last = [statement("commit")]
        if events:
            logged = statement(
                _LOG,
                len(events),
                time.time_ns() // 1_000_000,
                _array(event.type for event in events),
                _array(encoded_audience(event.audience) for event in events),
                _array(event.payload for event in events),
                _array(event.text_room for event in events),
                _array(event.text_message for event in events),
            )
            last = [logged, statement(f"notify {CHANNEL}"), *last]
        return last

    def _count_in(self, tx: WritingTransaction) -> None:
        self._events = _with(self._events, tx)
        metrics.writes.value += 1


def _each(
    left: Sequence[WritingTransaction], rows: Sequence[list[Row]]
) -> Iterator[tuple[WritingTransaction, Sequence[list[Row]] | None]]:
    """Yield each body with the rows of what it left, None where not all of that was carried out."""
    begin = 0
    for tx in left:
        end = begin + tx.count
        yield tx, rows[begin:end] if end <= len(rows) else None
        begin = end


def _to_be_sent_again(
    taken_back: Iterable[tuple[WritingTransaction, Sequence[list[Row]] | None]],
) -> list[WritingTransaction]:
    """Return bodies that were taken back with another, and refuse those that are known to suppose wrongly."""
    found: list[WritingTransaction] = []
    for tx, rows in taken_back:
        if rows is not None and tx.supposed_wrongly(rows):
            tx.refused = WronglySupposed()
        else:
            found.append(tx)
    return found


def _with(events: list[Event], tx: WritingTransaction) -> list[Event]:
    """Return what is to be logged once a body has come to what was there."""
    for blanking in tx.blankings:
        events = blanking.of(events)
    return events + tx.events


def _array(texts: Iterable[str | None]) -> str:
    """Return an array as PostgreSQL reads it; psycopg takes several times as long to write one."""
    return f"{{{','.join('null' if text is None else _quoted(text) for text in texts)}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
