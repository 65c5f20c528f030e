"""Several servers on one database, and a database that goes away and comes back."""

from __future__ import annotations

import os
import random
import signal

import pytest
import trio
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres import storage as module
from teamchat_storage_postgres.failures import DatabaseUnavailable
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres

from teamchat import LoggedEvent, StorageError
from teamchat.events import Encoded
from teamchat.storage.schema import MIGRATIONS
from teamchat.testing.storage import append, followed, following, save, set_value, values
from tests.postgres import Postgres

EVENTS = int(os.environ.get("TEAMCHAT_TEST_EVENTS", "4000"))
EVENTS_AT_A_TIME = 12  # on average
SLOW_SHARE = 0.03  # of the transactions; as several share a commit, about one commit in five is late
SLOW_COMMITS = """
create table late_commits (at timestamp);
create function at_commit() returns trigger language plpgsql as $$
begin insert into late_commits values (now()); perform pg_sleep(random() / 2); return null; end $$;
create constraint trigger at_commit after insert or update on server_settings
  deferrable initially deferred for each row when (new.value = 'slow') execute function at_commit()
"""


async def test_servers_that_start_together_make_the_tables_once(options: PostgresOptions) -> None:
    opened, all_open = 0, trio.Event()

    async def start() -> None:
        nonlocal opened
        async with open_postgres(options) as storage:
            opened += 1
            if opened == 6:
                all_open.set()
            await all_open.wait()
            assert await storage.log_bounds() == (1, 0)

    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(start)


async def test_a_schema_of_a_newer_version_is_refused(
    server: Postgres, database: str, options: PostgresOptions
) -> None:
    async with open_postgres(options):
        pass
    newer = MIGRATIONS[-1].number + 1
    server.run(f"update teamchat_schema set version = {newer}", database)
    with pytest.raises(StorageError, match=f"has schema {newer}"):
        async with open_postgres(options):
            pass


async def test_text_is_compared_byte_by_byte(storage: PostgresStorage) -> None:
    async with storage.read() as tx:
        rows = await tx.fetch(
            """select column_name from information_schema.columns where table_schema = 'public'
               and data_type = 'text' and collation_name is distinct from 'C'"""
        )
    assert rows == []


async def test_what_one_server_wrote_the_other_reads_at_once(options: PostgresOptions) -> None:
    async with open_postgres(options) as one, open_postgres(options) as other:
        for number in range(1, 21):
            writer, reader = (one, other) if number % 2 else (other, one)
            async with writer.write() as tx:
                await set_value(tx, "count", str(number))
                await tx.append(Encoded("TEST", str(number)))
            assert await reader.position() == number
            assert await values(reader) == {"count": str(number)}


async def test_who_asks_for_the_position_while_it_is_asked_gets_a_later_answer(
    options: PostgresOptions,
) -> None:
    async with open_postgres(options) as one, open_postgres(options) as other:
        asked = 0

        async def ask() -> None:
            nonlocal asked
            while asked < 300:
                written = one_written
                assert await other.position() >= written
                asked += 1

        one_written = 0
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(ask)
            while asked < 300:
                await append(one, "{}")
                one_written += 1


async def test_a_follower_hears_of_the_other_servers_events_without_polling(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 60)
    async with open_postgres(options) as one, open_postgres(options) as other, following(other, 0) as log:
        for number in range(5):
            await append(one, str(number))
            with trio.fail_after(10):
                assert [event.payload for event in await anext(log)] == [str(number)]


async def test_a_follower_reads_the_log_once_for_what_another_server_committed(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 60)
    reads, seen = 0, trio.Event()

    async def follow(storage: PostgresStorage) -> None:
        nonlocal reads, seen
        logged = storage.logged

        async def counted(after: int) -> list[LoggedEvent]:
            nonlocal reads
            reads += 1
            return await logged(after)

        monkeypatch.setattr(storage, "logged", counted)
        async with following(storage, 0) as log:
            async for _ in log:
                seen.set()
                seen = trio.Event()

    async with (
        open_postgres(options) as one,
        open_postgres(options) as other,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(follow, other)
        for number in range(10):
            hears = seen
            await append(one, str(number))
            with trio.fail_after(10):
                await hears.wait()
        nursery.cancel_scope.cancel()
    assert reads <= 12, "ten, one as it begins to follow and one as it begins to listen"


async def test_a_lost_notification_costs_a_second_and_no_event(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(*_: object) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(module, "listen", deaf)
    async with (
        open_postgres(options) as one,
        open_postgres(options) as other,
        following(other, 0) as log,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(append, one, "1")
        with trio.fail_after(5):
            assert [event.payload for event in await anext(log)] == ["1"]


async def test_what_a_body_checked_stays_true_until_it_ends_on_all_servers(options: PostgresOptions) -> None:
    async def count_up(storage: PostgresStorage) -> None:
        async with storage.write() as tx:
            rows = await tx.fetch("select value from server_settings where name = 'count'")
            await set_value(tx, "count", str(int(rows[0][0]) + 1 if rows else 1))

    async with open_postgres(options) as one, open_postgres(options) as other:
        async with trio.open_nursery() as nursery:
            for _ in range(40):
                nursery.start_soon(count_up, one)
                nursery.start_soon(count_up, other)
        assert await values(one) == {"count": "80"}


async def test_servers_that_write_the_same_rows_in_other_orders_never_wait_for_each_other_for_ever(
    options: PostgresOptions,
) -> None:
    async def write(storage: PostgresStorage, names: tuple[str, str]) -> None:
        async with storage.write() as tx:
            for name in names:
                await set_value(tx, name, "x")

    async with open_postgres(options) as one, open_postgres(options) as other:
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                for _ in range(50):
                    nursery.start_soon(write, one, ("a", "b"))
                    nursery.start_soon(write, other, ("b", "a"))


class Numbers:
    """What writers number consecutively and readers tick off: each once, in the order of the log."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.given = 0
        self.batches: set[int] = set()

    async def write(self, storage: PostgresStorage) -> None:
        """Append events, a random number at a time, each the number of its transaction."""
        while self.given < self.count:
            several = min(random.randint(1, 2 * EVENTS_AT_A_TIME), self.count - self.given)
            first, self.given = self.given, self.given + several
            async with storage.write() as tx:
                pace = "slow" if random.random() < SLOW_SHARE else "soon"
                await set_value(tx, str(first % 1000), pace)
                for number in range(first, first + several):
                    await tx.append(Encoded("TEST", str(number)))

    async def read(self, storage: PostgresStorage) -> None:
        """Follow the log to its end."""
        seen, last = bytearray(self.count), 0
        async with following(storage, 0) as log:
            async for events in log:
                for event in events:
                    assert event.seq == last + 1
                    assert not seen[int(event.payload)]
                    seen[int(event.payload)] = True
                    last = event.seq
                if last == self.count:
                    break
        assert all(seen)


@pytest.mark.slow
async def test_a_reader_of_the_log_skips_nothing_however_late_commits_are(
    server: Postgres, database: str, options: PostgresOptions
) -> None:
    """`TEAMCHAT_TEST_EVENTS` says how many; three servers write, and each reads what all wrote."""
    async with (
        open_postgres(options) as one,
        open_postgres(options) as two,
        open_postgres(options) as three,
    ):
        server.run(SLOW_COMMITS, database)
        numbers = Numbers(EVENTS)
        with trio.fail_after(60 + EVENTS / 100):  # A reader that skipped one would wait for ever.
            async with trio.open_nursery() as nursery:
                for storage in (one, two, three):
                    nursery.start_soon(numbers.read, storage)
                    for _ in range(10):
                        nursery.start_soon(numbers.write, storage)
        async with one.read() as tx:
            [(slow,)] = await tx.fetch("select count(*) from late_commits")
    assert slow > 0 or EVENTS < 2000


async def test_every_backend_may_be_killed_between_two_requests(
    server: Postgres, database: str, storage: PostgresStorage
) -> None:
    for number in range(1, 6):
        await append(storage, str(number))
        server.run(
            f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{database}'"
        )
        assert await storage.position() == number
        assert (await storage.log_bounds())[1] == number
    assert len(await followed(storage, 0, 5)) == 5


@pytest.mark.slow
async def test_a_silent_database_is_told_in_time_and_used_again_when_it_speaks(
    impatient: PostgresOptions, proxy
) -> None:
    async with open_postgres(impatient) as storage:
        await save(storage, "before", "x")
        await storage.position()
        proxy.freeze()
        with trio.fail_after(60):
            for use in (storage.position, storage.log_bounds, lambda: save(storage, "during", "x")):
                with pytest.raises(DatabaseUnavailable):
                    await use()
        proxy.thaw()
        await save(storage, "after", "x")
        assert set(await values(storage)) == {"before", "after"}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["shut down", "crashed"])
async def test_a_restarted_database_has_all_that_was_acknowledged(how: signal.Signals) -> None:
    own = Postgres()
    acknowledged: list[str] = []
    seen: list[str] = []
    is_over = False

    async def follow(storage: PostgresStorage) -> None:
        async with following(storage, 0) as log:
            async for events in log:
                seen.extend(event.payload for event in events)
                if "last" in seen:
                    return

    async def write(storage: PostgresStorage, writer: int) -> None:
        number = 0
        while not is_over:
            name, number = f"{writer}/{number}", number + 1
            try:
                async with storage.write() as tx:
                    await set_value(tx, name, "x")
                    await tx.append(Encoded("TEST", name))
                acknowledged.append(name)
            except StorageError:
                await trio.sleep(0.05)

    try:
        with trio.fail_after(60):
            async with open_postgres(PostgresOptions(url=own.url(), connect_seconds=1)) as storage:
                async with trio.open_nursery() as followers:
                    followers.start_soon(follow, storage)
                    async with trio.open_nursery() as writers:
                        for writer in range(8):
                            writers.start_soon(write, storage, writer)
                        await grown(acknowledged, 100)
                        await trio.to_thread.run_sync(own.stop, how)
                        with pytest.raises(DatabaseUnavailable):
                            await storage.position()
                        await trio.to_thread.run_sync(own.start)
                        await grown(acknowledged, len(acknowledged) + 100)
                        is_over = True
                    await append(storage, "last")
                there = await values(storage)
                _, last = await storage.log_bounds()
    finally:
        own.remove()
    assert set(acknowledged) <= set(there)
    assert len(seen) == last, "the follower skipped nothing and saw nothing twice"
    assert set(seen) == {*there, "last"}


async def grown(names: list[str], length: int) -> None:
    while len(names) < length:  # noqa: ASYNC110
        await trio.sleep(0.01)
