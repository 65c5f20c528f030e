"""Connections come back clean or not at all, and never get lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres import pool as module
from teamchat_storage_postgres.connection import connect_to
from teamchat_storage_postgres.failures import DatabaseUnavailable
from teamchat_storage_postgres.pool import Pool

from teamchat.testing import DEADLINE
from tests.postgres import Postgres

SIZE = 3


@asynccontextmanager
async def opened(options: PostgresOptions) -> AsyncIterator[Pool]:
    pool = Pool(partial(connect_to, options), SIZE, options.acquire_seconds, options.connect_seconds)
    yield pool
    assert pool.free == SIZE
    await pool.close()


@pytest.fixture
async def pool(options: PostgresOptions) -> AsyncIterator[Pool]:
    async with opened(options) as made:
        yield made


def states(server: Postgres, database: str) -> list[str]:
    rows = server.query(f"select state from pg_stat_activity where datname = '{database}'")
    return [state for (state,) in rows]


async def use(pool: Pool) -> None:
    async with pool.lend("begin") as connection:
        assert await connection.run("select 1") == [(1,)]


async def test_no_more_connections_than_its_size(server: Postgres, database: str, pool: Pool) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(use, pool)
    assert states(server, database) == ["idle"] * SIZE


async def test_who_waits_too_long_is_told(server: Postgres, database: str) -> None:
    options = PostgresOptions(url=server.url(database), acquire_seconds=0.05)
    async with opened(options) as pool, pool.lend("begin"), pool.lend("begin"), pool.lend("begin"):
        with pytest.raises(DatabaseUnavailable, match="too much to do"):
            await use(pool)


@pytest.mark.parametrize("ending", ["raise", "fail", "cancel"])
async def test_a_transaction_left_open_is_taken_back(
    server: Postgres, database: str, pool: Pool, ending: str
) -> None:
    server.run("create table t (n bigint)", database)
    with trio.CancelScope() as scope:
        try:
            async with pool.lend("begin") as connection:
                await connection.run("insert into t values (1)")
                if ending == "raise":
                    raise KeyError
                if ending == "cancel":
                    scope.cancel()
                await connection.run("select * from absent")
        except Exception:
            assert ending != "cancel"
    assert server.query("select count(*) from t", database) == [(0,)]
    with trio.fail_after(DEADLINE):
        while len(found := states(server, database)) > 1:  # noqa: ASYNC110  # The one that counted is ending.
            await trio.sleep(0.01)
    assert found == ["idle"]
    await use(pool)


async def test_a_cancellation_at_any_wait_loses_no_connection(
    server: Postgres, database: str, pool: Pool, cut
) -> None:
    @asynccontextmanager
    async def work() -> AsyncIterator[None]:
        async with pool.lend("begin") as connection:
            await connection.run("select $1, pg_sleep(0.002)", "x")
            yield

    await pool.close()
    waits = await cut.count(work)
    for number in range(2 * waits):
        await pool.close()  # So that connecting is among what is cancelled.
        await cut.at(number, work)
        assert pool.free == SIZE
        assert pool._idle == [connection for connection in pool._idle if connection.is_idle]
    await use(pool)


async def test_killed_connections_are_replaced_unnoticed(server: Postgres, database: str, pool: Pool) -> None:
    async with pool.lend("select 1"), pool.lend("select 1"), pool.lend("select 1"):
        pass
    server.run(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{database}'")
    for _ in range(SIZE + 1):
        await use(pool)


async def test_a_transaction_begins_with_its_first_statement_and_ends_by_parting(
    server: Postgres, database: str, pool: Pool, until
) -> None:
    for number in range(5):
        connection, rows = await pool.begin(("begin", ()), ("select $1", (str(number),)))
        assert rows == [(str(number),)]
        assert connection.is_in_transaction
        await pool.part(connection)
        assert pool.free == SIZE
    await until(lambda: states(server, database) == ["idle"])


async def test_killed_connections_are_replaced_unnoticed_where_a_transaction_begins(
    server: Postgres, database: str, pool: Pool
) -> None:
    for _ in range(3):
        connection, _ = await pool.begin(("begin", ()), ("select 1", ()))
        await pool.part(connection)
        server.run(
            f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{database}'"
        )


async def test_one_that_has_rested_is_asked_first_whether_it_is_there(
    impatient: PostgresOptions, proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RESTED_SECONDS", 0)
    async with opened(impatient) as pool:
        connection, _ = await pool.begin(("begin", ()), ("select 1", ()))
        connection.statement_seconds = 60
        await pool.part(connection)
        proxy.freeze()
        with trio.fail_after(15), pytest.raises(DatabaseUnavailable):
            await pool.begin(("begin", ()), ("select 1", ()))
        proxy.thaw()


async def test_connections_that_went_silent_are_replaced(impatient: PostgresOptions, proxy) -> None:
    async with opened(impatient) as pool:
        async with pool.lend("select 1"), pool.lend("select 1"), pool.lend("select 1"):
            pass
        proxy.freeze()
        with trio.fail_after(15), pytest.raises(DatabaseUnavailable):
            await use(pool)
        assert pool.free == SIZE
        proxy.thaw()
        await use(pool)
