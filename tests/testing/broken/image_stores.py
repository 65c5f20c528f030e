"""Image stores with one thing wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from teamchat.testing import ImageStoreContract
from teamchat.testing.images import MemoryStore
from tests.testing.faults import found_by

_kept: dict[Path, dict[str, bytes]] = {}


class Contract(ImageStoreContract):
    """Keeps what a directory's store holds until it is opened again."""

    store: type[MemoryStore]

    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[MemoryStore]:
        opened = self.store()
        opened.kept = _kept.setdefault(tmp_path, {})
        yield opened


@found_by(test_what_was_put_is_there_when_opened_again="gone when the store is opened again")
class TestForgets(Contract):
    store = MemoryStore

    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[MemoryStore]:
        yield MemoryStore()


@found_by(test_a_chunk_is_64_kib_at_most_and_never_empty="a chunk has 327681 bytes")
class TestGivesAllAtOnce(Contract):
    class store(MemoryStore):  # noqa: N801
        async def get(self, key: str) -> AsyncIterator[bytes] | None:
            return _whole(self.kept[key]) if key in self.kept else None


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


@found_by(test_deleting_what_is_not_there_is_no_error="must not raise for a key that is not there")
class TestInsistsOnDeleting(Contract):
    class store(MemoryStore):  # noqa: N801
        async def delete(self, key: str) -> None:
            del self.kept[key]


@found_by(test_a_deleted_key_gives_none="what was deleted is still there")
class TestNeverDeletes(Contract):
    class store(MemoryStore):  # noqa: N801
        async def delete(self, key: str) -> None:
            pass


@found_by(test_keys_do_not_touch_each_other="deleting one key changed another")
class TestDeletesTooMuch(Contract):
    class store(MemoryStore):  # noqa: N801
        async def delete(self, key: str) -> None:
            for known in [known for known in self.kept if known.endswith(key)]:
                del self.kept[known]


@found_by(
    test_an_unknown_key_gives_none="must return None for a key that was never put",
    test_a_deleted_key_gives_none="what was deleted is still there",
)
class TestMakesOneUpForAnUnknownKey(Contract):
    class store(MemoryStore):  # noqa: N801
        async def get(self, key: str) -> AsyncIterator[bytes] | None:
            self.kept.setdefault(key, b"")
            return await super().get(key)


@found_by(test_putting_the_same_data_again_changes_nothing="changed what is stored")
class TestAppends(Contract):
    class store(MemoryStore):  # noqa: N801
        async def put(self, key: str, data: bytes) -> None:
            self.kept[key] = self.kept.get(key, b"") + data


@found_by(test_what_was_put_is_got_back="1000003 bytes were put, and 1000000 others came back")
class TestLosesTheEnd(Contract):
    class store(MemoryStore):  # noqa: N801
        async def put(self, key: str, data: bytes) -> None:
            await super().put(key, data[:1_000_000])
