"""Whatever is cancelled, at whichever of its waits: nothing leaks, and what comes next works."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest
import trio
from teamchat_storage_postgres import PostgresOptions, listener
from teamchat_storage_postgres.connection import connect_to
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres

from teamchat.events import Encoded
from teamchat.testing.storage import following, save, set_value, values
from tests.postgres import Postgres

Work = Callable[[], AbstractAsyncContextManager[None]]


class World:
    """A storage, with every piece of work that it can be asked for; each leaves `done` one higher."""

    def __init__(self, storage: PostgresStorage) -> None:
        self.storage = storage
        self.begun: list[str] = []

    @property
    def kept(self) -> int:
        """How many connections there are to be: those in the pools, and the one that listens."""
        pools = (self.storage._readers, self.storage._watch, self.storage._writer._pool)
        assert [pool.free for pool in pools] == [10, 1, 1]
        assert all(connection.is_idle for pool in pools for connection in pool._idle)
        assert self.storage._writer._batch is None
        assert not self.storage._writer._turn.locked()
        return 1 + sum(len(pool._idle) for pool in pools)

    def _name(self) -> str:
        self.begun.append(str(len(self.begun)))
        return self.begun[-1]

    @asynccontextmanager
    async def read(self) -> AsyncIterator[None]:
        async with self.storage.read() as tx:
            await tx.fetch("select $1, pg_sleep(0.001)", "x" * 100_000)
            await tx.fetch("select 1")
        yield

    @asynccontextmanager
    async def read_with_connecting(self) -> AsyncIterator[None]:
        await self.storage._readers.close()
        async with self.read():
            yield

    @asynccontextmanager
    async def write_as_the_first(self) -> AsyncIterator[None]:
        name = self._name()
        async with self.storage.write() as tx:
            await tx.append(Encoded("TEST", name))
            await set_value(tx, name, "x")
        yield

    @asynccontextmanager
    async def write_with_connecting(self) -> AsyncIterator[None]:
        await self.storage._writer.close()
        async with self.write_as_the_first():
            yield

    @asynccontextmanager
    async def write_as_one_of_many(self) -> AsyncIterator[None]:
        name = self._name()
        async with trio.open_nursery() as others:
            with trio.CancelScope(shield=True):
                others.start_soon(self._shielded, f"{name}/before")
                await trio.testing.wait_all_tasks_blocked()
            async with self.storage.write() as tx:
                others.start_soon(self._shielded, f"{name}/after")
                await tx.append(Encoded("TEST", name))
                await set_value(tx, name, "x")
        yield

    async def _shielded(self, name: str) -> None:
        with trio.CancelScope(shield=True):
            await save(self.storage, name, "x")

    @asynccontextmanager
    async def ask_for_the_position(self) -> AsyncIterator[None]:
        await self.storage.position()
        yield

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[None]:
        async with following(self.storage, 0) as log:
            await anext(log)
        yield

    async def is_whole(self) -> None:
        """Every body was kept with its event or not at all, and those beside it were kept."""
        there = set(await values(self.storage))
        logged = {event.payload for event in await self.storage.logged(0)}
        for name in self.begun:
            assert (name in there) == (name in logged)
            if f"{name}/after" in there:
                assert f"{name}/before" in there


def backends(server: Postgres, database: str) -> list[str]:
    rows = server.query(f"select state from pg_stat_activity where datname = '{database}'")
    return [state for (state,) in rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [
        "read",
        "read_with_connecting",
        "write_as_the_first",
        "write_with_connecting",
        "write_as_one_of_many",
        "ask_for_the_position",
        "follow",
    ],
)
async def test_a_cancellation_at_any_wait_leaks_nothing(
    server: Postgres, database: str, storage: PostgresStorage, cut, until, what: str
) -> None:
    world = World(storage)
    await save(storage, "first", "x")
    async with storage.write() as tx:
        await tx.append(Encoded("TEST", "first"))
    work: Work = getattr(world, what)
    assert await cut.count(work) > 0
    for number in itertools.count():
        with trio.fail_after(20):
            scope = await cut.at(number, work)
            assert await storage.position() > 0  # What was asked before has been answered by then.
            await trio.testing.wait_all_tasks_blocked()
            expected = ["idle"] * world.kept
            await until(lambda expected=expected: backends(server, database) == expected)
            await save(storage, "next", str(number))
        if not scope.cancel_called:
            break
    assert number > 1
    await world.is_whole()


async def test_connecting_cancelled_at_any_wait_leaves_no_connection(
    server: Postgres, database: str, options: PostgresOptions, cut, until
) -> None:
    @asynccontextmanager
    async def work() -> AsyncIterator[None]:
        connection = await connect_to(options)
        await connection.close()
        yield

    await _until_it_passes(work, cut, until, lambda: backends(server, database) == [])


@pytest.mark.slow
async def test_opening_cancelled_at_any_wait_leaves_no_connection_and_no_half_made_table(
    server: Postgres, database: str, options: PostgresOptions, cut, until
) -> None:
    @asynccontextmanager
    async def work() -> AsyncIterator[None]:
        server.run("drop schema public cascade; create schema public", database)
        async with open_postgres(options) as storage:
            await save(storage, "a", "x")
        yield

    # Every seventh moment: making all tables anew for each of hundreds takes its time.
    await _until_it_passes(work, cut, until, lambda: backends(server, database) == [], step=7)


async def test_listening_cancelled_at_any_wait_leaves_no_connection(
    server: Postgres, database: str, options: PostgresOptions, cut, until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "HEARTBEAT_SECONDS", 0.005)

    class EnoughError(Exception):
        pass

    @asynccontextmanager
    async def work() -> AsyncIterator[None]:
        heard = 0

        def wake() -> None:
            nonlocal heard
            heard += 1
            if heard == 3:
                raise EnoughError

        with pytest.raises(EnoughError):
            await listener.listen(partial(connect_to, options), "somewhere", wake)
        yield

    await _until_it_passes(work, cut, until, lambda: backends(server, database) == [])


async def _until_it_passes(work: Work, cut, until, is_clean: Callable[[], bool], step: int = 1) -> None:
    assert await cut.count(work) > 1
    for number in itertools.count(step=step):
        with trio.fail_after(20):
            scope = await cut.at(number, work)
            await until(is_clean)
        if not scope.cancel_called:
            return
