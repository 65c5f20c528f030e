from __future__ import annotations

import os
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from teamchat_images_files import FilesOptions, image_stores, open_files
from teamchat_images_files.store import FilesStore

from teamchat import ImageStore, StorageError, Unavailable
from teamchat.testing import ImageStoreContract


class TestFilesStore(ImageStoreContract):
    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[ImageStore]:
        async with open_files(FilesOptions(path=str(tmp_path / "images"))) as store:
            yield store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FilesStore]:
    async with open_files(FilesOptions(path=str(tmp_path / "images"))) as opened:
        yield opened


async def test_the_backend_is_named_files() -> None:
    [backend] = image_stores()
    assert (backend.name, backend.options) == ("files", FilesOptions)


@pytest.mark.parametrize(
    "key", ["", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "a\\b", "a\0", "ä", "x" * 201, "a\n"]
)
async def test_a_key_never_leads_out_of_the_directory(store: FilesStore, key: str) -> None:
    with pytest.raises(ValueError, match="A key has"):
        await store.put(key, b"x")
    with pytest.raises(ValueError, match="A key has"):
        await store.get(key)
    with pytest.raises(ValueError, match="A key has"):
        await store.delete(key)


async def test_files_and_directory_are_for_the_owner_alone(store: FilesStore, tmp_path: Path) -> None:
    await store.put("1-a.png", b"bytes")
    assert stat.S_IMODE((tmp_path / "images").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "images" / "1-a.png").stat().st_mode) == 0o600


async def test_a_leftover_of_a_crash_is_removed_at_open_and_a_fresh_one_is_anothers(tmp_path: Path) -> None:
    leftover, fresh = tmp_path / ".writing-old", tmp_path / ".writing-new"
    leftover.write_bytes(b"half")
    fresh.write_bytes(b"being written")
    two_hours_ago = time.time() - 7200
    os.utime(leftover, (two_hours_ago, two_hours_ago))
    async with open_files(FilesOptions(path=str(tmp_path))):
        assert not leftover.exists()
        assert fresh.exists()


async def test_what_another_server_finishes_while_this_one_starts_is_no_error(tmp_path: Path) -> None:
    (tmp_path / ".writing-it").symlink_to(tmp_path / "gone")  # listed, and not there when it is looked at
    async with open_files(FilesOptions(path=str(tmp_path))) as store:
        await store.put("1-a.png", b"bytes")


async def test_a_failed_write_leaves_nothing_under_the_key_nor_beside_it(
    store: FilesStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="Nothing was changed"):
        await store.put("1-a.png", b"bytes")
    assert [record.getMessage() for record in caplog.records] == [
        "an image could not be written: No space left on device"
    ]
    assert list((tmp_path / "images").iterdir()) == []


async def test_the_file_is_synced_before_its_name_and_the_directory_after(
    store: FilesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, rename = os.fsync, Path.rename

    def noting_sync(descriptor: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def noting_rename(path: Path, target: Path) -> Path:
        steps.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noting_sync)
    monkeypatch.setattr(Path, "rename", noting_rename)
    await store.put("1-a.png", b"bytes")
    assert steps == ["file", "rename", "directory"]


async def test_an_unusable_directory_is_told_to_the_operator(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"images\.path"):
        async with open_files(FilesOptions(path=str(tmp_path / "file"))):
            pass


async def test_the_event_loop_goes_on_while_bytes_are_written(
    store: FilesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, sync = trio.lowlevel.current_trio_token(), os.fsync

    def sync_when_the_loop_answers(descriptor: int) -> None:
        trio.from_thread.run(trio.lowlevel.checkpoint, trio_token=main)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", sync_when_the_loop_answers)
    with trio.fail_after(5):
        await store.put("1-a.png", b"bytes")
