"""Writing transactions: the bodies of those that wait share one transaction of the database.

* Batches take turns, across all servers on the database: a batch begins by taking one advisory lock, which it
  holds until it has committed.  So the bodies of all servers run one after another, as on SQLite: what a body
  checked stays true until it has committed, and two servers can't wait for each other.
* Within a server the first body of a batch begins it and commits it: it queues again behind those already
  waiting, so a batch holds exactly the burst that came together, up to a limit.  One COMMIT, and with it one
  wait for the disk, serves them all.  Each body but the first has a savepoint and can fail alone.
* What a body need not wait for takes no round trip: its savepoint, and statements that return nothing, go
  with the next statement that is waited for (`WritingTransaction`).
* Events are kept until the end and then written with one statement, which also moves the log's end.  As
  batches take turns, numbers are in the order of commits and without gaps.  NOTIFY and COMMIT go with it.
* Nobody is released before the COMMIT has returned.  If the connection ends before COMMIT was sent, nothing
  was changed; if it ends after that, nobody knows, and the error says so.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import psycopg
import trio

from teamchat import Event, StorageError
from teamchat.observability import metrics
from teamchat.storage.log import encoded_audience
from teamchat_storage_postgres.connection import Connection, Notice
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable, refused
from teamchat_storage_postgres.pool import Connect, Pool
from teamchat_storage_postgres.transaction import WritingTransaction

CHANNEL = "teamchat_events"
TURN_LOCK = 0x7465616D63686174  # "teamchat"
MOST_BODIES = 60
"""PostgreSQL keeps 64 savepoints of a transaction in shared memory; more make everybody's reads slower."""

_BEGIN = f"begin isolation level read committed; select pg_advisory_xact_lock({TURN_LOCK})"
_LOG = """
with reached as (update teamchat_log_end set last = last + $1 returning last - $1 as before)
insert into events (seq, type, audience, payload, created_at, text_room, text_message)
select reached.before + new.place, new.type, new.audience, new.payload, $2, new.text_room, new.text_message
from reached, unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
  as new(type, audience, payload, text_room, text_message, place)
"""


class _Batch:
    """Bodies that wait for the same COMMIT, and the connection they run on."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.bodies = 0
        self.events: list[Event] = []
        self.finished = trio.Event()
        self.error: StorageError | None = None

    @property
    def is_full(self) -> bool:
        return self.bodies >= MOST_BODIES

    async def commit(self) -> None:
        """Write the events of all bodies and commit, in one round trip."""
        statement = self.connection.statement
        last = [statement("commit")]
        if self.events:
            logged = statement(
                _LOG,
                len(self.events),
                time.time_ns() // 1_000_000,
                _array(event.type for event in self.events),
                _array(encoded_audience(event.audience) for event in self.events),
                _array(event.payload for event in self.events),
                _array(event.text_room for event in self.events),
                _array(event.text_message for event in self.events),
            )
            last = [logged, statement(f"notify {CHANNEL}"), *last]
        await self.connection.run_together(last)


class Writer:
    """Runs the bodies of writing transactions. `committed` is called after a commit that logged events."""

    def __init__(
        self,
        connect: Connect,
        acquire_seconds: float,
        connect_seconds: float,
        committed: Callable[[], object],
    ) -> None:
        # The first statement also waits for the turn, for which the server has a limit of its own.
        first_seconds = acquire_seconds + connect_seconds
        self._pool = Pool(connect, 1, acquire_seconds, first_seconds)
        self._acquire_seconds = acquire_seconds
        self._committed = committed
        self._turn = trio.StrictFIFOLock()
        self._batch: _Batch | None = None
        self._backend = 0

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[WritingTransaction]:
        """Run a body; return once it has been committed. Raises `StorageError` if it was not."""
        refused: Exception | None = None
        async with self._my_turn():
            batch = await self._joined()
            leads = batch.bodies == 1
            # Names differ, so that what takes a body back can never take back the one before it.
            tx = WritingTransaction(batch.connection, None if leads else f"body_{batch.bodies}")
            try:
                yield tx
                await tx.settle()
                if not batch.connection.is_in_transaction:
                    raise StorageError("A statement of the transaction failed, and it went on.")
            except BaseException as error:
                with trio.CancelScope(shield=True):
                    await (self._end(batch, None) if leads else self._take_back(batch, tx))
                if leads or batch.finished.is_set() or not isinstance(error, Exception):
                    raise
                refused = error
            else:
                metrics.writes.value += 1
                for blanking in tx.blankings:
                    batch.events = blanking.of(batch.events)
                batch.events += tx.events
        if leads:
            with trio.CancelScope(shield=True):
                async with self._turn:
                    await self._commit(batch)
        else:
            await batch.finished.wait()
        # Also who was refused waits: what they were refused for may be what the batch has not committed yet.
        if (failure := batch.error or refused) is not None:
            raise failure
        await trio.lowlevel.checkpoint_if_cancelled()

    def is_own(self, notice: Notice) -> bool:
        """Whether a notification tells of a commit of this writer, which has told of it already."""
        return notice.backend == self._backend

    async def close(self) -> None:
        """Close the connection."""
        await self._pool.close()

    @asynccontextmanager
    async def _my_turn(self) -> AsyncIterator[None]:
        try:
            with trio.fail_after(self._acquire_seconds):
                await self._turn.acquire()
        except trio.TooSlowError:
            raise DatabaseUnavailable("has too much to do") from None
        try:
            yield
        finally:
            self._turn.release()

    async def _joined(self) -> _Batch:
        """Return the batch of the body that comes now, which counts it."""
        if self._batch is not None and self._batch.is_full:
            with trio.CancelScope(shield=True):
                await self._commit(self._batch)
        if self._batch is None:
            self._batch = _Batch(await self._pool.take(_BEGIN))
        self._batch.bodies += 1
        return self._batch

    async def _take_back(self, batch: _Batch, tx: WritingTransaction) -> None:
        """Take back what a body did; if that is not possible nothing of the batch can be kept."""
        try:
            await tx.take_back()
        except (ConnectionLost, psycopg.Error):
            await self._end(batch, DatabaseUnavailable("ended the connection"))

    async def _end(self, batch: _Batch, error: StorageError | None) -> None:
        """End a batch; what was not committed is taken back."""
        self._batch, batch.error = None, error
        batch.finished.set()
        await self._pool.give_back(batch.connection)

    async def _commit(self, batch: _Batch) -> None:
        if batch.finished.is_set():
            return
        began = trio.current_time()
        error = await _committed(batch)
        metrics.commits.observe(trio.current_time() - began)
        if error is None and batch.events:
            self._backend = batch.connection.backend
            self._committed()
        await self._end(batch, error)


def _array(texts: Iterable[str | None]) -> str:
    """Return an array as PostgreSQL reads it; psycopg takes several times as long to write one."""
    return f"{{{','.join('null' if text is None else _quoted(text) for text in texts)}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


async def _committed(batch: _Batch) -> StorageError | None:
    """Commit a batch, and return what to tell those in it if that failed, in whatever way."""
    if batch.connection.was_hung_up:
        return DatabaseUnavailable("ended the connection")
    try:
        await batch.commit()
    except ConnectionLost:
        return StorageError("The connection ended while PostgreSQL committed: it may have stored the change.")
    except psycopg.Error as error:
        return refused(error)
    except Exception as error:  # Nobody may wait for ever, or take this batch for committed.
        failure = StorageError(f"What was to be committed could not be sent: {type(error).__name__}.")
        failure.__cause__ = error
        return failure
    return None
