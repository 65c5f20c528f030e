from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock

import pytest
import trio
from teamchat_files_directory import DirectoryOptions, file_stores, open_directory
from teamchat_files_directory.store import DirectoryStore

from teamchat import Conflict, FileStore, Gone, StorageError, StorageFull, Unavailable
from teamchat.testing import FileStoreContract
from teamchat.testing.files import KEY, keep, kept, pieces_of
from tests.synced import noted_steps


class TestDirectoryStore(FileStoreContract):
    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[FileStore]:
        async with open_directory(DirectoryOptions(path=str(tmp_path / "files"))) as store:
            yield store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[DirectoryStore]:
    async with open_directory(DirectoryOptions(path=str(tmp_path / "files"))) as opened:
        yield opened


async def test_the_backend_is_named_directory() -> None:
    [backend] = file_stores()
    assert (backend.name, backend.options) == ("directory", DirectoryOptions)


@pytest.mark.parametrize(
    "key",
    [
        *("", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "a\\b"),
        *("a.part", "a\0", "ä", "x" * 201, "a\n"),
    ],
)
async def test_a_key_never_leads_out_of_the_directory(store: DirectoryStore, key: str) -> None:
    asked = [lambda: store.put(key, b""), lambda: store.begin(key, 1), lambda: store.read(key)]
    for ask in [*asked, lambda: store.remove(key)]:
        with pytest.raises(ValueError, match="A key has"):
            await ask()


async def test_files_and_directory_are_for_the_owner_alone(store: DirectoryStore, tmp_path: Path) -> None:
    await keep(store, KEY, [b"bytes"])
    assert stat.S_IMODE((tmp_path / "files").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "files" / KEY).stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "files") == [KEY]


async def test_two_never_write_one_file_at_once(store: DirectoryStore, tmp_path: Path) -> None:
    state = await store.begin(KEY, 8)
    arrived, go_on = trio.Event(), trio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        arrived.set()
        await go_on.wait()
        yield b"12345678"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.write, KEY, 8, state, 0, slowly(), 8)
        await arrived.wait()
        async with open_directory(DirectoryOptions(path=str(tmp_path / "files"))) as other:
            with pytest.raises(Conflict):
                await other.write(KEY, 8, state, 0, pieces_of(b"abcdefgh"), 8)
            with pytest.raises(Conflict):
                await other.finish(KEY, 8, state)
        go_on.set()
    await store.finish(KEY, 8, state)
    assert await kept(store, KEY) == b"12345678"
    with pytest.raises(Conflict):
        await store.write(KEY, 8, state, 0, pieces_of(b"abcdefgh"), 8)


async def test_what_is_lost_of_a_file_is_told_apart_from_what_another_writes(store: DirectoryStore) -> None:
    state = await store.begin(KEY, 8)
    with pytest.raises(Gone):  # Less is there than is known to have arrived.
        await store.write(KEY, 8, state, 4, pieces_of(b"5678"), 4)
    with pytest.raises(Gone):
        await store.finish(KEY, 8, state)
    await store.abandon(KEY, state)
    with pytest.raises(Gone):
        await store.write(KEY, 8, state, 0, pieces_of(b"12345678"), 8)


@pytest.mark.parametrize(
    ("code", "raised"), [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EIO, Unavailable)]
)
async def test_what_the_disk_refuses_is_told_without_its_path(
    store: DirectoryStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: int,
    raised: type[Exception],
) -> None:
    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code), "/a/path")

    state = await store.begin(KEY, 4)
    monkeypatch.setattr(os, "pwritev", fail)
    with pytest.raises(raised):
        await store.write(KEY, 4, state, 0, pieces_of(b"data"), 4)
    assert [one.getMessage() for one in caplog.records] == [
        f"a file could not be written: {os.strerror(code)}"
    ]


async def test_a_part_is_synced_before_it_counts(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, write = os.fdatasync, os.pwritev

    def noting_sync(descriptor: int) -> None:
        steps.append("sync")
        sync(descriptor)

    def noting_write(*given: object) -> int:
        steps.append("write")
        return write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fdatasync", noting_sync)
    monkeypatch.setattr(os, "pwritev", noting_write)
    state = await store.begin(KEY, 4)
    await store.write(KEY, 4, state, 0, pieces_of(b"data"), 4)
    assert steps == ["write", "sync"]


async def test_an_unusable_directory_is_told_to_the_operator(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"files-directory\.path"):
        async with open_directory(DirectoryOptions(path=str(tmp_path / "file"))):
            pass


async def test_a_large_file_is_synced_bit_by_bit_so_that_no_commit_waits_for_all_of_it(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 20 * 1024 * 1024
    written, unsynced = [0], []

    def count(descriptor: int, pieces: list[bytes], at: int) -> int:
        done = pwritev(descriptor, pieces, at)
        written[0] += done
        return done

    def sync(descriptor: int) -> None:
        fdatasync(descriptor)
        unsynced.append(written[0])
        written[0] = 0

    pwritev, fdatasync = os.pwritev, os.fdatasync
    monkeypatch.setattr(os, "pwritev", count)
    monkeypatch.setattr(os, "fdatasync", sync)
    await keep(store, KEY, [bytes(65_536)] * (size // 65_536))
    assert sum(unsynced) == size
    assert max(unsynced) < 9 * 1024 * 1024


async def test_a_part_that_ends_at_a_sync_is_synced_once(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    size = 8 * 1024 * 1024
    state = await store.begin(KEY, size)
    await store.write(KEY, size, state, 0, pieces_of(bytes(size)), size)
    assert len(synced) == 1


UPLOADS, PIECES = 20, 80  # of 64 KiB each: 5 MiB


async def write_many(store: DirectoryStore, taken: list[int]) -> None:
    """Write many files at once that have all their bytes waiting; `taken` counts pieces after the first."""

    async def pieces() -> AsyncIterator[bytes]:
        for number in range(PIECES):
            await trio.lowlevel.checkpoint()
            taken[0] += number > 0
            yield bytes(65_536)

    async def write(key: str) -> None:
        size = PIECES * 65_536
        state = await store.begin(key, size)
        await store.write(key, size, state, 0, pieces(), size)

    async with trio.open_nursery() as nursery:
        for number in range(UPLOADS):
            nursery.start_soon(write, f"file-{number}")


async def test_of_many_files_few_go_on_at_a_turn_of_the_loop_and_others_wait(store: DirectoryStore) -> None:
    taken, most = [0], 0
    async with trio.open_nursery() as nursery:

        async def watch() -> None:
            nonlocal most
            while True:
                before = taken[0]
                await trio.lowlevel.checkpoint()
                most = max(most, taken[0] - before)

        nursery.start_soon(watch)
        await write_many(store, taken)
        nursery.cancel_scope.cancel()
    assert taken[0] == UPLOADS * (PIECES - 1)
    assert most <= UPLOADS // 4


async def test_of_many_files_one_syncs_at_a_time_and_each_often(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncing, counts = Lock(), [0]

    def sync(descriptor: int) -> None:
        assert syncing.acquire(blocking=False)
        fdatasync(descriptor)
        counts[0] += 1
        syncing.release()

    fdatasync = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", sync)
    await write_many(store, [0])
    assert counts[0] > 1.5 * UPLOADS


async def test_a_leftover_of_a_crash_is_removed_at_open_and_a_fresh_one_is_anothers(tmp_path: Path) -> None:
    leftover, fresh = tmp_path / ".writing-old", tmp_path / ".writing-new"
    leftover.write_bytes(b"half")
    fresh.write_bytes(b"being written")
    two_hours_ago = time.time() - 7200
    os.utime(leftover, (two_hours_ago, two_hours_ago))
    async with open_directory(DirectoryOptions(path=str(tmp_path))):
        assert not leftover.exists()
        assert fresh.exists()


async def test_what_another_server_finishes_while_this_one_starts_is_no_error(tmp_path: Path) -> None:
    (tmp_path / ".writing-it").symlink_to(tmp_path / "gone")  # listed, and not there when it is looked at
    async with open_directory(DirectoryOptions(path=str(tmp_path))) as store:
        await store.put(KEY, b"bytes")


async def test_a_failed_write_leaves_nothing_under_the_key_nor_beside_it(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFull):
        await store.put(KEY, b"bytes")
    assert [record.getMessage() for record in caplog.records] == [
        "a file could not be written: No space left on device"
    ]
    assert list((tmp_path / "files").iterdir()) == []


async def test_the_file_is_synced_before_its_name_and_the_directory_after(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = noted_steps(monkeypatch)
    await store.put(KEY, b"bytes")
    assert steps == ["file", "rename", "directory"]


async def test_the_event_loop_goes_on_while_bytes_are_written(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, sync = trio.lowlevel.current_trio_token(), os.fsync

    def sync_when_the_loop_answers(descriptor: int) -> None:
        trio.from_thread.run(trio.lowlevel.checkpoint, trio_token=main)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", sync_when_the_loop_answers)
    with trio.fail_after(5):
        await store.put(KEY, b"bytes")
