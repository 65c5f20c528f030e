"""The embedded storage: SQLite through apsw, in WAL mode with ``synchronous=FULL``.

What must stay true:

* One connection writes.  The bodies of waiting writers run one after another, each in a savepoint of one
  open transaction; then one COMMIT runs in a thread, and only when it has returned are they all released.
  So an acknowledged write survives ``kill -9`` and a power cut, and a thousand writers share one fsync.
* Bodies and commits take turns through one first-in-first-out lock.  The first writer of a batch commits
  it: it queues again behind those already waiting, so a batch holds exactly the burst that came together.
* Other processes may use the same file.  A batch begins with SQLite's write lock and holds it until it has
  committed; who has to wait for it sleeps on Trio's clock (`turns`), and after `BUSY_SECONDS` says so.
* Events get their numbers under the write lock, so their order is the order of commits, of all processes.
* Who follows the log is woken by commits of this process, and asks after those of others every few
  milliseconds: ``pragma data_version`` tells for two microseconds whether there were any.
* Indexed reads run inline on the event loop: 25 to 65 microseconds for a page, where a hop to a thread
  alone costs 100.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import trio

from teamchat import measures
from teamchat.errors import StorageError, Unavailable
from teamchat.events import Event, LoggedEvent
from teamchat.interfaces import Row
from teamchat.model import now_ms
from teamchat.storage.sqlite.connections import cause, connect
from teamchat.storage.sqlite.turns import Turns

BUSY_SECONDS = 5.0
"""How long a write waits for other processes before it gives up."""
_READERS_WAIT = 5000  # milliseconds
_SHORTEST_POLL = 0.002  # seconds between two looks for what other processes have committed
_LONGEST_POLL = 0.04
_FOLLOW_BATCH = 1000
_LAST = "select coalesce((select seq from sqlite_sequence where name = 'events'), 0)"


@lru_cache(maxsize=512)
def _numbered(sql: str) -> str:
    """Turn ``$1`` into ``?1``: SQLite numbers the former by appearance, not by its number."""
    return re.sub(r"\$(\d+)", r"?\1", sql)


class DatabaseBusy(Unavailable, StorageError):
    """Another process held the database for too long: a client gets 503 and may try again."""

    def __init__(self) -> None:
        super().__init__("The database is in use by another process. Nothing was changed; try again later.")


class _SqliteTransaction:
    """A transaction on one of the connections; it never waits, which is why it is fast."""

    def __init__(self, connection: apsw.Connection, *, writable: bool) -> None:
        self._connection = connection
        self._writable = writable

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        try:
            return self._connection.execute(_numbered(sql), params).fetchall()
        except apsw.Error as error:  # Its message may quote what was given.
            raise StorageError(f"SQLite refused a statement: {cause(error)}.") from error

    async def append(self, event: Event) -> None:
        if not self._writable:
            raise StorageError("An event can be appended in a writing transaction alone.")
        audience = None if event.audience is None else json.dumps(event.audience)
        self._connection.execute(
            "insert into events (type, audience, payload, created_at) values (?, ?, ?, ?)",
            (event.type, audience, event.payload, now_ms()),
        )

    async def lock(self, name: str) -> None:
        """Nothing to do: bodies of writing transactions run one at a time."""

    async def advance_log(self, last: int) -> None:
        if not self._writable:
            raise StorageError("The log can be advanced in a writing transaction alone.")
        self._connection.execute(
            "insert into sqlite_sequence (name, seq) select 'events', 0"
            " where not exists (select 1 from sqlite_sequence where name = 'events')"
        )
        self._connection.execute(
            "update sqlite_sequence set seq = max(seq, ?) where name = 'events'", (last,)
        )


class _Batch:
    """Writes that wait for the same COMMIT."""

    def __init__(self) -> None:
        self.finished = trio.Event()
        self.error: StorageError | None = None


class SqliteStorage:
    """`teamchat.interfaces.Storage` on one SQLite file. Made by `open_sqlite`."""

    def __init__(self, path: Path, writer: apsw.Connection) -> None:
        self._path = path
        self._writer = writer
        self._turn = trio.StrictFIFOLock()
        self._turns = Turns(path.with_name(f"{path.name}-turns"))
        self._batch: _Batch | None = None
        self._readers: list[apsw.Connection] = []
        self._watch = connect(path, _READERS_WAIT)
        self._version = self._position = -1
        self._committed = trio.Event()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[_SqliteTransaction]:
        connection = self._readers.pop() if self._readers else connect(self._path, _READERS_WAIT)
        try:
            connection.execute("begin")
            try:
                yield _SqliteTransaction(connection, writable=False)
            finally:
                connection.execute("commit")
        finally:
            self._readers.append(connection)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[_SqliteTransaction]:
        deadline = trio.current_time() + BUSY_SECONDS
        async with self._turn:
            if self._batch is None:
                if not await self._turns.take(self._begun, deadline):
                    raise DatabaseBusy
                self._batch, leads = _Batch(), True
            else:
                leads = False
            batch = self._batch
            self._execute("savepoint body")
            try:
                yield _SqliteTransaction(self._writer, writable=True)
            except BaseException:
                self._undo_body()
                if leads:
                    self._hand_over(batch)
                raise
            self._execute("release body")
            measures.writes.value += 1
        if leads:
            with trio.CancelScope(shield=True):
                await self._commit(batch)
        else:
            await batch.finished.wait()
        if batch.error is not None:
            raise batch.error
        await trio.lowlevel.checkpoint_if_cancelled()

    def _undo_body(self) -> None:
        # A full disk makes SQLite roll the whole transaction back by itself; then there is no savepoint left.
        with suppress(apsw.SQLError):
            self._writer.execute("rollback to body; release body")

    def _hand_over(self, batch: _Batch) -> None:
        """End a batch whose first body failed: nobody else is in it yet, for bodies take turns."""
        self._batch = None
        if self._writer.in_transaction:
            self._writer.execute("rollback")
        batch.finished.set()

    def _begun(self) -> bool:
        """Take the write lock of the database, unless another process has it."""
        try:
            self._execute("begin immediate")
        except StorageError as error:
            if isinstance(error.__cause__, apsw.BusyError):
                return False
            raise
        return True

    def _execute(self, sql: str) -> None:
        try:
            self._writer.execute(sql)
        except apsw.Error as error:
            raise StorageError(f"SQLite could not write to {self._path.name}: {cause(error)}.") from error

    async def _commit(self, batch: _Batch) -> None:
        async with self._turn:
            began = trio.current_time()
            try:
                await trio.to_thread.run_sync(self._writer.execute, "commit")
            except apsw.Error as error:
                batch.error = StorageError(f"SQLite could not commit: {cause(error)}.")
                batch.error.__cause__ = error  # By it the log tells a full disk from others.
                if self._writer.in_transaction:
                    self._writer.execute("rollback")
            finally:
                self._batch = None
                batch.finished.set()
                measures.commits.observe(trio.current_time() - began)
        if batch.error is None:
            self._turns.wrote()
            with suppress(apsw.Error):  # What is committed is committed; who follows looks again anyway.
                self._look()

    async def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
        while True:
            committed = self._committed
            events = await self.logged(after)
            if events:
                after = events[-1].seq
                yield events
            else:
                await self._until_set(committed)

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
        version = self._watch.execute("pragma data_version").get
        if version == self._version:
            return
        position, self._version = self._watch.execute(_LAST).get, version
        if position != self._position:
            self._position = position
            self._committed.set()
            self._committed = trio.Event()

    async def logged(self, after: int) -> list[LoggedEvent]:
        """Return up to 1,000 events with ``seq > after``, in order."""
        async with self.read() as tx:
            rows = await tx.fetch(
                "select seq, type, payload, audience from events where seq > $1 order by seq limit $2",
                after,
                _FOLLOW_BATCH,
            )
        return [
            LoggedEvent(seq, kind, payload, None if audience is None else tuple(json.loads(audience)))
            for seq, kind, payload, audience in rows
        ]

    async def log_bounds(self) -> tuple[int, int]:
        async with self.read() as tx:
            [(first,)] = await tx.fetch("select min(seq) from events")
            last = int((await tx.fetch(_LAST))[0][0])
        return (last + 1 if first is None else first), last

    async def position(self) -> int:
        # Two microseconds while nobody has written, in this process or another one.
        self._look()
        return self._position

    def close(self) -> None:
        """Close every connection; the last one, of all processes, folds the log into the database."""
        for reader in (*self._readers, self._watch):
            reader.close()
        self._writer.close()
        self._turns.close()
