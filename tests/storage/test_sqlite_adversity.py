"""SQLite when the disk is full or can't be read, and when the machine gives no more threads."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
import trio.testing

from teamchat import StorageError
from teamchat.events import Encoded, LoggedEvent
from teamchat.storage.sqlite import DATABASE_NAME, SqliteOptions, SqliteStorage, open_sqlite
from teamchat.storage.sqlite.connections import MOST_LOG_BYTES
from teamchat.testing.storage import append, followed, save, set_value, values
from tests.storages import lose_page

LARGE = "x" * 100_000


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[SqliteStorage]:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as opened:
        yield opened


@contextmanager
def full(storage: SqliteStorage) -> Iterator[None]:
    """Let the database grow by a few pages and no more."""
    storage._writer.pragma("max_page_count", storage._writer.pragma("page_count") + 4)
    try:
        yield
    finally:
        storage._writer.pragma("max_page_count", 2**30)


async def saved_together(storage: SqliteStorage, wanted: dict[str, str]) -> dict[str, bool]:
    """Write values in one batch, in this order, and return which of them were acknowledged."""
    told: dict[str, bool] = {}

    async def write(name: str, value: str) -> None:
        try:
            await save(storage, name, value)
        except StorageError:
            told[name] = False
        else:
            told[name] = True

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery, storage._lock:
            for name, value in wanted.items():
                nursery.start_soon(write, name, value)
                await trio.testing.wait_all_tasks_blocked()
    return told


async def test_when_the_disk_is_full_what_is_acknowledged_is_there_and_nothing_else(
    storage: SqliteStorage,
) -> None:
    with full(storage):
        told = await saved_together(storage, {"before": "x", "large": LARGE, "after": "x"})
    assert not told["large"]
    assert set(await values(storage)) == {name for name, is_there in told.items() if is_there}
    assert await saved_together(storage, {"later": LARGE}) == {"later": True}


async def test_when_the_disk_is_full_for_the_first_of_a_batch_the_next_one_is_written(
    storage: SqliteStorage,
) -> None:
    with full(storage):
        told = await saved_together(storage, {"large": LARGE, "after": "x"})
    assert told == {"large": False, "after": True}
    assert set(await values(storage)) == {"after"}


async def test_an_event_that_finds_the_disk_full_is_told_as_a_failure_of_the_storage(
    storage: SqliteStorage,
) -> None:
    with full(storage), pytest.raises(StorageError, match="refused a statement: the disk is full"):
        async with storage.write() as tx:
            await tx.append(Encoded("TEST", LARGE))
    assert await storage.position() == 0


async def test_a_body_that_goes_on_after_a_failed_statement_writes_nothing(storage: SqliteStorage) -> None:
    async def stubborn() -> None:
        async with storage.write() as tx:
            with suppress(StorageError):
                await set_value(tx, "large", LARGE)
            await set_value(tx, "small", "x")

    with full(storage), trio.fail_after(5):
        with pytest.raises(StorageError, match="and it went on"):
            await stubborn()
        await save(storage, "after", "x")
    assert set(await values(storage)) == {"after"}


async def test_a_body_that_hides_a_failed_statement_is_not_acknowledged(storage: SqliteStorage) -> None:
    async def secretive() -> None:
        async with storage.write() as tx:
            with suppress(StorageError):
                await set_value(tx, "large", LARGE)

    with full(storage), trio.fail_after(5):
        with pytest.raises(StorageError, match="and it went on"):
            await secretive()
        await save(storage, "after", "x")
    assert set(await values(storage)) == {"after"}


async def test_a_commit_that_finds_no_thread_acknowledges_nothing_and_the_next_one_works(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        told = await saved_together(storage, {"first": "x", "second": "x"})
    assert told == {"first": False, "second": False}
    assert await values(storage) == {}
    assert await saved_together(storage, {"later": "x"}) == {"later": True}


async def test_a_commit_waits_for_nobody_elses_threads(storage: SqliteStorage) -> None:
    threads, written = trio.to_thread.current_default_thread_limiter(), trio.Event()

    async def write() -> None:
        await save(storage, "name", "x")
        written.set()

    taken = [object() for _ in range(int(threads.total_tokens))]
    for borrower in taken:
        threads.acquire_on_behalf_of_nowait(borrower)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        with trio.move_on_after(5) as patience:
            await written.wait()
        for borrower in taken:
            threads.release_on_behalf_of(borrower)
    assert not patience.cancelled_caught


_REAL = apsw.vfs_names()[0]


class _Disk(apsw.VFS):
    """The real disk, which can be told to answer no more reads."""

    def __init__(self) -> None:
        self.name = "unreliable"
        self.is_broken = False
        self.refused = 0
        super().__init__(self.name, _REAL, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> Any:  # noqa: N802
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: _Disk, name: Any, flags: Any) -> None:
        self._disk = disk
        super().__init__(_REAL, name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        if self._disk.is_broken:
            self._disk.refused += 1
            raise apsw.IOError
        return super().xRead(amount, offset)


@pytest.fixture
def disk() -> Iterator[_Disk]:
    made = _Disk()
    try:
        yield made
    finally:
        made.unregister()


async def test_a_disk_that_can_not_be_read_is_told_as_such_and_used_again_when_it_can(
    disk: _Disk, tmp_path: Path
) -> None:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as opened:
        await save(opened, "name", "x")
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
        async with storage.read():
            pass  # So a connection is open, whose memory holds nothing of the table.
        disk.is_broken = True
        with pytest.raises(StorageError, match="IOError"):
            await values(storage)
        disk.is_broken = False
        assert await values(storage) == {"name": "x"}


async def test_a_body_that_is_taken_back_while_the_disk_can_not_be_read_raises_what_it_raised(
    disk: _Disk, tmp_path: Path
) -> None:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
        try:
            with pytest.raises(KeyError):  # noqa: PT012
                async with storage.write() as tx:
                    await set_value(tx, "lost", LARGE)
                    disk.is_broken = True
                    raise KeyError
            assert disk.refused
        finally:
            disk.is_broken = False
        await save(storage, "name", "x")
        assert await values(storage) == {"name": "x"}


async def test_who_follows_the_log_goes_on_when_the_disk_can_be_read_again(
    disk: _Disk, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.storage.sqlite.storage._UNREADABLE_PAUSE", 0.001)
    heard: list[LoggedEvent] = []

    async def follow(storage: SqliteStorage) -> None:
        heard.extend(await followed(storage, 0, 2))

    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage, trio.open_nursery() as nursery:
        nursery.start_soon(follow, storage)
        try:
            async with storage.write() as tx:
                await tx.append(Encoded("TEST", '"first"'))
                disk.is_broken = True
            with trio.fail_after(5):
                while disk.refused < 5:  # noqa: ASYNC110  # The disk tells nobody.
                    await trio.sleep(0.001)
        finally:
            disk.is_broken = False
        await append(storage, '"second"')
    assert [event.payload for event in heard] == ['"first"', '"second"']
    unread = "the event log can't be read and will be tried again"
    assert [record.getMessage() for record in caplog.records if unread in record.getMessage()] == [
        unread,
        f"over: {unread}",
    ]


async def test_who_reads_a_damaged_page_is_told_so_and_others_read_on(tmp_path: Path) -> None:
    options = SqliteOptions(path=str(tmp_path))
    async with open_sqlite(options) as storage:
        await save(storage, "kept", "yes")
    lose_page(tmp_path, "audit_entries")
    async with open_sqlite(options) as storage:
        with pytest.raises(StorageError, match="the database is damaged"):
            async with storage.read() as tx:
                await tx.fetch("select * from audit_entries")
        assert await values(storage) == {"kept": "yes"}


async def test_the_write_ahead_log_is_short_again_after_a_long_reader(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    def size() -> int:
        return (tmp_path / f"{DATABASE_NAME}-wal").stat().st_size

    async def write(megabytes: int) -> None:
        for number in range(megabytes):
            await save(storage, "large", str(number % 10) * 1_048_576)

    async with storage.read() as tx:
        await tx.fetch("select 1 from server_settings")
        await write(MOST_LOG_BYTES // 1_048_576 + 8)
        assert size() > MOST_LOG_BYTES
    await write(2)
    assert size() <= MOST_LOG_BYTES
