"""Statements of one round trip: their order, what fails among them, and what is prepared."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest
from teamchat_storage_postgres import PostgresOptions, exchange
from teamchat_storage_postgres.connection import Connection, connect_to


@pytest.fixture
async def connection(options: PostgresOptions) -> AsyncIterator[Connection]:
    connection = await connect_to(options)
    try:
        await connection.run("create temporary table t (n bigint primary key, s text)")
        yield connection
    finally:
        await connection.close()


async def together(connection: Connection, *statements: tuple[str, *tuple[object, ...]]) -> list[object]:
    return list((await connection.run_together([connection.statement(*one) for one in statements]))[-1])


async def prepared(connection: Connection) -> set[str]:
    rows = await connection.run("select statement from pg_prepared_statements")
    return {statement for (statement,) in rows}


INSERT = "insert into t values ($1, $2)"


async def test_they_are_carried_out_in_order_and_the_last_gives_the_rows(connection: Connection) -> None:
    rows = await together(
        connection,
        (INSERT, 1, "one"),
        ("select 'not wanted' from t",),
        ("update t set n = n + 1",),
        ("select n, s from t",),
    )
    assert rows == [(2, "one")]


async def test_after_one_that_fails_none_is_carried_out(connection: Connection) -> None:
    await connection.run(INSERT, 1, "one")
    await connection.command("begin")
    with pytest.raises(psycopg.errors.UniqueViolation):
        await together(connection, ("savepoint s",), (INSERT, 2, "two"), (INSERT, 1, "again"), ("commit",))
    assert not connection.is_idle
    assert not connection.is_in_transaction
    await connection.command("rollback to s")
    assert await together(connection, ("commit",), ("select n from t",)) == [(1,)]


async def test_what_is_given_again_is_prepared_also_within_one_round_trip(connection: Connection) -> None:
    assert INSERT not in await prepared(connection)
    await together(connection, (INSERT, 1, "a"), (INSERT, 2, "b"), (INSERT, 3, "c"))
    assert INSERT in await prepared(connection)
    await connection.run(INSERT, 4, "d")
    assert await connection.run("select count(*) from t") == [(4,)]


async def test_one_that_could_not_be_prepared_is_tried_anew(connection: Connection) -> None:
    for _ in range(3):
        with pytest.raises(psycopg.errors.UndefinedTable):
            await connection.run("select n from later")
    await connection.run("create temporary table later (n bigint)")
    for _ in range(3):
        assert await connection.run("select n from later") == []


async def test_one_that_fails_stays_prepared_once(connection: Connection) -> None:
    await connection.run(INSERT, 1, "one")
    for _ in range(5):
        with pytest.raises(psycopg.errors.UniqueViolation):
            await connection.run(INSERT, 1, "again")
    [(count,)] = await connection.run(
        "select count(*) from pg_prepared_statements where statement = $1", INSERT
    )
    assert count == 1


async def test_the_same_statement_takes_values_of_other_types(connection: Connection) -> None:
    for _ in range(3):
        await connection.run(INSERT, 1, "one")
        await connection.run("delete from t where n = $1", 1)
        await connection.run(INSERT, 1, None)
        assert await connection.run("delete from t returning s") == [(None,)]


async def test_no_more_statements_are_kept_than_a_session_remembers(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MOST_KNOWN", 5)
    for _ in range(2):
        for number in range(12):
            for _ in range(2):
                assert await connection.run(f"select {number}") == [(number,)]
    there = await prepared(connection)
    assert len(there) <= 5
    assert "select 11" in there
    assert "select 1" not in there


async def test_what_can_not_be_sent_leaves_the_connection_as_it_was(connection: Connection) -> None:
    await connection.command("begin")
    for value in ("a\0b", "\ud800"):
        with pytest.raises((psycopg.DataError, UnicodeEncodeError)):
            await together(connection, (INSERT, 1, "one"), (INSERT, 2, value))
    assert connection.is_in_transaction
    assert await connection.run("select n from t") == []


async def test_more_than_fits_into_the_socket_goes_and_comes(connection: Connection) -> None:
    large = "x" * 1_000_000
    rows = await together(connection, *[("select $1", large)] * 20, ("select $1", "y"))
    assert rows == [("y",)]
