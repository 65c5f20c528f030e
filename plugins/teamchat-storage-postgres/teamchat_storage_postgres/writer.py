"""Writing transactions: the bodies of those that wait share one transaction of the database.

* Batches take turns, across all servers on the database: a batch begins by taking one advisory lock, which it
  holds until it has committed.  So the bodies of all servers run one after another, as on SQLite: what a body
  checked stays true until it has committed, and two servers can't wait for each other.
* Within a server the first body of a batch begins it and commits it: it queues again behind those already
  waiting, so a batch holds exactly the burst that came together, up to a limit.  One COMMIT, and with it one
  wait for the disk, serves them all.  Each body has a savepoint and can fail alone.
* What a body need not wait for takes no round trip: its savepoint, and statements that return nothing, go
  with the next statement that is waited for (`WritingTransaction`), of the next body or the end if it has
  none itself (`Batch`).
* Events are kept until the end and then written with one statement, which also moves the log's end.  As
  batches take turns, numbers are in the order of commits and without gaps.  NOTIFY and COMMIT go with it.
* Nobody is released before the COMMIT has returned.  If the connection ends before COMMIT was sent, nothing
  was changed; if it ends after that, nobody knows, and the error says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import psycopg
import trio

from teamchat import StorageError
from teamchat.observability import metrics
from teamchat_storage_postgres.batch import Batch
from teamchat_storage_postgres.connection import Notice
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable, refused
from teamchat_storage_postgres.pool import Connect, Pool
from teamchat_storage_postgres.suppositions import LastAnswers
from teamchat_storage_postgres.transaction import WritingTransaction

TURN_LOCK = 0x7465616D63686174  # "teamchat"

_BEGIN = f"begin isolation level read committed; select pg_advisory_xact_lock({TURN_LOCK})"


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
        self._batch: Batch | None = None
        self._backend = 0
        self._answers = LastAnswers()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[WritingTransaction]:
        """Run a body; return once it has been committed. Raises `StorageError` if it was not."""
        raised: Exception | None = None
        async with self._my_turn():
            batch = await self._joined()
            leads = batch.bodies == 0
            tx = batch.body()
            try:
                yield tx
                await batch.keep(tx)
            except BaseException as error:
                with trio.CancelScope(shield=True):
                    await (self._end(batch, None) if leads else self._take_back(batch, tx))
                if leads or batch.finished.is_set() or not isinstance(error, Exception):
                    raise
                raised = error
        if leads:
            with trio.CancelScope(shield=True):
                async with self._turn:
                    await self._commit(batch)
        else:
            await batch.finished.wait()
        # Also who was refused waits: what they were refused for may be what the batch has not committed yet.
        if (failure := batch.error or raised or tx.refused) is not None:
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
        except RuntimeError:  # Trio's lock does not wait for who has it.
            raise StorageError("A writing transaction was begun within one of the same task.") from None
        try:
            yield
        finally:
            self._turn.release()

    async def _joined(self) -> Batch:
        """Return the batch of the body that comes now."""
        if self._batch is not None and self._batch.is_full:
            with trio.CancelScope(shield=True):
                await self._commit(self._batch)
        if self._batch is None:
            self._batch = Batch(await self._pool.take(_BEGIN), self._answers)
        return self._batch

    async def _take_back(self, batch: Batch, tx: WritingTransaction) -> None:
        """Take back what a body did; if that is not possible nothing of the batch can be kept."""
        is_there = False
        with suppress(ConnectionLost, psycopg.Error):
            await tx.take_back()
            is_there = batch.connection.is_in_transaction
        if not is_there:
            await self._end(batch, DatabaseUnavailable("ended the connection"))

    async def _end(self, batch: Batch, error: StorageError | None) -> None:
        """End a batch; what was not committed is taken back."""
        self._batch, batch.error = None, error
        batch.finished.set()
        await self._pool.give_back(batch.connection)

    async def _commit(self, batch: Batch) -> None:
        if batch.finished.is_set():
            return
        began = trio.current_time()
        error = await _committed(batch)
        metrics.commits.observe(trio.current_time() - began)
        if error is None and batch.has_logged:
            self._backend = batch.connection.backend
            self._committed()
        await self._end(batch, error)


async def _committed(batch: Batch) -> StorageError | None:
    """Commit a batch, and return what to tell those in it if that failed, in whatever way."""
    if batch.connection.was_hung_up:
        return DatabaseUnavailable("ended the connection")
    try:
        await batch.settle()
        await batch.commit()
    except DatabaseUnavailable as error:
        return error
    except ConnectionLost:
        return StorageError("The connection ended while PostgreSQL committed: it may have stored the change.")
    except psycopg.Error as error:
        return refused(error)
    except Exception as error:  # Nobody may wait for ever, or take this batch for committed.
        failure = StorageError(f"What was to be committed could not be sent: {type(error).__name__}.")
        failure.__cause__ = error
        return failure
    return None
