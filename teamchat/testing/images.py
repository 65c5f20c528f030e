"""What every image store must do. Nothing here knows where the bytes are kept."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import trio

from teamchat.interfaces import ImageStore

CHUNK_BYTES = 64 * 1024
KEY = "1700000000000-0123456789abcdef0123456789abcdef.png"


class MemoryStore:
    """An image store without a disk, for tests of what stands on one. It passes the contract too.

    `failing` makes the next calls that change it raise `OSError`.
    """

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.failing = False

    async def put(self, key: str, data: bytes) -> None:
        self._change()
        await trio.lowlevel.checkpoint()
        self.kept[key] = data

    async def get(self, key: str) -> AsyncIterator[bytes] | None:
        await trio.lowlevel.checkpoint()
        data = self.kept.get(key)
        return None if data is None else _chunks(data)

    async def delete(self, key: str) -> None:
        self._change()
        await trio.lowlevel.checkpoint()
        self.kept.pop(key, None)

    def _change(self) -> None:
        if self.failing:
            raise OSError("the store fails, as the test asked")


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), CHUNK_BYTES):
        await trio.lowlevel.checkpoint()
        yield data[at : at + CHUNK_BYTES]


async def content(store: ImageStore, key: str) -> bytes | None:
    """Return all that is stored under `key`, or None."""
    chunks = await store.get(key)
    if chunks is None:
        return None
    return b"".join([chunk async for chunk in chunks])


class ImageStoreContract(ABC):
    """Tests of an image store. Subclass it with a name that begins with ``Test`` and give `open_store`::

    class TestBucketStore(ImageStoreContract):
        @asynccontextmanager
        async def open_store(self, tmp_path):
            async with open_bucket(BucketOptions(url=...)) as store:
                yield store
    """

    @abstractmethod
    def open_store(self, tmp_path: Path) -> AbstractAsyncContextManager[ImageStore]:
        """Open the store that belongs to `tmp_path`: empty at first, and the same when opened again."""

    @pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 1_000_003])
    async def test_what_was_put_is_got_back(self, tmp_path: Path, size: int) -> None:
        data = os.urandom(size)
        async with self.open_store(tmp_path) as store:
            await store.put(KEY, data)
            got = await content(store, KEY)
        assert got is not None, "what was put is not there"
        is_same = got == data  # Where pytest tells all (CI), it would compare the two for ever.
        assert is_same, f"{len(data)} bytes were put, and {len(got)} others came back"

    async def test_a_chunk_is_64_kib_at_most_and_never_empty(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await store.put(KEY, bytes(5 * CHUNK_BYTES + 1))
            chunks = await store.get(KEY)
            assert chunks is not None
            sizes = [len(chunk) async for chunk in chunks]
        assert max(sizes) <= CHUNK_BYTES, f"a chunk has {max(sizes)} bytes; 65,536 are the most"
        assert min(sizes) > 0, "a chunk is empty"

    async def test_an_unknown_key_gives_none(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            assert await store.get(KEY) is None, "get() must return None for a key that was never put"

    async def test_a_deleted_key_gives_none(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await store.put(KEY, b"data")
            await store.delete(KEY)
            assert await store.get(KEY) is None, "what was deleted is still there"

    async def test_deleting_what_is_not_there_is_no_error(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            try:
                await store.delete(KEY)
            except Exception as error:
                raise AssertionError("delete() must not raise for a key that is not there") from error

    async def test_keys_do_not_touch_each_other(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await store.put(KEY, b"image")
            await store.put(f"thumb-{KEY}", b"thumbnail")
            await store.delete(KEY)
            assert await content(store, f"thumb-{KEY}") == b"thumbnail", "deleting one key changed another"

    async def test_putting_the_same_data_again_changes_nothing(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await store.put(KEY, b"data")
            await store.put(KEY, b"data")
            assert await content(store, KEY) == b"data", "putting the same again changed what is stored"

    async def test_what_was_put_is_there_when_opened_again(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await store.put(KEY, b"data")
        async with self.open_store(tmp_path) as store:
            assert await content(store, KEY) == b"data", "what was put is gone when the store is opened again"

    async def test_many_at_once_do_not_mix(self, tmp_path: Path) -> None:
        keys = {f"{number}-{number:032x}.png": os.urandom(CHUNK_BYTES + number) for number in range(20)}
        async with self.open_store(tmp_path) as store:
            async with trio.open_nursery() as nursery:
                for key, data in keys.items():
                    nursery.start_soon(store.put, key, data)
            mixed = [key for key, data in keys.items() if await content(store, key) != data]
            assert not mixed, (
                f"put at once with others, {len(mixed)} of {len(keys)} images are not what was put"
            )

    async def test_a_reader_may_go_away_in_the_middle(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await store.put(KEY, bytes(3 * CHUNK_BYTES))
            chunks = await store.get(KEY)
            assert chunks is not None  # and never read
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
            is_same = await content(store, KEY) == bytes(3 * CHUNK_BYTES)
            assert is_same, "a reader that went away spoiled the next"
