"""The embedded storage: SQLite through apsw, in WAL mode with ``synchronous=FULL``.

* One connection writes. The bodies of waiting writers run one after another, each in a savepoint of one open
  transaction; then one COMMIT runs in a thread, and all of them are released only once it has returned. So an
  acknowledged write survives ``kill -9`` and a power cut, and a thousand writers share one fsync.
* Bodies and commits exclude each other (`lock`). A body hardly ever waits, so all that waited for a commit
  run in one turn of the event loop. The first writer of a batch commits it, one turn later, so a batch is
  whatever came together.
* Other processes may use the same file. A batch begins by taking SQLite's write lock and keeps it until it
  has committed. A process that has to wait for it sleeps on Trio's clock (`turns`), and gives up after
  `BUSY_SECONDS`.
* Events get their numbers under the write lock, so their order is the order of commits, of all processes.
* Followers of the log are woken by commits of this process, and check for those of others every few
  milliseconds: ``pragma data_version`` says in two microseconds whether there were any.
* Indexed reads run inline on the event loop: 25 to 65 microseconds for a page, while a hop to a thread alone
  costs 100.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import apsw
import trio

from teamchat.errors import StorageError, Unavailable
from teamchat.events import LoggedEvent
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat.storage.log import logged_in
from teamchat.storage.sqlite.committing import CommitThread
from teamchat.storage.sqlite.connections import connect
from teamchat.storage.sqlite.datagrams import Datagrams
from teamchat.storage.sqlite.lock import WriterLock
from teamchat.storage.sqlite.transaction import DiskUnwritable, SqliteTransaction, failure_of
from teamchat.storage.sqlite.turns import Turns
from teamchat.storage.sqlite.upgrading import keep_copy_before

BUSY_SECONDS = 5.0
"""How long a write waits for other processes before it gives up."""
_READERS_WAIT = 5000  # milliseconds
_SHORTEST_POLL = 0.002  # seconds between two looks for what other processes have committed
_LONGEST_POLL = 0.04
_UNREADABLE_PAUSE = 1.0
_FOLLOW_BATCH = 1000
_LAST = "select coalesce((select seq from sqlite_sequence where name = 'events'), 0)"


_log = get_logger(__name__)


class DatabaseBusy(Unavailable, StorageError):
    """Another process held the database for too long: a client gets 503 and may try again."""

    def __init__(self) -> None:
        super().__init__("The database is in use by another process. Nothing was changed; try again later.")


class _Batch:
    """Writes that wait for the same COMMIT."""

    def __init__(self) -> None:
        self.finished = trio.Event()
        self.error: StorageError | None = None


class SqliteStorage:
    """`teamchat.interfaces.Storage` on one SQLite file. Made by `open_sqlite`.

    With `keeps_copy` a copy is kept before the first migration of a capability that runs on it.
    """

    dialect = "sqlite"

    def __init__(self, path: Path, writer: apsw.Connection, *, keeps_copy: bool = False) -> None:
        self._path = path
        self._keeps_copy = keeps_copy
        self._writer = writer
        self._lock = WriterLock()
        self._batch: _Batch | None = None
        self._is_unwritable = False
        self._outage = Outage(_log, "the event log can't be read and will be tried again", logging.ERROR)
        self._readers: list[apsw.Connection] = []
        self._watch = connect(path, _READERS_WAIT)
        self._datagrams = Datagrams(path.with_name(f"{path.name}-signals"))
        self._turns = Turns(path.with_name(f"{path.name}-turns"))
        self._version = self._position = -1
        self._committed = trio.Event()
        self._thread = CommitThread()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[SqliteTransaction]:
        connection = self._readers.pop() if self._readers else self._new_reader()
        try:
            connection.execute("begin")
            tx = SqliteTransaction(connection, writable=False)
            try:
                yield tx
            finally:
                tx.end()
                if connection.in_transaction:  # A disk that can't be read has ended it.
                    # Where a page was damaged the end says so once more, and has come all the same.
                    with suppress(apsw.CorruptError):
                        connection.execute("commit")
        finally:
            self._readers.append(connection)

    def _new_reader(self) -> apsw.Connection:
        try:
            reader = connect(self._path, _READERS_WAIT)
            reader.pragma("query_only", True)
        except apsw.Error as error:
            raise failure_of("could not open the database", error) from error
        return reader

    @asynccontextmanager
    async def write(self) -> AsyncIterator[SqliteTransaction]:
        deadline = trio.current_time() + BUSY_SECONDS
        refused: Exception | None = None
        async with self._lock:
            leads = self._batch is None
            batch = self._batch or await self._begin(deadline)
            tx = SqliteTransaction(self._writer, writable=True)
            try:
                self._execute("savepoint body")
                yield tx
                tx.check()
                self._execute("release body")
            except BaseException as error:
                self._undo_body(batch, error, is_only=leads)
                if leads or batch.finished.is_set() or not isinstance(error, Exception):
                    raise
                refused = error
            else:
                metrics.writes.value += 1
            finally:
                tx.end()
        if leads:
            with trio.CancelScope(shield=True):
                await self._commit(batch)
        else:
            await batch.finished.wait()
        # Also who was refused waits: what they were refused for may be what the batch has not committed yet.
        if (failure := batch.error or refused) is not None:
            raise failure
        await trio.lowlevel.checkpoint_if_cancelled()

    async def _begin(self, deadline: float) -> _Batch:
        """Begin a batch, once no other process writes."""
        if not await self._turns.take(self._has_begun, deadline):
            raise DatabaseBusy
        self._batch = _Batch()
        return self._batch

    def _has_begun(self) -> bool:
        """Take the write lock of the database, unless another process has it."""
        try:
            self._execute("begin immediate")
        except StorageError as error:
            if isinstance(error.__cause__, apsw.BusyError):
                return False
            self._tell(error)
            raise
        return True

    def _execute(self, sql: str) -> None:
        try:
            self._writer.execute(sql)
        except apsw.Error as error:
            raise failure_of(f"could not write to {self._path.name}", error) from error

    def _undo_body(self, batch: _Batch, error: BaseException, *, is_only: bool) -> None:
        """Take back what the last body did, and the batch with it if that can't be kept or has no other.

        A full disk makes SQLite roll the whole transaction back by itself, with what other bodies did.
        """
        self._tell(error)
        with suppress(apsw.Error):
            self._writer.execute("rollback to body; release body")
        if is_only or not self._writer.in_transaction:
            cause = error.__cause__ or error
            self._end(batch, failure_of("took back what was not committed, for another write failed", cause))

    def _end(self, batch: _Batch, error: StorageError | None) -> None:
        """End a batch; what was not committed is taken back."""
        self._batch, batch.error = None, error
        if self._writer.in_transaction:
            with suppress(apsw.Error):  # The transaction has ended also where the disk can't be read.
                self._writer.execute("rollback")
        batch.finished.set()

    async def _commit(self, batch: _Batch) -> None:
        await trio.lowlevel.checkpoint()  # Who came together is committed together.
        async with self._lock:
            if batch.finished.is_set():  # It was taken back.
                return
            began, failure = trio.current_time(), None
            try:
                await self._thread.run(partial(self._writer.execute, "commit"))
            except Exception as error:  # Whatever it was: nobody may take this batch for committed.
                failure = failure_of("could not commit", error)
            self._end(batch, failure)
            self._tell(failure)
            metrics.commits.observe(trio.current_time() - began)
        if failure is None:
            self._turns.wrote()
            with suppress(StorageError):  # What is committed is committed; who follows looks again anyway.
                self._look()

    def _tell(self, failure: BaseException | None) -> None:
        """Log when the disk begins to refuse writes and when it takes them again, not each one in between."""
        if isinstance(failure, DiskUnwritable) and not self._is_unwritable:
            self._is_unwritable = True
            _log.error("the database can't be written to", why=failure.sentence)
        elif failure is None and self._is_unwritable:
            self._is_unwritable = False
            _log.info("the database can be written to again")

    async def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
        while True:
            if events := await self._next_or_nothing(after):
                after = events[-1].seq
                yield events

    async def _next_or_nothing(self, after: int) -> Sequence[LoggedEvent]:
        """Return what follows; nothing after a wait for it, or while the disk can't be read."""
        committed, events = self._committed, list[LoggedEvent]()
        try:
            if after != self._position:
                events = await self.logged(after)
            if not events:
                await self._until_set(committed)
        except StorageError as error:
            self._outage.goes_on(error)
            await trio.sleep(_UNREADABLE_PAUSE)
        else:
            self._outage.is_over()
        return events

    async def _until_set(self, committed: trio.Event) -> None:
        """Wait for a commit of this process, and look now and then whether another has committed."""
        pause = _SHORTEST_POLL
        while not committed.is_set():
            with trio.move_on_after(pause):
                await committed.wait()
            self._look()
            pause = min(2 * pause, _LONGEST_POLL)

    def _look(self) -> None:
        """See how far the log reaches, and wake who follows it if that is further than before."""
        try:
            version = self._watch.execute("pragma data_version").get
            if version == self._version:
                return
            position, self._version = self._watch.execute(_LAST).get, version
        except apsw.Error as error:
            raise failure_of("could not read the log's end", error) from error
        if position != self._position:
            self._position = position
            self._committed.set()
            self._committed = trio.Event()

    async def logged(self, after: int) -> list[LoggedEvent]:
        """Return up to 1,000 events with ``seq > after``, in order."""
        metrics.log_reads.value += 1
        async with self.read() as tx:
            return await logged_in(tx, after, _FOLLOW_BATCH)

    async def log_bounds(self) -> tuple[int, int]:
        async with self.read() as tx:
            [(first,)] = await tx.fetch("select min(seq) from events")
            last = int((await tx.fetch(_LAST))[0][0])
        return (last + 1 if first is None else first), last

    async def position(self) -> int:
        # Two microseconds while nobody has written, in this process or another one.
        self._look()
        return self._position

    async def carry(self, text: str) -> None:
        await self._datagrams.send(text)

    def carried(self) -> AsyncIterator[str]:
        return self._datagrams.received()

    async def keep_copy(self, namespace: str, number: int) -> None:
        if self._keeps_copy:
            try:
                await trio.to_thread.run_sync(keep_copy_before, self._path, namespace, number)
            except apsw.Error as error:
                raise failure_of("could not copy the database", error) from error
            self._keeps_copy = False

    def close(self) -> None:
        """Close every connection; the last one, of all processes, folds the log into the database."""
        self._thread.close()
        for reader in (*self._readers, self._watch):
            reader.close()
        self._writer.close()
        self._turns.close()
