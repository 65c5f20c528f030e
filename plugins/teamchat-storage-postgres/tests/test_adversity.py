"""A database that is hostile, full, read-only or not made for teamchat: told clearly, and survived."""

from __future__ import annotations

import random

import pytest
import trio
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.batch import MOST_BODIES
from teamchat_storage_postgres.failures import DatabaseUnavailable
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres

from teamchat import StorageError
from teamchat.events import Encoded
from teamchat.testing.storage import append, save, set_value, values
from tests.harness import free_port
from tests.postgres import Postgres

FULL = """
create function no_room() returns trigger language plpgsql as $$
begin raise exception 'could not extend file' using errcode = '53100'; end $$;
create {} on server_settings {} for each row when (new.value = 'large') execute function no_room()
"""


@pytest.mark.slow
async def test_a_storm_of_killed_backends_loses_nothing_acknowledged_and_leaves_the_pools_whole(
    server: Postgres, database: str, storage: PostgresStorage
) -> None:
    acknowledged: list[str] = []
    kills, is_over = 0, False

    async def write(writer: int) -> None:
        number = 0
        while not is_over:
            name, number = f"{writer}/{number}", number + 1
            try:
                async with storage.write() as tx:
                    await set_value(tx, name, "x")
                    await tx.append(Encoded("TEST", name))
                acknowledged.append(name)
            except StorageError:
                await trio.lowlevel.checkpoint()

    async def read() -> None:
        while not is_over:
            try:
                known = len(acknowledged)
                there = await values(storage)
                assert set(acknowledged[:known]) <= set(there)
                await storage.position()
            except StorageError:
                await trio.lowlevel.checkpoint()

    def kill_some() -> None:
        server.run(
            f"""select pg_terminate_backend(pid) from pg_stat_activity
                where datname = '{database}' and pid <> pg_backend_pid() and random() < 0.5"""
        )

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for writer in range(6):
                nursery.start_soon(write, writer)
            for _ in range(4):
                nursery.start_soon(read)
            while kills < 40 or len(acknowledged) < 100:
                await trio.to_thread.run_sync(kill_some)
                kills += 1
            is_over = True
    there, events = await values(storage), await storage.logged(0)
    assert set(acknowledged) <= set(there)
    # More than a thousand may have been written: `logged` gives the first of them.
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert {event.payload for event in events} <= set(there)
    assert storage._readers.free == 10
    assert storage._writer._pool.free == storage._watch.free == 1


@pytest.mark.slow
async def test_a_statement_over_the_limit_is_told_and_harms_nobody_else(
    server: Postgres, database: str
) -> None:
    async with open_postgres(PostgresOptions(url=server.url(database), statement_seconds=0.2)) as storage:
        with pytest.raises(DatabaseUnavailable, match="took too long"):
            async with storage.read() as tx:
                await tx.fetch("select pg_sleep(60)")

        async def long_write() -> None:
            with pytest.raises(DatabaseUnavailable, match="took too long"):  # noqa: PT012
                async with storage.write() as tx:
                    await set_value(tx, "long", "x")
                    await tx.fetch("select pg_sleep(60)")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(save, storage, "before", "x")
            nursery.start_soon(long_write)
            nursery.start_soon(save, storage, "after", "x")
        assert set(await values(storage)) == {"before", "after"}


@pytest.mark.slow
async def test_a_body_that_dawdles_is_ended_by_the_database_and_the_next_one_works(
    server: Postgres, database: str
) -> None:
    options = PostgresOptions(url=server.url(database), acquire_seconds=0.2)
    async with open_postgres(options) as storage:
        with pytest.raises(DatabaseUnavailable):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, "slow", "x")
                await trio.sleep(1)
                await set_value(tx, "slow", "y")
        with trio.fail_after(20):
            while not await saved(storage, "next"):  # so short a deadline a busy machine may miss, too
                pass
        assert set(await values(storage)) == {"next"}


async def saved(storage: PostgresStorage, name: str) -> bool:
    try:
        await save(storage, name, "x")
    except DatabaseUnavailable:
        return False
    return True


@pytest.mark.slow
async def test_a_database_that_takes_no_writes_is_read_and_says_so(
    server: Postgres, database: str, storage: PostgresStorage
) -> None:
    await save(storage, "before", "x")
    server.run(f"alter database {database} set default_transaction_read_only = on")
    server.run(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{database}'")
    with pytest.raises(DatabaseUnavailable, match=r"takes no writes now \(25006\)"):
        await save(storage, "during", "x")
    assert await values(storage) == {"before": "x"}
    assert await storage.position() == 0
    with pytest.raises(DatabaseUnavailable, match="takes no writes now"):
        async with open_postgres(PostgresOptions(url=server.url(database))):
            pass
    server.run(f"alter database {database} reset default_transaction_read_only")
    server.run(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{database}'")
    await save(storage, "after", "x")
    assert set(await values(storage)) == {"before", "after"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trigger", "when"),
    [
        ("trigger no_room before insert", ""),
        ("constraint trigger no_room after insert", "deferrable initially deferred"),
    ],
    ids=["in a body", "at the commit"],
)
async def test_a_full_disk_is_told_and_what_fits_is_written_again_later(
    server: Postgres, database: str, storage: PostgresStorage, trigger: str, when: str
) -> None:
    server.run(FULL.format(trigger, when), database)
    with pytest.raises(DatabaseUnavailable, match=r"room, memory or connections \(53100\)"):
        await save(storage, "much", "large")
    await save(storage, "little", "small")
    assert await values(storage) == {"little": "small"}


async def test_when_the_database_gives_no_more_connections_those_there_are_go_on(
    server: Postgres, database: str
) -> None:
    role = f"few_{random.randrange(10**9)}"
    server.run(f"create role {role} login connection limit 5; alter database {database} owner to {role}")
    options = PostgresOptions(url=server.url(database).replace("postgres@", f"{role}@"), acquire_seconds=5)
    told: list[str] = []
    done = 0

    async def read() -> None:
        nonlocal done
        try:
            async with storage.read() as tx:
                await tx.fetch("select pg_sleep(0.01)")
            done += 1
        except DatabaseUnavailable as error:
            told.append(str(error))

    async with open_postgres(options) as storage:
        await append(storage, "{}")
        assert await storage.position() == 1
        async with trio.open_nursery() as nursery:
            for _ in range(30):
                nursery.start_soon(read)
        assert done > 0
        assert len(told) == 30 - done > 0
        assert all("takes no more connections; see storage.poolSize" in one for one in told)
        assert storage._readers.free == 10
        await append(storage, "{}")
        assert await storage.position() == 2


async def test_a_user_who_does_not_own_the_database_is_told_what_is_missing(
    server: Postgres, database: str
) -> None:
    user = f"guest_{database}"
    server.run(f"create user {user}")
    with pytest.raises(StorageError, match="Make that user the owner of the database"):
        async with open_postgres(PostgresOptions(url=server.url(database).replace("postgres@", f"{user}@"))):
            pass


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_can_not_keep_every_character_is_refused(
    server: Postgres, encoding: str
) -> None:
    name = f"other_{random.randrange(10**9)}"
    server.run(f"create database {name} encoding '{encoding}' locale 'C' template template0")
    with pytest.raises(
        StorageError, match=f"has the encoding {encoding}.*encoding 'UTF8' template template0"
    ):
        async with open_postgres(PostgresOptions(url=server.url(name))):
            pass


async def test_of_several_hosts_the_one_that_takes_writes_is_found(server: Postgres, database: str) -> None:
    here = f"127.0.0.1:{server.port}"
    url = server.url(database).replace(here, f"127.0.0.1:{free_port()},{here}")
    async with open_postgres(PostgresOptions(url=f"{url}&target_session_attrs=read-write")) as storage:
        await save(storage, "a", "x")


async def test_a_burst_that_fills_many_batches_is_written_whole(storage: PostgresStorage) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(5 * MOST_BODIES + 1):
            nursery.start_soon(append, storage, str(number))
    assert await storage.position() == 5 * MOST_BODIES + 1
