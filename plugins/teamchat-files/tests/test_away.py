"""While the storage is away files wait, and the server does not end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import trio
from teamchat_files import processing
from teamchat_files.options import FilesOptions
from teamchat_files.processing import Processing

from teamchat import StorageError, Teamchat


class Away:
    """An application, and its storage, which is away at first."""

    def __init__(self) -> None:
        self.storage = self
        self.failures = 3

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Away]:
        yield self

    async def fetch(self, *_: object) -> list[tuple[str]]:
        self.failures -= 1
        if self.failures >= 0:
            raise StorageError("It is away.")
        return [("a file",)]


async def test_files_are_looked_for_again_once_the_storage_is_back(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    looked_at = trio.Event()

    async def look_at(_: Processing, file_id: str) -> None:
        assert file_id == "a file"
        looked_at.set()

    @asynccontextmanager
    async def no_thumbnailer() -> AsyncIterator[None]:
        yield

    monkeypatch.setattr(Processing, "look_at", look_at)
    monkeypatch.setattr(processing, "open_thumbnailer", no_thumbnailer)
    service = Processing(cast("Teamchat", Away()), cast("FilesOptions", cast("Any", None)))
    async with trio.open_nursery() as nursery:
        await nursery.start(service.run)
        with trio.fail_after(10 * processing.POLL_SECONDS):
            await looked_at.wait()
        nursery.cancel_scope.cancel()
