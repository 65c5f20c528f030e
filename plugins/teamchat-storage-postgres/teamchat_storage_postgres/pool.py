"""Connections that are lent out one at a time, and come back clean or not at all.

No more than `size` connections exist at a time; each that was lent comes back, whatever
happened to who borrowed it, and is kept only if no transaction is open on it.  Who waits for longer than the
deadline is told so.  A connection that the server has closed meanwhile, because it was restarted or somebody
killed it, is found out by the first statement, which changes nothing, and another one is taken: so such a
thing is not noticed outside.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
import trio

from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.exchange import Row
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable, refused

_RESTED_SECONDS = 1.0
"""After how long a connection is asked whether it is there, before it is given what may take its time."""

T = TypeVar("T")
Connect = Callable[[], Awaitable[Connection]]


class Pool:
    """Up to `size` connections, made when they are needed; the one used last is lent first."""

    def __init__(self, connect: Connect, size: int, acquire_seconds: float, first_seconds: float) -> None:
        self._connect = connect
        self._acquire_seconds = acquire_seconds
        self._first_seconds = first_seconds
        self._slots = trio.Semaphore(size, max_value=size)
        self._idle: list[Connection] = []

    @property
    def free(self) -> int:
        """How many more connections can be lent now."""
        return self._slots.value

    @asynccontextmanager
    async def lend(self, first: str) -> AsyncIterator[Connection]:
        """Lend a connection on which the command `first` was run; it must change nothing.

        Raises `DatabaseUnavailable` if there is none in time or the server can't be reached.
        """
        connection = await self.take(first)
        try:
            yield connection
        finally:
            await self.give_back(connection)

    async def take(self, first: str) -> Connection:
        """As `lend`, for who gives it back by hand."""
        return (await self._take(lambda connection: self._soon(connection.command(first))))[0]

    async def ask(self, sql: str, *params: Any) -> list[Row]:
        """Return the rows of one statement that changes nothing."""
        connection, rows = await self._take(lambda connection: self._soon(connection.run(sql, *params)))
        await self.give_back(connection)
        return rows

    async def begin(self, *statements: tuple[str, tuple[Any, ...]]) -> tuple[Connection, list[Row]]:
        """Take a connection and run statements that change nothing, in one round trip.

        Returns the rows of the last. They may take as long as statements may.
        """

        async def first(connection: Connection) -> list[Row]:
            if trio.current_time() - connection.used > _RESTED_SECONDS:
                await self._soon(connection.run("select 1"))
            ready = [connection.statement(sql, *params) for sql, params in statements]
            return (await connection.run_together(ready))[-1]

        return await self._take(first)

    async def _take(self, first: Callable[[Connection], Awaitable[T]]) -> tuple[Connection, T]:
        await self._wait_for_slot()
        try:
            while self._idle:
                connection = self._idle.pop()
                if connection.was_hung_up:
                    await connection.close()
                    continue
                try:
                    return connection, await self._begun(connection, first)
                except ConnectionLost:
                    await self.close()  # What befell one has most likely befallen all.
            connection = await self._connect()
            try:
                return connection, await self._begun(connection, first)
            except ConnectionLost:
                raise DatabaseUnavailable("ended the connection") from None
        except BaseException:
            self._slots.release()
            raise

    async def give_back(self, connection: Connection) -> None:
        """Take a connection back: a transaction that is still open on it is taken back first."""
        try:
            await self._keep(connection)
        finally:
            self._slots.release()

    async def part(self, connection: Connection) -> None:
        """As `give_back`, without waiting for the end of a transaction that only read."""
        if connection.is_in_transaction:
            connection.part()
            self._put_back(connection)
            self._slots.release()
        else:
            await self.give_back(connection)

    async def _keep(self, connection: Connection) -> None:
        if not connection.closed and not connection.is_idle:
            await connection.roll_back()
        self._put_back(connection)

    def _put_back(self, connection: Connection) -> None:
        if not connection.closed:
            connection.used = trio.current_time()
            self._idle.append(connection)

    async def close(self) -> None:
        """Close the connections that are not lent."""
        while self._idle:
            await self._idle.pop().close()

    async def _wait_for_slot(self) -> None:
        try:
            self._slots.acquire_nowait()
        except trio.WouldBlock:
            try:
                with trio.fail_after(self._acquire_seconds):
                    await self._slots.acquire()
            except trio.TooSlowError:
                raise DatabaseUnavailable("has too much to do") from None

    async def _begun(self, connection: Connection, first: Callable[[Connection], Awaitable[T]]) -> T:
        """Run what comes first; a connection on which it fails is not kept."""
        try:
            return await first(connection)
        except trio.Cancelled:
            await self._keep(connection)
            raise
        except BaseException as error:
            await connection.close()
            if isinstance(error, psycopg.Error):
                raise refused(error) from None
            raise

    async def _soon(self, work: Awaitable[T]) -> T:
        """Wait for what takes no time where there is anybody. Raises `ConnectionLost`."""
        with trio.move_on_after(self._first_seconds):
            return await work
        raise ConnectionLost
