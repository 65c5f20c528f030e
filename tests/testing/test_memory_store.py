from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from teamchat import ImageStore
from teamchat.testing import ImageStoreContract
from teamchat.testing.images import MemoryStore


class TestMemoryStore(ImageStoreContract):
    """The fake is held to what the real thing is held to."""

    _stores: dict[Path, MemoryStore] = {}  # noqa: RUF012  # what is kept between two openings

    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[ImageStore]:
        yield self._stores.setdefault(tmp_path, MemoryStore())


async def test_a_failing_store_raises_and_changes_nothing() -> None:
    store = MemoryStore()
    await store.put("1-a.png", b"x")
    store.failing = True
    with pytest.raises(OSError, match="the store fails"):
        await store.delete("1-a.png")
    assert store.kept == {"1-a.png": b"x"}
