"""Images in a directory: they stand where they always did, in files that have their names."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from teamchat import ImageStore, StorageError, Unavailable
from teamchat.plugins import Plugins
from teamchat.testing import ImageStoreContract
from teamchat.testing.images import KEY, content


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[ImageStore]:
    backend = Plugins.load().image_store("files")
    async with backend.open(backend.options(path=str(path))) as store:  # type: ignore[call-arg]
        yield store


class TestFilesStore(ImageStoreContract):
    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[ImageStore]:
        async with opened(tmp_path / "images") as store:
            yield store


async def test_an_image_is_a_file_of_its_name_for_the_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / KEY).write_bytes(b"of an older version")
    async with opened(tmp_path / "images") as store:
        assert await content(store, KEY) == b"of an older version"
        await store.put(f"thumb-{KEY}", b"new")
        await store.delete(KEY)
    assert os.listdir(tmp_path / "images") == [f"thumb-{KEY}"]
    assert (tmp_path / "images" / f"thumb-{KEY}").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "images").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "images" / f"thumb-{KEY}").stat().st_mode) == 0o600


async def test_a_full_disk_is_told_to_the_client_as_a_store_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    async with opened(tmp_path) as store:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(Unavailable, match="Nothing was changed") as caught:
            await store.put(KEY, b"bytes")
    assert isinstance(caught.value.__cause__, OSError)
    assert os.listdir(tmp_path) == []


async def test_an_unusable_directory_is_told_to_the_operator(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"images\.path"):
        async with opened(tmp_path / "file"):
            pass
