"""Stores of files with one thing wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from teamchat import NotFound
from teamchat.interfaces import WrittenPart
from teamchat.interfaces.file_stores import MOST_STATE
from teamchat.testing import FileStoreContract
from teamchat.testing.files import PIECE, MemoryFileStore
from tests.testing.faults import found_by

_kept: dict[Path, tuple[dict[str, bytes], dict[str, bytearray]]] = {}


class Contract(FileStoreContract):
    """Keeps what a directory's store holds until it is opened again."""

    store: type[MemoryFileStore]

    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[MemoryFileStore]:
        opened = self.store()
        opened.kept, opened.unfinished = _kept.setdefault(tmp_path, ({}, {}))
        yield opened


@found_by(
    test_another_process_goes_on_where_one_has_stopped="the parts before it are gone",
    test_what_was_written_after_the_state_that_is_kept_does_not_count="what did not count is in the file",
    test_what_was_put_at_once_is_read_back="what was put did not come back",
)
class TestForgets(Contract):
    store = MemoryFileStore

    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[MemoryFileStore]:
        yield MemoryFileStore()


@found_by(test_what_was_written_at_once_is_read_back="what was written did not come back")
class TestLosesAnOnlyByte(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def finish(self, key: str, size: int, state: str) -> None:
            await super().finish(key, 0 if size == 1 else size, state)


@found_by(
    test_what_was_written_at_once_is_read_back="what was written did not come back",
    test_a_file_of_no_part_at_all_is_empty="an empty file is not there",
)
class TestKeepsNoEmptyFile(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def finish(self, key: str, size: int, state: str) -> None:
            if size:
                await super().finish(key, size, state)


@found_by(test_what_was_put_at_once_is_read_back="what was put did not come back")
class TestPutsHalf(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def put(self, key: str, data: bytes) -> None:
            await super().put(key, data[:PIECE])


@found_by(test_parts_come_after_each_other="the parts are not in their order")
class TestPutsAShortPartFirst(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def write(
            self,
            key: str,
            size: int,
            state: str,
            offset: int,
            pieces: AsyncIterator[bytes],
            length: int | None,
        ) -> WrittenPart:
            written = await super().write(key, size, state, offset, pieces, length)
            if offset and length == 1:
                held = self.unfinished[key]
                held.insert(0, held.pop())
            return written


@found_by(test_another_process_goes_on_where_one_has_stopped="the state is too long")
class TestHasALongState(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def write(
            self,
            key: str,
            size: int,
            state: str,
            offset: int,
            pieces: AsyncIterator[bytes],
            length: int | None,
        ) -> WrittenPart:
            end, _ = await super().write(key, size, state, offset, pieces, length)
            return WrittenPart(end, "x" * (MOST_STATE + 1))


@found_by(
    test_what_was_written_after_the_state_that_is_kept_does_not_count="what did not count is in the file"
)
class TestAppends(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def write(
            self,
            key: str,
            size: int,
            state: str,
            offset: int,
            pieces: AsyncIterator[bytes],
            length: int | None,
        ) -> WrittenPart:
            end = len(self.unfinished.get(key, b""))
            return await super().write(key, size, state, max(offset, end), pieces, length)


@found_by(test_of_a_part_that_was_cut_as_much_is_kept_as_the_store_says="more is said to be kept than came")
class TestBelievesTheLength(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def write(
            self,
            key: str,
            size: int,
            state: str,
            offset: int,
            pieces: AsyncIterator[bytes],
            length: int | None,
        ) -> WrittenPart:
            end, state = await super().write(key, size, state, offset, pieces, length)
            return WrittenPart(end if length is None else offset + length, state)


@found_by(test_nothing_is_read_of_what_is_not_finished="a file is readable before it")
class TestReadsBeforeTheEnd(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def read(
            self, key: str, start: int = 0, stop: int | None = None
        ) -> AsyncIterator[bytes] | None:
            if key in self.unfinished:
                return _whole(bytes(self.unfinished[key][start:stop]))
            return await super().read(key, start, stop)


@found_by(test_finishing_twice_is_no_error="finishing again changed what is kept")
class TestFinishesAgainWithNothing(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def finish(self, key: str, size: int, state: str) -> None:
            self.kept[key] = bytes(self.unfinished.pop(key, b"")[:size])


@found_by(test_any_bytes_are_read="not from 0 to 0")
class TestReadsBeyondStop(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def read(
            self, key: str, start: int = 0, stop: int | None = None
        ) -> AsyncIterator[bytes] | None:
            return await super().read(key, start, None if stop is None else stop + 1)


@found_by(test_any_bytes_are_read="not from 5 to 65536")
class TestReadsFromTheBeginning(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def read(
            self,
            key: str,
            start: int = 0,
            stop: int | None = None,
        ) -> AsyncIterator[bytes] | None:
            return await super().read(key, 0, stop)


@found_by(test_a_chunk_is_64_kib_at_most_and_never_empty="a chunk has 327678 bytes")
class TestGivesAllAtOnce(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def read(
            self, key: str, start: int = 0, stop: int | None = None
        ) -> AsyncIterator[bytes] | None:
            return _whole(self.kept[key][start:stop]) if key in self.kept else None


@found_by(test_a_chunk_is_64_kib_at_most_and_never_empty="a chunk is empty")
class TestEndsWithAnEmptyChunk(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def read(
            self, key: str, start: int = 0, stop: int | None = None
        ) -> AsyncIterator[bytes] | None:
            return _and_nothing(self.kept[key][start:stop]) if key in self.kept else None


@found_by(test_a_reader_may_go_away_in_the_middle="a reader that went away spoiled the next")
class TestHasOneReaderForAll(Contract):
    class store(MemoryFileStore):  # noqa: N801
        def __init__(self) -> None:
            super().__init__()
            self.readers: dict[tuple[str, int, int | None], AsyncIterator[bytes]] = {}

        async def read(
            self, key: str, start: int = 0, stop: int | None = None
        ) -> AsyncIterator[bytes] | None:
            chunks = await super().read(key, start, stop)
            return None if chunks is None else self.readers.setdefault((key, start, stop), chunks)


@found_by(
    test_what_was_removed_or_abandoned_is_gone="what was removed is still there",
    test_what_was_put_at_once_is_read_back="what was put and removed is still there",
)
class TestNeverRemoves(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def remove(self, key: str) -> None:
            pass


@found_by(test_what_was_removed_or_abandoned_is_gone="what was abandoned is there")
class TestKeepsWhatWasAbandoned(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def abandon(self, key: str, state: str) -> None:
            self.kept[key] = bytes(self.unfinished.pop(key, b""))


@found_by(test_keys_do_not_touch_each_other="files are not what was written")
class TestWritesAllInOnePlace(Contract):
    class store(MemoryFileStore):  # noqa: N801
        place = bytearray()

        async def begin(self, key: str, size: int) -> str:
            state = await super().begin(key, size)
            self.unfinished[key] = self.place
            return state


@found_by(test_room_is_a_number_or_nobody_can_tell="free_bytes() must return None when nobody can tell")
class TestTellsRoomByMinusOne(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def free_bytes(self) -> int | None:
            return -1


@found_by(
    test_what_is_not_there_is_none="read() must return None, and not raise",
    test_nothing_is_read_of_what_is_not_finished="nothing is kept under this key",
    test_what_was_removed_or_abandoned_is_gone="nothing is kept under this key",
    test_what_was_put_at_once_is_read_back="nothing is kept under this key",
)
class TestRaisesForAnUnknownKey(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def read(
            self, key: str, start: int = 0, stop: int | None = None
        ) -> AsyncIterator[bytes] | None:
            if key not in self.kept:
                raise NotFound("nothing is kept under this key")
            return await super().read(key, start, stop)


@found_by(
    test_what_is_not_there_is_none="read() must return None for a key that is not there",
    test_nothing_is_read_of_what_is_not_finished="a file is readable before it has begun",
    test_what_was_removed_or_abandoned_is_gone="what was removed is still there",
    test_what_was_put_at_once_is_read_back="what was put and removed is still there",
)
class TestMakesOneUpForAnUnknownKey(Contract):
    class store(MemoryFileStore):  # noqa: N801
        async def read(
            self, key: str, start: int = 0, stop: int | None = None
        ) -> AsyncIterator[bytes] | None:
            return (
                _whole(self.kept.get(key, b"")[start:stop])
                if key not in self.kept
                else await super().read(key, start, stop)
            )


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _and_nothing(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data) + PIECE, PIECE):
        yield data[at : at + PIECE]
