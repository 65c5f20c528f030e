"""What every store of files must do. Nothing here knows where the bytes are kept."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import trio

from teamchat.errors import NotFound
from teamchat.interfaces import FileStore, WrittenPart
from teamchat.interfaces.file_stores import MOST_STATE

PIECE = 64 * 1024
KEY = "0123456789abcdef0123456789abcdef"
NAMED = "thumb-1700000000000-0123456789abcdef0123456789abcdef.PNG"
OTHER = "fedcba9876543210fedcba9876543210"


class MemoryFileStore:
    """A store of files without a disk, for tests of what stands on one. It passes the contract too.

    `failing` makes the next calls that change it raise `OSError`, `room` is what `free_bytes` returns.
    """

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.unfinished: dict[str, bytearray] = {}
        self.failing = False
        self.room: int | None = None

    async def put(self, key: str, data: bytes) -> None:
        await self._change()
        self.kept[key] = bytes(data)

    async def begin(self, key: str, size: int) -> str:  # noqa: ARG002
        await self._change()
        self.unfinished[key] = bytearray()
        return ""

    async def write(
        self,
        key: str,
        size: int,  # noqa: ARG002
        state: str,
        offset: int,
        pieces: AsyncIterator[bytes],
        length: int | None,  # noqa: ARG002
    ) -> WrittenPart:
        await self._change()
        held = self.unfinished.setdefault(key, bytearray())
        del held[offset:]
        async for piece in pieces:
            held += piece
        return WrittenPart(len(held), state)

    async def finish(self, key: str, size: int, state: str) -> None:  # noqa: ARG002
        await self._change()
        if key not in self.kept:
            self.kept[key] = bytes(self.unfinished.pop(key)[:size])

    async def abandon(self, key: str, state: str) -> None:  # noqa: ARG002
        await self._change()
        self.unfinished.pop(key, None)

    async def read(self, key: str, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes] | None:
        await trio.lowlevel.checkpoint()
        data = self.kept.get(key)
        return None if data is None else _chunks(data[start:stop])

    async def remove(self, key: str) -> None:
        await self._change()
        self.kept.pop(key, None)

    async def free_bytes(self) -> int | None:
        await trio.lowlevel.checkpoint()
        return self.room

    async def _change(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.failing:
            raise OSError("the store fails, as the test asked")


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), PIECE):
        await trio.lowlevel.checkpoint()
        yield data[at : at + PIECE]


async def pieces_of(data: bytes, size: int = PIECE) -> AsyncIterator[bytes]:
    """Yield bytes as a request's body brings them."""
    for at in range(0, len(data), size):
        await trio.lowlevel.checkpoint()
        yield data[at : at + size]


async def keep(store: FileStore, key: str, parts: Sequence[bytes]) -> None:
    """Keep a file in a store that is written in these parts."""
    size, offset = sum(map(len, parts)), 0
    state = await store.begin(key, size)
    for part in parts:
        written = await store.write(key, size, state, offset, pieces_of(part), len(part))
        offset, state = written
    await store.finish(key, size, state)


async def kept(store: FileStore, key: str, start: int = 0, stop: int | None = None) -> bytes | None:
    """Return what is kept under `key`, or None."""
    chunks = await store.read(key, start, stop)
    return None if chunks is None else b"".join([bytes(chunk) async for chunk in chunks])


def same(found: bytes | None, wanted: bytes, wrong: str) -> None:
    """Hold what is kept to what was written.

    Where pytest tells all (``CI``), it would compare the two line by line, which of long ones takes for ever.
    """
    is_same = found == wanted
    assert is_same, wrong


class FileStoreContract(ABC):
    """Tests of a store of files. Subclass it with a name that begins with ``Test`` and give `open_store`.

    `part` is how many bytes a part has in the tests; a store that keeps parts of another size may say more.
    """

    part = 200_000

    @abstractmethod
    def open_store(self, tmp_path: Path) -> AbstractAsyncContextManager[FileStore]:
        """Open the store that belongs to `tmp_path`: empty at first, and the same when opened again."""

    @pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 300_001])
    async def test_what_was_written_at_once_is_read_back(self, tmp_path: Path, size: int) -> None:
        data = os.urandom(size)
        async with self.open_store(tmp_path) as store:
            await keep(store, KEY, [data])
            same(await kept(store, KEY), data, "what was written did not come back")

    @pytest.mark.parametrize("size", [0, 1, PIECE + 1, 1_000_003])
    async def test_what_was_put_at_once_is_read_back(self, tmp_path: Path, size: int) -> None:
        data = os.urandom(size)
        async with self.open_store(tmp_path) as store:
            await store.put(NAMED, data)
            await store.put(NAMED, data)
        async with self.open_store(tmp_path) as store:
            same(await kept(store, NAMED), data, "what was put did not come back")
            await store.remove(NAMED)
            assert await store.read(NAMED) is None, "what was put and removed is still there"

    async def test_a_file_of_no_part_at_all_is_empty(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await keep(store, KEY, [])
            same(await kept(store, KEY), b"", "an empty file is not there")

    async def test_parts_come_after_each_other(self, tmp_path: Path) -> None:
        parts = [os.urandom(size) for size in (self.part, 1, self.part, 17, self.part)]
        async with self.open_store(tmp_path) as store:
            await keep(store, KEY, parts)
            same(await kept(store, KEY), b"".join(parts), "the parts are not in their order")

    async def test_another_process_goes_on_where_one_has_stopped(self, tmp_path: Path) -> None:
        first, second = os.urandom(self.part), os.urandom(self.part)
        size = len(first) + len(second)
        async with self.open_store(tmp_path) as store:
            state = await store.begin(KEY, size)
            offset, state = await store.write(KEY, size, state, 0, pieces_of(first), len(first))
            assert offset == len(first), "not all of a whole part was kept"
            assert len(state) <= MOST_STATE, "the state is too long"
        async with self.open_store(tmp_path) as store:
            offset, state = await store.write(KEY, size, state, offset, pieces_of(second), None)
            assert offset == size, "the parts before it are gone"
            await store.finish(KEY, size, state)
            same(await kept(store, KEY), first + second, "the parts before it are not what was written")

    async def test_what_was_written_after_the_state_that_is_kept_does_not_count(self, tmp_path: Path) -> None:
        first, lost, second = (os.urandom(self.part) for _ in range(3))
        size = len(first) + len(second)
        async with self.open_store(tmp_path) as store:
            state = await store.begin(KEY, size)
            offset, state = await store.write(KEY, size, state, 0, pieces_of(first), len(first))
            await store.write(KEY, size, state, offset, pieces_of(lost), len(lost))
        async with self.open_store(tmp_path) as store:
            end, state = await store.write(KEY, size, state, offset, pieces_of(second), len(second))
            await store.finish(KEY, end, state)
            same(await kept(store, KEY), first + second, "what did not count is in the file")

    async def test_of_a_part_that_was_cut_as_much_is_kept_as_the_store_says(self, tmp_path: Path) -> None:
        data = os.urandom(2 * self.part)
        async with self.open_store(tmp_path) as store:
            state = await store.begin(KEY, len(data))
            cut = pieces_of(data[: self.part - 5])
            offset, state = await store.write(KEY, len(data), state, 0, cut, len(data))
            assert 0 <= offset <= self.part - 5, "more is said to be kept than came"
            rest = data[offset:]
            offset, state = await store.write(KEY, len(data), state, offset, pieces_of(rest), len(rest))
            assert offset == len(data), "not all of the rest was kept"
            await store.finish(KEY, len(data), state)
            same(await kept(store, KEY), data, "what was kept of the part that was cut is not what came")

    async def test_nothing_is_read_of_what_is_not_finished(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            state = await store.begin(KEY, 10)
            assert await kept(store, KEY) is None, "a file is readable before it has begun"
            await store.write(KEY, 10, state, 0, pieces_of(b"0123456789"), 10)
            assert await kept(store, KEY) is None, "a file is readable before it is finished"

    async def test_finishing_twice_is_no_error(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            state = await store.begin(KEY, 4)
            _, state = await store.write(KEY, 4, state, 0, pieces_of(b"data"), 4)
            await store.finish(KEY, 4, state)
            await store.finish(KEY, 4, state)
            same(await kept(store, KEY), b"data", "finishing again changed what is kept")

    async def test_any_bytes_are_read(self, tmp_path: Path) -> None:
        data = os.urandom(3 * PIECE + 11)
        spans = [(0, 0), (0, 1), (5, PIECE), (PIECE - 1, PIECE + 1), (2 * PIECE, None), (len(data) - 1, None)]
        async with self.open_store(tmp_path) as store:
            await keep(store, KEY, [data])
            for start, stop in spans:
                same(await kept(store, KEY, start, stop), data[start:stop], f"not from {start} to {stop}")

    async def test_a_chunk_is_64_kib_at_most_and_never_empty(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await keep(store, KEY, [bytes(5 * PIECE + 1)])
            chunks = await store.read(KEY, 3)
            assert chunks is not None
            sizes = [len(chunk) async for chunk in chunks]
        assert max(sizes) <= PIECE, f"a chunk has {max(sizes)} bytes; 65,536 are the most"
        assert min(sizes) > 0, "a chunk is empty"

    async def test_a_reader_may_go_away_in_the_middle(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await keep(store, KEY, [bytes(3 * PIECE)])
            chunks = await store.read(KEY)
            assert chunks is not None
            async for _ in chunks:
                break
            if hasattr(chunks, "aclose"):
                await chunks.aclose()
            same(await kept(store, KEY), bytes(3 * PIECE), "a reader that went away spoiled the next")

    async def test_what_was_removed_or_abandoned_is_gone(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            await keep(store, KEY, [b"data"])
            state = await store.begin(OTHER, 8)
            _, state = await store.write(OTHER, 8, state, 0, pieces_of(b"data"), 8)
            for _ in range(2):  # The second time there is nothing.
                await store.remove(KEY)
                await store.abandon(OTHER, state)
            assert await kept(store, KEY) is None, "what was removed is still there"
            assert await kept(store, OTHER) is None, "what was abandoned is there"

    async def test_keys_do_not_touch_each_other(self, tmp_path: Path) -> None:
        files = {f"{number:032x}": os.urandom(PIECE + number) for number in range(10)}
        async with self.open_store(tmp_path) as store:
            async with trio.open_nursery() as nursery:
                for key, data in files.items():
                    nursery.start_soon(keep, store, key, [data[:100], data[100:]])
            mixed = [key for key, data in files.items() if await kept(store, key) != data]
            assert not mixed, f"written at once with others, {len(mixed)} files are not what was written"

    async def test_room_is_a_number_or_nobody_can_tell(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            free = await store.free_bytes()
            assert free is None or free > 0, "free_bytes() must return None when nobody can tell"

    async def test_what_is_not_there_is_none(self, tmp_path: Path) -> None:
        async with self.open_store(tmp_path) as store:
            try:
                assert await store.read(KEY) is None, "read() must return None for a key that is not there"
            except NotFound as error:
                raise AssertionError("read() must return None, and not raise") from error
