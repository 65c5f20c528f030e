"""A connection is usable or closed after every call, and nothing is waited for without an end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest
import trio
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.connection import Connection, connect_to
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable

from teamchat import SettingsError
from tests.postgres import Postgres


@asynccontextmanager
async def connected(options: PostgresOptions) -> AsyncIterator[Connection]:
    connection = await connect_to(options)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture
async def connection(options: PostgresOptions) -> AsyncIterator[Connection]:
    async with connected(options) as opened:
        yield opened


def active(server: Postgres, database: str) -> int:
    [(count,)] = server.query(
        f"select count(*) from pg_stat_activity where datname = '{database}' and state <> 'idle'"
    )
    return int(count)


async def test_psycopg_is_the_version_that_these_tests_were_passed_with() -> None:
    assert psycopg.__version__ == "3.3.9"


@pytest.mark.parametrize("value", [0, -1, 2**15, 2**31, 2**62, None, "", "Straße 🦊", "x" * 1_000_000])
async def test_values_come_back_as_they_went(connection: Connection, value: object) -> None:
    await connection.run("create temporary table t (n bigint, s text)")
    column = "s" if isinstance(value, str) else "n"
    await connection.run(f"insert into t ({column}) values ($1)", value)
    assert await connection.run(f"select {column} from t") == [(value,)]


async def test_truth_values_and_sums_are_integers(connection: Connection) -> None:
    await connection.run("create temporary table t (n bigint)")
    await connection.run("insert into t values ($1), ($2)", True, False)
    rows = await connection.run("select sum(n), min(n), count(*), max(n) = 1, 1 = 2 from t")
    assert [(type(value), value) for value in rows[0]] == [(int, 1), (int, 0), (int, 2), (int, 1), (int, 0)]


async def test_a_percent_sign_is_only_that(connection: Connection) -> None:
    assert await connection.run("select 'oauth-1' like 'oauth-%'") == [(1,)]
    assert await connection.run("select 'oauth-1' like 'oauth-%' and $1 = $1", "x") == [(1,)]


async def test_a_cancelled_statement_is_cancelled_on_the_server(
    server: Postgres, database: str, connection: Connection, until
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, "select pg_sleep(60)")
        await until(lambda: active(server, database) == 1)
        nursery.cancel_scope.cancel()
    assert active(server, database) == 0
    assert await connection.run("select 1") == [(1,)]


async def test_a_cancelled_statement_in_a_transaction_leaves_it_to_be_taken_back(
    server: Postgres, database: str, connection: Connection, until
) -> None:
    await connection.run("begin")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, "select pg_sleep(60)")
        await until(lambda: active(server, database) == 1)
        nursery.cancel_scope.cancel()
    assert not connection.is_idle
    assert not connection.is_in_transaction
    await connection.roll_back()
    assert connection.is_idle


async def test_a_cancellation_at_any_wait_leaves_the_connection_usable(connection: Connection, cut) -> None:
    @asynccontextmanager
    async def work() -> AsyncIterator[None]:
        await connection.run("begin")
        await connection.run("select $1, pg_sleep(0.002)", "x" * 3_000_000)
        await connection.run("commit")
        yield

    waits = await cut.count(work)
    assert waits >= 3
    for number in range(2 * waits):
        await cut.at(number, work)
        if not connection.is_idle:
            await connection.roll_back()
        assert await connection.run("select 1") == [(1,)]


async def test_who_parts_does_not_wait_and_goes_on_with_the_next_statement(
    server: Postgres, database: str, connection: Connection, until
) -> None:
    for _ in range(3):
        await connection.run("begin")
        assert await connection.run("select 1") == [(1,)]
        connection.part()
        assert await connection.run("select 2") == [(2,)]
        assert connection.is_idle
    await connection.run("begin")
    connection.part()
    await until(lambda: active(server, database) == 0)
    assert not connection.was_hung_up
    assert connection.is_idle


async def test_what_comes_between_two_looks_at_a_connection_that_parted_is_no_hang_up(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine lost 200 connections a minute to that, and a new one is dear."""
    await connection.run("begin")
    connection.part()
    await trio.lowlevel.wait_readable(connection.pgconn.socket)
    with monkeypatch.context() as patched:
        patched.setattr(Connection, "_hear", lambda _: None)  # It had nothing to hear yet.
        assert not connection.was_hung_up
    assert not connection.was_hung_up
    assert connection.is_idle


async def test_a_cancellation_at_any_wait_after_parting_leaves_the_connection_usable(
    connection: Connection, cut
) -> None:
    @asynccontextmanager
    async def work() -> AsyncIterator[None]:
        await connection.run("begin")
        connection.part()
        await connection.run("select $1, pg_sleep(0.002)", "x" * 3_000_000)
        yield

    for number in range(2 * await cut.count(work)):
        await cut.at(number, work)
        if not connection.is_idle:
            await connection.roll_back()
        assert await connection.run("select 1") == [(1,)]


async def test_a_connection_that_is_killed_after_parting_says_so(
    server: Postgres, database: str, connection: Connection
) -> None:
    await connection.run("begin")
    connection.part()
    server.run(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{database}'")
    assert connection.was_hung_up
    with pytest.raises(ConnectionLost):
        await connection.run("select 1")


async def test_a_statement_over_the_limit_is_ended_by_the_server(server: Postgres, database: str) -> None:
    async with connected(PostgresOptions(url=server.url(database), statement_seconds=0.1)) as connection:
        with pytest.raises(psycopg.errors.QueryCanceled):
            await connection.run("select pg_sleep(60)")
        assert await connection.run("select 1") == [(1,)]


async def test_a_server_that_went_silent_is_given_up(impatient: PostgresOptions, proxy) -> None:
    async with connected(impatient) as connection:
        proxy.freeze()
        with trio.fail_after(10), pytest.raises(ConnectionLost):
            await connection.run("select 1")
        assert connection.closed
        proxy.thaw()


async def test_connecting_to_a_silent_server_ends(impatient: PostgresOptions, proxy) -> None:
    proxy.freeze()
    with trio.fail_after(5), pytest.raises(DatabaseUnavailable, match="can't be reached"):
        await connect_to(impatient)
    proxy.thaw()


async def test_a_killed_connection_is_closed_and_says_so(
    server: Postgres, database: str, connection: Connection
) -> None:
    server.run(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{database}'")
    assert connection.was_hung_up
    with pytest.raises(ConnectionLost):
        await connection.run("select 1")
    assert connection.closed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("/test", "/absent"), "does not exist"),
        (("postgres@", "stranger:hunter2@"), "does not take the user"),
        (("sslmode=disable", "sslmode=require"), "do not agree on encryption"),
        (("127.0.0.1:", "127.0.0.1:1"), "can't be reached"),
    ],
)
async def test_a_connection_that_can_not_be_made_is_told_without_its_values(
    options: PostgresOptions, change: tuple[str, str], told: str
) -> None:
    url = options.url.replace(*change)
    if "127.0.0.1:1" in url:
        url = "postgresql://postgres:hunter2@127.0.0.1:1/test"
    with pytest.raises(DatabaseUnavailable, match=told) as caught:
        await connect_to(PostgresOptions(url=url))
    assert "hunter2" not in repr(caught.value)
    assert "stranger" not in repr(caught.value)


async def test_a_url_that_is_none_is_told_without_its_value() -> None:
    with pytest.raises(SettingsError, match=r"storage\.url") as caught:
        await connect_to(PostgresOptions(url="mysql://u:hunter2@h/d"))
    assert "hunter2" not in repr(caught.value)
    assert "hunter2" not in repr(PostgresOptions(url="postgresql://u:hunter2@h/d"))


async def test_a_server_that_vanishes_within_a_transaction_is_forgotten_by_the_database(
    server: Postgres, database: str, impatient: PostgresOptions, proxy, until
) -> None:
    async with connected(impatient) as connection:
        await connection.command("begin; select pg_advisory_xact_lock(1)")
        proxy.freeze()
        await until(
            lambda: server.query("select count(*) from pg_locks where locktype = 'advisory'") == [(0,)]
        )
        proxy.thaw()
