"""SQLite with several processes on one file: nobody waits for ever, nobody is starved, nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
import trio
import trio.testing

from teamchat import LoggedEvent, StorageError, Unavailable
from teamchat.storage.sqlite import DATABASE_NAME, SqliteOptions, SqliteStorage, open_sqlite
from teamchat.storage.sqlite.connections import connect
from teamchat.storage.sqlite.opening import OPEN_SECONDS
from teamchat.storage.sqlite.storage import BUSY_SECONDS
from teamchat.storage.sqlite.turns import Turns
from teamchat.testing.storage import append, followed, save, values

ROOT = Path(__file__).parents[2]
PATIENCE = 30


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[SqliteStorage]:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as opened:
        yield opened


@contextmanager
def locked(directory: Path) -> Iterator[apsw.Connection]:
    """Hold the write lock as another program would."""
    connection = apsw.Connection(str(directory / DATABASE_NAME))
    try:
        connection.execute("begin immediate")
        yield connection
    finally:
        connection.close()


# Real processes

WRITER = """
import sys
import trio
from teamchat.events import Encoded
from teamchat.storage.sqlite import SqliteOptions, open_sqlite

directory, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])

async def write(storage, task):
    for number in range(count // 4):
        key = f"{name}/{task}/{number}"
        async with storage.write() as tx:
            await tx.fetch("insert into server_settings (name, value) values ($1, $2)", key, "x")
            await tx.append(Encoded("TEST", key))
        sys.stdout.write(key + "\\n")
        sys.stdout.flush()

async def main():
    async with open_sqlite(SqliteOptions(path=directory)) as storage, trio.open_nursery() as nursery:
        for task in range(4):
            nursery.start_soon(write, storage, task)

trio.run(main)
"""


async def write_in_a_process(directory: Path, name: str, count: int, killed_after: int | None) -> list[str]:
    """Run a process that writes, perhaps until it is killed; return what it was told is written."""
    process = await trio.lowlevel.open_process(
        [sys.executable, "-c", WRITER, str(directory), name, str(count)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    text = b""
    assert process.stdout is not None
    async with process.stdout:
        async for piece in process.stdout:
            text += piece
            if killed_after is not None and text.count(b"\n") >= killed_after:
                process.kill()
    status = await process.wait()
    assert status == (0 if killed_after is None else -9)
    return [line.decode() for line in text.split(b"\n")[:-1]]


@pytest.mark.slow
async def test_three_processes_that_write_and_one_that_is_killed_leave_a_log_without_a_gap(
    tmp_path: Path,
) -> None:
    acknowledged: list[str] = []
    seen: list[LoggedEvent] = []

    async def write(name: str, killed_after: int | None = None) -> None:
        acknowledged.extend(await write_in_a_process(tmp_path, name, 400, killed_after))

    async def follow() -> None:  # This process is the fourth; it reads all the while.
        async with open_sqlite(SqliteOptions(path=str(tmp_path))) as own:
            seen.extend(await followed(own, 0, 800))

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(write, "a")
            nursery.start_soon(write, "b")
            nursery.start_soon(write, "killed", 100)
            nursery.start_soon(follow)
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
        there = await values(storage)
        logged = await storage.logged(0)
        while more := await storage.logged(logged[-1].seq):
            logged += more
        assert storage._writer.pragma("integrity_check") == "ok"
    assert len(acknowledged) >= 900
    assert set(acknowledged) <= set(there)
    assert sorted(event.payload for event in logged) == sorted(there), "a change and its event, or neither"
    assert [event.seq for event in logged] == list(range(1, len(logged) + 1))
    assert seen == logged[: len(seen)]


# The write lock


async def test_a_write_waits_for_another_process_without_holding_up_this_one(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            with locked(tmp_path) as other:
                nursery.start_soon(save, storage, "a", "1")
                nursery.start_soon(save, storage, "b", "2")
                for _ in range(20):
                    await trio.lowlevel.checkpoint()
                    assert await values(storage) == {}, "reads go on"
                other.execute("commit")
    assert await values(storage) == {"a": "1", "b": "2"}


async def test_a_write_gives_up_when_another_process_holds_the_database_for_too_long(
    storage: SqliteStorage, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    failed_after: list[float] = []

    async def fail(number: int) -> None:
        with pytest.raises(StorageError, match="Nothing was changed") as caught:
            await save(storage, str(number), "x")
        assert isinstance(caught.value, Unavailable), "a client is told 503"
        failed_after.append(trio.current_time() - began)

    began = trio.current_time()
    with locked(tmp_path):
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(fail, number)
    assert len(failed_after) == 5
    assert BUSY_SECONDS <= max(failed_after) < BUSY_SECONDS + 0.5, "each waits so long, not one after another"
    await save(storage, "after", "x")
    assert await values(storage) == {"after": "x"}


async def test_a_writer_cancelled_while_another_process_holds_the_database_leaves_no_trace(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    with locked(tmp_path):
        with trio.move_on_after(0.05) as scope:
            await save(storage, "never", "x")
        assert scope.cancelled_caught
    await save(storage, "later", "x")
    assert await values(storage) == {"later": "x"}


class Lock:
    """What `Turns` asks for: one has it at a time."""

    def __init__(self) -> None:
        self.holder: str | None = None
        self.holders: list[str] = []

    def attempt(self, name: str) -> bool:
        if self.holder is not None:
            return False
        self.holder = name
        self.holders.append(name)
        return True


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[dict[str, Turns]]:
    opened = {name: Turns(tmp_path / "turns") for name in ("busy", "patient")}
    yield opened
    for one in opened.values():
        one.close()


async def test_who_has_just_written_lets_those_who_wait_go_first(
    turns: dict[str, Turns], autojump_clock: trio.testing.MockClock
) -> None:
    lock = Lock()

    async def write(name: str) -> None:
        assert await turns[name].take(lambda: lock.attempt(name), trio.current_time() + BUSY_SECONDS)

    await write("busy")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write, "patient")
        await trio.testing.wait_all_tasks_blocked()
        lock.holder = None
        turns["busy"].wrote()
        nursery.start_soon(write, "busy")
        while len(lock.holders) < 2:  # noqa: ASYNC110
            await trio.sleep(0.001)
        lock.holder = None
    assert lock.holders == ["busy", "patient", "busy"]


async def test_who_has_just_written_goes_on_at_once_if_nobody_waits(
    turns: dict[str, Turns], autojump_clock: trio.testing.MockClock
) -> None:
    began = trio.current_time()
    for _ in range(3):
        assert await turns["busy"].take(lambda: True, began)
        turns["busy"].wrote()
    assert trio.current_time() == began


async def test_one_that_waits_and_never_comes_holds_nobody_up_for_long(
    turns: dict[str, Turns], autojump_clock: trio.testing.MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns["patient"].take, lambda: False, trio.current_time() + BUSY_SECONDS)
        await trio.testing.wait_all_tasks_blocked()
        turns["busy"].wrote()
        began = trio.current_time()
        assert await turns["busy"].take(lambda: True, began + BUSY_SECONDS)
        assert trio.current_time() - began < 0.05


# Opening


async def test_opening_waits_for_another_process_that_migrates(tmp_path: Path) -> None:
    connect(tmp_path / DATABASE_NAME, 0).close()

    async def open_and_save() -> None:
        async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
            await save(storage, "a", "1")
            opened.set()

    opened = trio.Event()
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            with locked(tmp_path) as other:
                nursery.start_soon(open_and_save)
                await trio.testing.wait_all_tasks_blocked()
                assert not opened.is_set()
                other.execute("commit")
            await opened.wait()


async def test_a_migration_that_another_process_has_just_run_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from teamchat.storage.sqlite import connections

    asked, version_of = [], connections.version_of

    def late(connection: apsw.Connection) -> int:
        """Tell the version as it was before another process brought the schema up to date."""
        asked.append(version_of(connection))
        return 0 if not connection.in_transaction else asked[-1]

    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
        await save(storage, "a", "1")
        monkeypatch.setattr(connections, "version_of", late)
        async with open_sqlite(SqliteOptions(path=str(tmp_path))) as other:
            assert await values(other) == {"a": "1"}
    assert asked


async def test_opening_gives_up_when_another_program_does_not_let_go(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    connect(tmp_path / DATABASE_NAME, 0).close()
    began = trio.current_time()
    with locked(tmp_path), pytest.raises(StorageError, match=r"storage\.path is in use by another program"):
        async with open_sqlite(SqliteOptions(path=str(tmp_path))):
            pass
    assert OPEN_SECONDS <= trio.current_time() - began < OPEN_SECONDS + 1


def test_a_file_system_that_can_not_hold_the_write_ahead_log_is_told_of() -> None:
    with pytest.raises(StorageError, match=r"storage\.path can't hold SQLite's write-ahead log"):
        connect(Path(":memory:"), 0)  # Memory can't hold one either.


# Following


async def test_who_follows_hears_of_another_process_soon_and_asks_seldom_when_nothing_happens(
    storage: SqliteStorage, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    looks, look = 0, storage._look

    def counted() -> None:
        nonlocal looks
        looks += 1
        look()

    storage._look = counted  # type: ignore[method-assign]
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as other, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _later() -> None:
            await trio.sleep(10)
            assert looks < 300, "twenty-five times a second"
            # Not through `write`, whose commit runs in a thread, which the clock does not wait for.
            other._writer.execute("insert into events (type, payload, created_at) values ('TEST', 'late', 0)")

        [event] = await followed(storage, 0, 1)
        assert trio.current_time() < 10.1
    assert event.payload == "late"


async def test_asking_how_far_the_log_reaches_wakes_who_follows_it(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as other:
        committed = storage._committed
        await append(other, "from elsewhere")
        assert await storage.position() == 1
        assert committed.is_set()
