from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import apsw
import pytest
import trio
import trio.testing

from teamchat import Storage, StorageError
from teamchat.events import Encoded
from teamchat.storage.schema import MIGRATIONS
from teamchat.storage.sqlite import DATABASE_NAME, SqliteOptions, SqliteStorage, open_sqlite
from teamchat.testing import StorageContract
from teamchat.testing.storage import append, followed, save, set_value, values

ROOT = Path(__file__).parents[2]


class TestSqlite(StorageContract):
    def open_storage(self, tmp_path: Path) -> AbstractAsyncContextManager[Storage]:
        return open_sqlite(SqliteOptions(path=str(tmp_path)))


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[SqliteStorage]:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as opened:
        yield opened


class Commits:
    """Counts the commits of a storage, and can make them fail."""

    def __init__(self, storage: SqliteStorage) -> None:
        self.count = 0
        self.failing = False
        storage._writer.set_commit_hook(self._commit)

    def _commit(self) -> bool:
        self.count += 1
        return self.failing  # True turns the commit into a rollback


async def test_writers_that_come_together_share_commits(storage: SqliteStorage) -> None:
    commits = Commits(storage)
    async with trio.open_nursery() as nursery:
        for number in range(200):
            nursery.start_soon(save, storage, str(number), "x")
    assert len(await values(storage)) == 200
    assert commits.count <= 3


async def test_a_writer_that_is_alone_commits_alone(storage: SqliteStorage) -> None:
    commits = Commits(storage)
    for number in range(3):
        await save(storage, str(number), "x")
    assert commits.count == 3


async def test_no_writer_of_a_batch_is_released_before_the_commit(storage: SqliteStorage) -> None:
    commits, released_after = Commits(storage), []

    async def write(number: int) -> None:
        await save(storage, str(number), "x")
        released_after.append((number, commits.count, await values(storage)))

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(write, number)
    assert len(released_after) == 10
    for number, count, there in released_after:
        assert count >= 1
        assert str(number) in there


@pytest.mark.parametrize("failing", [0, 5, 9])
async def test_a_body_that_raises_is_rolled_back_alone(storage: SqliteStorage, failing: int) -> None:
    async def write(number: int) -> None:
        try:
            async with storage.write() as tx:
                await set_value(tx, str(number), "x")
                await tx.append(Encoded("TEST", str(number)))
                if number == failing:
                    raise KeyError
        except KeyError:
            pass

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(write, number)
    expected = {str(number) for number in range(10)} - {str(failing)}
    assert set(await values(storage)) == expected
    assert {event.payload for event in await storage.logged(0)} == expected


async def test_nobody_is_refused_by_what_is_not_committed(storage: SqliteStorage) -> None:
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


async def test_a_statement_that_fails_leaves_the_body_of_others_alone(storage: SqliteStorage) -> None:
    async def wrong() -> None:
        with pytest.raises(StorageError, match="refused a statement: SQLError"):  # noqa: PT012
            async with storage.write() as tx:
                await set_value(tx, "wrong", "x")
                await tx.fetch("select * from no_such_table")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(save, storage, "before", "x")
        nursery.start_soon(wrong)
        nursery.start_soon(save, storage, "after", "x")
    assert set(await values(storage)) == {"before", "after"}


async def test_a_body_cancelled_in_a_batch_takes_nothing_of_the_others_along(storage: SqliteStorage) -> None:
    async def cancelled() -> None:
        with trio.CancelScope() as scope:
            async with storage.write() as tx:
                await set_value(tx, "cancelled", "x")
                scope.cancel()
                await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(save, storage, "before", "x")
        nursery.start_soon(cancelled)
        nursery.start_soon(save, storage, "after", "x")
    assert set(await values(storage)) == {"before", "after"}


async def test_a_writer_cancelled_while_it_queues_leaves_the_queue(storage: SqliteStorage) -> None:
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        @nursery.start_soon
        async def _waits() -> None:
            with scope:
                await save(storage, "never", "x")

        async with storage.write() as tx:
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
            await trio.testing.wait_all_tasks_blocked()
            await set_value(tx, "first", "x")
    await save(storage, "later", "x")
    assert set(await values(storage)) == {"first", "later"}


async def test_a_failed_commit_raises_for_every_writer_and_keeps_the_storage_usable(
    storage: SqliteStorage,
) -> None:
    commits, failures = Commits(storage), []
    commits.failing = True

    async def write(number: int) -> None:
        with pytest.raises(StorageError, match="could not commit"):
            await save(storage, str(number), "x")
        failures.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(write, number)
    assert sorted(failures) == list(range(10))
    assert await values(storage) == {}
    commits.failing = False
    await save(storage, "after", "x")
    assert await values(storage) == {"after": "x"}


async def test_a_failed_commit_sends_no_event(storage: SqliteStorage) -> None:
    commits = Commits(storage)
    commits.failing = True
    with pytest.raises(StorageError):
        await append(storage, "lost")
    commits.failing = False
    await append(storage, "kept")
    assert [event.payload for event in await followed(storage, 0, 1)] == ["kept"]


async def test_the_error_of_a_failed_commit_tells_no_value(storage: SqliteStorage) -> None:
    Commits(storage).failing = True
    with pytest.raises(StorageError) as caught:
        await save(storage, "name", "a secret value")
    assert "a secret value" not in str(caught.value)


async def test_the_error_of_a_failed_commit_has_its_cause(storage: SqliteStorage) -> None:
    Commits(storage).failing = True
    with pytest.raises(StorageError) as caught:
        await save(storage, "name", "x")
    assert isinstance(caught.value.__cause__, apsw.Error)


async def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))):
        pass
    newer = MIGRATIONS[-1].number + 1
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))
    connection.pragma("user_version", newer)
    connection.close()
    with pytest.raises(StorageError, match=f"has schema {newer}"):
        async with open_sqlite(SqliteOptions(path=str(tmp_path))):
            pass


async def test_an_unusable_directory_is_told_to_the_operator(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"storage\.path"):
        async with open_sqlite(SqliteOptions(path=str(tmp_path / "file"))):
            pass


async def test_a_file_that_is_no_database_is_told_to_the_operator(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(b"something else" * 1000)
    with pytest.raises(StorageError, match="is damaged, or no database"):
        async with open_sqlite(SqliteOptions(path=str(tmp_path))):
            pass


async def test_a_new_directory_is_for_the_owner_alone(tmp_path: Path) -> None:
    async with open_sqlite(SqliteOptions(path=str(tmp_path / "data"))):
        pass
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


async def test_commits_are_synced_and_references_are_kept(storage: SqliteStorage) -> None:
    assert storage._writer.pragma("synchronous") == 2
    assert storage._writer.pragma("journal_mode") == "wal"
    with pytest.raises(StorageError, match="refused a statement: ConstraintError"):
        async with storage.write() as tx:
            await tx.fetch("insert into message_images (message_id, place, filename) values ('m', 0, 'f')")


async def test_a_statement_is_planned_once(storage: SqliteStorage) -> None:
    page = "select id from messages where room_id = $1 and parent_id is null order by id desc limit 1"
    async with storage.read() as tx:
        connection = tx._connection
        await tx.fetch(page, "a place")
        planned: list[str] = []
        connection.set_authorizer(lambda *what: planned.append(str(what)) or apsw.SQLITE_OK)
        await tx.fetch(page, "a place")  # It may be planned again for the authorizer's sake.
        planned.clear()
        for place in ("a place", "another place"):
            await tx.fetch(page, place)
        connection.set_authorizer(None)
    assert planned == []


CHILD = """
import sys
import trio
from teamchat.events import Encoded
from teamchat.storage.sqlite import SqliteOptions, open_sqlite

async def write(storage, writer):
    number = 0
    while True:
        name = f"{writer}/{number}"
        async with storage.write() as tx:
            await tx.fetch("insert into server_settings (name, value) values ($1, $2)", name, "x")
            await tx.append(Encoded("TEST", name))
        sys.stdout.write(name + "\\n")
        sys.stdout.flush()
        number += 1

async def main():
    async with open_sqlite(SqliteOptions(path=sys.argv[1])) as storage, trio.open_nursery() as nursery:
        for writer in range(16):
            nursery.start_soon(write, storage, writer)

trio.run(main)
"""


@pytest.mark.slow
@pytest.mark.parametrize("acknowledged", [1, 300, 1500])
async def test_every_acknowledged_write_outlives_a_kill_once(tmp_path: Path, acknowledged: int) -> None:
    names = await trio.to_thread.run_sync(_write_until_killed, tmp_path, acknowledged)
    assert len(names) >= acknowledged
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
        there = await values(storage)
        logged = []
        while batch := await storage.logged(logged[-1].seq if logged else 0):
            logged += batch
        assert storage._writer.pragma("integrity_check") == "ok"
        await save(storage, "after the crash", "x")
    payloads = [event.payload for event in logged]
    assert set(names) <= set(there)
    # A change and its event are both there or neither is, and each once.
    assert sorted(payloads) == sorted(there)
    assert [event.seq for event in logged] == list(range(1, len(logged) + 1))


def _write_until_killed(directory: Path, acknowledged: int) -> list[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(directory)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    with child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(acknowledged)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
    return [line.removesuffix("\n") for line in lines if line.endswith("\n")]
