"""Batches: shared commits, bodies that fail alone, and nobody released before the COMMIT."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
import trio.testing
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.batch import MOST_BODIES
from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.exchange import Row, Statement
from teamchat_storage_postgres.failures import DatabaseUnavailable
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres
from teamchat_storage_postgres.transaction import MOST_PUT_OFF

from teamchat import StorageError
from teamchat.events import Encoded, Event
from teamchat.testing.storage import append, save, set_value, values
from tests.postgres import Postgres

AT_COMMIT = """
create function at_commit() returns trigger language plpgsql as $$ begin {} return null; end $$;
create constraint trigger at_commit after insert on server_settings
  deferrable initially deferred for each row execute function at_commit()
"""
BACKENDS = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"


async def batches(storage: PostgresStorage) -> list[int]:
    """Return how many rows each transaction of the database wrote."""
    async with storage.read() as tx:
        # A savepoint has a transaction id of its own; events are written outside of them.
        rows = await tx.fetch("select count(*) from events group by xmin::text order by 1")
    return [count for (count,) in rows]


async def test_writers_that_come_together_share_commits(storage: PostgresStorage) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(200):
            nursery.start_soon(append, storage, str(number))
    made = await batches(storage)
    assert sum(made) == 200
    assert len(made) <= 6
    assert max(made) <= MOST_BODIES


async def test_a_writer_that_is_alone_commits_alone(storage: PostgresStorage) -> None:
    for number in range(3):
        await append(storage, str(number))
    assert await batches(storage) == [1, 1, 1]


async def test_nobody_is_refused_by_what_is_not_committed(storage: PostgresStorage) -> None:
    refused = []

    async def claim(name: str) -> None:
        try:
            async with storage.write() as tx:
                if await tx.fetch("select 1 from server_settings"):
                    raise KeyError
                await set_value(tx, name, "x")
        except KeyError:
            refused.append(await values(storage))  # as the one who was refused reads it now

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(claim, str(number))
    there = await values(storage)
    assert refused == [there] * 4


async def test_nobody_is_released_before_the_commit(storage: PostgresStorage) -> None:
    async def write(number: int) -> None:
        await save(storage, str(number), "x")
        assert str(number) in await values(storage)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(write, number)


@pytest.mark.slow
@pytest.mark.parametrize("failing", [0, 1, 5, 9])
async def test_a_statement_that_fails_harms_its_own_body_alone(
    storage: PostgresStorage, failing: int
) -> None:
    async def write(number: int) -> None:
        async with storage.write() as tx:
            await set_value(tx, str(number), "x")
            await tx.append(Encoded("TEST", str(number)))
            if number == failing:
                await tx.fetch("select * from absent")

    async def fail() -> None:
        with pytest.raises(StorageError, match="42P01"):
            await write(failing)

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(*((fail,) if number == failing else (write, number)))  # type: ignore[arg-type]
    expected = {str(number) for number in range(10)} - {str(failing)}
    assert set(await values(storage)) == expected
    assert {event.payload for event in await storage.logged(0)} == expected


async def test_a_body_that_goes_on_after_a_failed_statement_is_refused(storage: PostgresStorage) -> None:
    async def stubborn() -> None:
        with pytest.raises(StorageError, match="went on"):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, "stubborn", "x")
                with pytest.raises(StorageError):
                    await tx.fetch("select * from absent")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(save, storage, "before", "x")
        nursery.start_soon(stubborn)
        nursery.start_soon(save, storage, "after", "x")
    assert set(await values(storage)) == {"before", "after"}


async def test_what_was_put_off_fails_its_own_body_alone(storage: PostgresStorage) -> None:
    async def refused(number: int, *, is_asked: bool) -> None:
        with pytest.raises(StorageError, match="23505"):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, f"refused/{number}", "x")
                await tx.fetch("insert into server_settings values ('first', 'again')")
                if is_asked:
                    await tx.fetch("select 1")

    await save(storage, "first", "x")
    async with trio.open_nursery() as nursery:
        for number in range(12):
            nursery.start_soon(save, storage, str(number), "x")
            nursery.start_soon(partial(refused, number, is_asked=number % 2 == 0))
    assert set(await values(storage)) == {"first", *map(str, range(12))}


async def test_bodies_that_run_nothing_or_are_refused_before_they_do_harm_nobody(
    storage: PostgresStorage,
) -> None:
    async def log(number: int) -> None:
        await append(storage, str(number))

    async def refused() -> None:
        with pytest.raises(KeyError):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, "refused", "x")
                raise KeyError

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(log, number)
            nursery.start_soon(refused)
            nursery.start_soon(save, storage, str(number), "x")
    assert set(await values(storage)) == set(map(str, range(10)))
    assert {event.payload for event in await storage.logged(0)} == set(map(str, range(10)))


async def test_many_statements_that_return_nothing_are_all_carried_out(storage: PostgresStorage) -> None:
    count = 3 * MOST_PUT_OFF + 1
    async with storage.write() as tx:
        for number in range(count):
            await set_value(tx, str(number), "x")
    assert len(await values(storage)) == count


@pytest.mark.parametrize("ahead", [0, 1])
async def test_a_body_waits_for_what_it_asks_and_for_the_commit(
    storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    trips: list[tuple[Connection, int]] = []
    run_together = Connection.run_together

    async def counted(connection: Connection, statements: Sequence[Statement]) -> list[list[Row]]:
        trips.append((connection, len(statements)))
        return await run_together(connection, statements)

    async def body() -> Connection:
        async with storage.write() as tx:
            monkeypatch.setattr(Connection, "run_together", counted)
            await tx.fetch("select 1")
            for number in range(3):
                await set_value(tx, str(number), "x")
            await tx.fetch("select 2")
            await set_value(tx, "last", "x")
            await tx.append(Encoded("TEST", "{}"))
        return tx._connection

    async with trio.open_nursery() as nursery:
        for number in range(ahead):
            nursery.start_soon(append, storage, str(number))
        await trio.testing.wait_all_tasks_blocked()
        writing = await body()
    monkeypatch.undo()
    # With what it asks first goes its savepoint; with what it left the log, NOTIFY and COMMIT.
    assert [count for connection, count in trips if connection is writing] == [2, 4, 4]


@pytest.mark.parametrize(
    "next_", ["nothing", "an event", "a write", "a question", "a refusal", "a retraction"]
)
@pytest.mark.parametrize("has_asked", [False, True])
@pytest.mark.parametrize("ahead", [0, 1])
async def test_what_a_body_left_is_refused_without_harm_to_what_went_with_it(
    storage: PostgresStorage, ahead: int, has_asked: bool, next_: str
) -> None:
    async def refused() -> None:
        with pytest.raises(StorageError, match="23505"):  # noqa: PT012
            async with storage.write() as tx:
                if has_asked:
                    await tx.fetch("select 1")
                await set_value(tx, "refused", "x")
                await tx.append(Encoded("TEST", "refused"))
                await tx.fetch("insert into server_settings values ('first', 'again')")

    async def following() -> None:
        async with storage.write() as tx:
            if next_ == "a question":
                assert await tx.fetch("select 1 from server_settings where name = 'refused'") == []
            if next_ == "a refusal":
                await tx.fetch("select 1 / 0")
            if next_ != "an event":
                await set_value(tx, "following", "x")
            await tx.append(Encoded("TEST", "following"))
            if next_ == "a retraction":
                raise KeyError

    await save(storage, "first", "x")
    async with trio.open_nursery() as nursery:
        for number in range(ahead):
            nursery.start_soon(append, storage, str(number))
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(refused)
        await trio.testing.wait_all_tasks_blocked()
        if next_ in {"a refusal", "a retraction"}:
            with pytest.raises(StorageError if next_ == "a refusal" else KeyError):
                await following()
        elif next_ != "nothing":
            await following()
        await save(storage, "after", "x")
    is_kept = next_ in {"an event", "a write", "a question"}
    assert set(await values(storage)) == {"first", "after"} | (
        {"following"} if is_kept and next_ != "an event" else set()
    )
    told = [*map(str, range(ahead)), *(["following"] if is_kept else [])]
    assert [event.payload for event in await storage.logged(0)] == told


async def test_what_a_body_left_is_kept_though_the_next_one_is_cancelled(storage: PostgresStorage) -> None:
    was_first_asked = was_second_asked = False

    async def cancelled() -> None:
        nonlocal was_first_asked, was_second_asked
        with trio.CancelScope() as scope:
            async with storage.write() as tx:
                scope.cancel()
                await tx.fetch("select 1")
                was_first_asked = True  # It was not cut off, for it has what another body left.
                await tx.fetch("select 2")
                was_second_asked = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(save, storage, "left", "x")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(cancelled)
    assert was_first_asked
    assert not was_second_asked
    assert set(await values(storage)) == {"left"}


async def test_what_a_body_left_is_lost_with_the_connection_and_nobody_is_told_otherwise(
    storage: PostgresStorage,
) -> None:
    async def left() -> None:
        with pytest.raises(StorageError):
            await save(storage, "left", "x")

    async def losing() -> None:
        with pytest.raises(DatabaseUnavailable):  # noqa: PT012
            async with storage.write() as tx:
                async with storage.read() as reading:
                    await reading.fetch(f"select pg_terminate_backend(pid) {BACKENDS}")
                await tx.fetch("select 1")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(left)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(losing)
    await save(storage, "after", "x")
    assert set(await values(storage)) == {"after"}


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("ending", ["asks", "writes", "appends"])
async def test_what_is_asked_ahead_is_looked_at_before_anything_is_kept(
    storage: PostgresStorage, ahead: int, ending: str
) -> None:
    seen: list[Row] = []
    got: list[Row] = []

    async def look(rows: list[Row]) -> None:
        seen.extend(rows)
        assert not got
        raise KeyError

    async def body() -> None:
        with pytest.raises(KeyError):  # noqa: PT012
            async with storage.write() as tx:
                tx.ask_ahead(look, "select $1", "ahead")
                await tx.append(Encoded("TEST", "refused"))
                if ending != "appends":
                    await set_value(tx, "refused", "x")
                if ending == "asks":
                    got.extend(await tx.fetch("select 1"))

    async with trio.open_nursery() as nursery:
        for number in range(ahead):
            nursery.start_soon(append, storage, str(number))
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(body)
        nursery.start_soon(save, storage, "after", "x")
    assert seen == [("ahead",)]
    assert await values(storage) == {"after": "x"}
    assert await storage.position() == ahead


@pytest.mark.parametrize("text", ["", "a", '"', "\\", '\\"', "{,}", "null", "NULL", " x ", "é\n🦊'", None])
async def test_events_are_logged_as_they_are(storage: PostgresStorage, text: str | None) -> None:
    async with storage.write() as tx:
        for payload in ("{}", json.dumps({"text": text, "more": ['"', "\\"]})):
            await tx.append(Event("TEST", payload, ("a", "b"), text, text))
    expected = [("{}", text), (json.dumps({"text": text, "more": ['"', "\\"]}), text)]
    assert [(event.payload, event.text_message) for event in await storage.logged(0)] == expected


async def test_an_error_tells_no_value(storage: PostgresStorage) -> None:
    with pytest.raises(StorageError) as caught:  # noqa: PT012
        async with storage.write() as tx:
            for _ in range(2):
                await tx.fetch("insert into server_settings values ('a', 'a secret')")
    assert "UniqueViolation (23505)" in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_failed_commit_raises_for_every_writer_and_nothing_is_stored(
    server: Postgres, database: str, storage: PostgresStorage
) -> None:
    server.run(AT_COMMIT.format("raise exception 'no';"), database)
    failures = []

    async def write(number: int) -> None:
        with pytest.raises(StorageError):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, str(number), "x")
                await tx.append(Encoded("TEST", "{}"))
        failures.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(write, number)
    assert len(failures) == 10
    assert await values(storage) == {}
    assert await storage.log_bounds() == (1, 0)
    server.run("drop trigger at_commit on server_settings", database)
    await save(storage, "after", "x")
    await append(storage, "{}")
    assert await storage.position() == 1


async def test_what_can_not_be_sent_fails_with_its_batch_and_the_next_one_works(
    storage: PostgresStorage,
) -> None:
    async def write(payload: str) -> None:
        with pytest.raises(StorageError, match="UnicodeEncodeError"):
            await append(storage, payload)

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for payload in ("{}", "\ud800", "{}"):
                nursery.start_soon(write, payload)
        await append(storage, "{}")
    assert await storage.position() == 1


async def test_a_connection_lost_in_a_body_changes_nothing_and_says_so(
    server: Postgres, database: str, storage: PostgresStorage
) -> None:
    with pytest.raises(DatabaseUnavailable):  # noqa: PT012
        async with storage.write() as tx:
            await set_value(tx, "lost", "x")
            server.run(f"select pg_terminate_backend(pid, 5000) {BACKENDS}", database)
            await set_value(tx, "lost", "y")
    await save(storage, "after", "x")
    assert await values(storage) == {"after": "x"}


async def test_a_connection_lost_at_the_commit_acknowledges_nothing(
    server: Postgres, database: str, storage: PostgresStorage, until
) -> None:
    server.run(AT_COMMIT.format("perform pg_sleep(60);"), database)

    async def write() -> None:
        with pytest.raises(StorageError, match="may have stored") as caught:
            await save(storage, "perhaps", "x")
        assert not isinstance(caught.value, DatabaseUnavailable), (
            "nobody may be told that nothing was changed"
        )

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        sleeping = f"select 1 {BACKENDS} and wait_event = 'PgSleep'"
        await until(lambda: bool(server.query(sleeping, database)))
        server.run(f"select pg_terminate_backend(pid, 5000) {BACKENDS}", database)
    server.run("drop trigger at_commit on server_settings", database)
    await save(storage, "after", "x")


async def test_a_cancellation_at_any_wait_harms_nobody_else(
    server: Postgres, database: str, storage: PostgresStorage, cut
) -> None:
    await save(storage, "first", "x")
    written = 0

    @asynccontextmanager
    async def work() -> AsyncIterator[None]:
        nonlocal written
        written += 1
        name = str(written)
        async with trio.open_nursery() as nursery:
            with trio.CancelScope(shield=True):
                nursery.start_soon(shielded, f"{name}/before")
                await trio.lowlevel.checkpoint()
            async with storage.write() as tx:
                await tx.append(Encoded("TEST", name))
                await set_value(tx, name, "x")
                nursery.start_soon(shielded, f"{name}/after")
                await tx.fetch("select pg_sleep(0.001)")
        yield

    async def shielded(name: str) -> None:
        with trio.CancelScope(shield=True):
            await save(storage, name, "x")

    waits = await cut.count(work)
    assert waits >= 3
    for number in range(2 * waits):
        await cut.at(number, work)
    there, logged = await values(storage), {event.payload for event in await storage.logged(0)}
    assert {f"{number}/before" for number in range(1, written + 1)} <= set(there)
    for number in range(1, written + 1):
        assert (str(number) in there) == (str(number) in logged), "a change and its event, or neither"
        assert str(number) not in there or f"{number}/after" in there
    busy = server.query(f"select state {BACKENDS} and state <> 'idle'", database)
    assert busy == []


async def test_writers_that_wait_too_long_for_another_server_are_told(
    server: Postgres, database: str, options: PostgresOptions
) -> None:
    hasty = PostgresOptions(url=options.url, acquire_seconds=0.1)
    async with open_postgres(options) as slow, open_postgres(hasty) as other:
        async with slow.write() as tx:
            await set_value(tx, "slow", "x")
            with pytest.raises(DatabaseUnavailable, match="too much to do"):
                await save(other, "hasty", "x")
        await save(other, "later", "x")
        assert set(await values(slow)) == {"slow", "later"}
