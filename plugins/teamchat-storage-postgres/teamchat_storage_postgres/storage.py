"""The storage on PostgreSQL: any number of servers may use one database.

A reading transaction is one snapshot that can change nothing; a writing one is durable
once it has exited (`teamchat_storage_postgres.writer`); and whoever follows the log gets every event in the
order of commits, by asking the database for what comes after the last one.  Being woken makes that soon, and
a look every second makes it certain.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial

import trio

from teamchat import LoggedEvent, StorageError, Upgrade
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat.storage.log import logged_in
from teamchat_storage_postgres.batch import CHANNEL, Batch
from teamchat_storage_postgres.connection import Connection, connect_to
from teamchat_storage_postgres.listener import listen
from teamchat_storage_postgres.migrations import migrate, present, rehearse
from teamchat_storage_postgres.options import PostgresOptions
from teamchat_storage_postgres.pool import Connect, Pool
from teamchat_storage_postgres.position import Position
from teamchat_storage_postgres.statistics import gather
from teamchat_storage_postgres.suppositions import LastAnswers
from teamchat_storage_postgres.transaction import ReadingTransaction, WritingTransaction
from teamchat_storage_postgres.writer import Writer

POLL_SECONDS = 1.0
SIGNALS = "teamchat_signals"
"""The channel of NOTIFY by which processes tell each other of what stands in no log."""
_MOST_HEARD = 1000
_FOLLOW_BATCH = 1000
_BOUNDS = "select (select min(seq) from events), last from teamchat_log_end"

_log = get_logger(__name__)


class PostgresStorage:
    """`teamchat.Storage` on a PostgreSQL database. Made by `open_postgres`."""

    dialect = "postgresql"

    def __init__(self, connect: Connect, options: PostgresOptions) -> None:
        self._connect = connect
        self._committed = trio.Event()
        self._outage = Outage(_log, "the event log can't be read and will be tried again")
        acquire, soon = options.acquire_seconds, options.connect_seconds
        self._readers = Pool(connect, options.pool_size, acquire, soon)
        self._watch = Pool(connect, 1, acquire, soon)
        self._position = Position(self._watch)
        self._heard: trio.MemorySendChannel[str] | None = None
        self._writer = Writer(connect, acquire, soon, self._wake)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[ReadingTransaction]:
        tx = ReadingTransaction(self._readers)
        try:
            yield tx
        finally:
            await tx.end()

    def write(self) -> AbstractAsyncContextManager[WritingTransaction]:
        return self._writer.transaction()

    async def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
        while True:
            committed, events = self._committed, await self._logged_or_nothing(after)
            if events:
                after = events[-1].seq
                yield events
            if len(events) < _FOLLOW_BATCH:  # else there may be more; what came since this read has woken
                with trio.move_on_after(POLL_SECONDS):
                    await committed.wait()

    async def logged(self, after: int) -> list[LoggedEvent]:
        """Return up to 1,000 events with ``seq > after``, in order."""
        metrics.log_reads.value += 1
        async with self.read() as tx:
            return await logged_in(tx, after, _FOLLOW_BATCH)

    async def log_bounds(self) -> tuple[int, int]:
        async with self.read() as tx:
            [(first, last)] = await tx.fetch(_BOUNDS)
        return (last + 1 if first is None else first), last

    async def position(self) -> int:
        return await self._position.ask()

    async def carry(self, text: str) -> None:
        await self._readers.ask("select pg_notify($1, $2)", SIGNALS, text)

    async def carried(self) -> AsyncGenerator[str, None]:
        self._heard, heard = trio.open_memory_channel[str](_MOST_HEARD)
        try:
            while True:
                yield await heard.receive()
        finally:
            self._heard = None

    def _hear(self, text: str) -> None:
        """Take a signal of any process; what comes too fast is dropped."""
        if self._heard is not None:
            with suppress(trio.WouldBlock):
                self._heard.send_nowait(text)

    async def run(self) -> None:
        """Listen and answer until cancelled."""
        async with trio.open_nursery() as nursery:
            is_known = self._writer.is_own
            nursery.start_soon(listen, self._connect, CHANNEL, self._wake, SIGNALS, self._hear, is_known)
            nursery.start_soon(self._position.run)

    async def close(self) -> None:
        """Close every connection."""
        await self._readers.close()
        await self._watch.close()
        await self._writer.close()

    def _wake(self) -> None:
        self._committed.set()
        self._committed = trio.Event()

    async def _logged_or_nothing(self, after: int) -> list[LoggedEvent]:
        """While the database is away its log does not grow: who follows it waits, and does not fail."""
        try:
            events = await self.logged(after)
        except StorageError as error:
            self._outage.goes_on(error)
            await trio.sleep(POLL_SECONDS)
            return []
        self._outage.is_over()
        return events


async def rehearse_upgrade(
    options: PostgresOptions, then: Callable[[WritingTransaction], Awaitable[object]] | None = None
) -> Upgrade:
    """Try what opening would do to the schema, and `then` what comes after it, and take it back.

    Raises `StorageError` if it would fail.
    """

    async def go_on(connection: Connection) -> None:
        if then is not None:
            tx = Batch(connection, LastAnswers()).body()
            await then(tx)
            await tx.send_rest()

    connection = await connect_to(options)
    try:
        return await rehearse(connection, go_on)
    finally:
        await connection.close()


async def present_schema(options: PostgresOptions) -> int:
    """Return the number of the schema that is there, 0 for none. Raises `StorageError` if that fails."""
    connection = await connect_to(options)
    try:
        return await present(connection)
    finally:
        await connection.close()


@asynccontextmanager
async def open_postgres(options: PostgresOptions) -> AsyncIterator[PostgresStorage]:
    """Connect to the database of `options.url` and bring its schema up to date.

    Raises `StorageError` if it can't be reached or used, or if its schema is newer than this version knows;
    `SettingsError` if the URL is none.
    """
    connect = partial(connect_to, options)
    connection = await connect()
    try:
        await migrate(connection)
        await gather(connection)
    finally:
        await connection.close()
    storage, raised = PostgresStorage(connect, options), None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(storage.run)
        try:
            yield storage
        except Exception as error:  # Raised below: the nursery would wrap it in a group.
            raised = error
        finally:
            nursery.cancel_scope.cancel()
            await storage.close()
    if raised is not None:
        raise raised
