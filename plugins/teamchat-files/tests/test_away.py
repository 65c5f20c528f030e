"""While the storage is away files wait, and the server does not end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import trio
from teamchat_files import processing, removal
from teamchat_files.options import FilesOptions
from teamchat_files.processing import Processing
from teamchat_files.removal import Removal

from teamchat import StorageError, Teamchat
from teamchat.observability import metrics


class Away:
    """An application, and its storage, which is away at first."""

    def __init__(self, *rows: tuple[str | None, ...]) -> None:
        self.storage = self
        self.rows = list(rows)
        self.failures = 3

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Away]:
        yield self

    async def fetch(self, *_: object) -> list[tuple[str | None, ...]]:
        self.failures -= 1
        if self.failures >= 0:
            raise StorageError("It is away.")
        return self.rows


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
    service = Processing(cast("Teamchat", Away(("ada", "a file"))), cast("FilesOptions", cast("Any", None)))
    async with trio.open_nursery() as nursery:
        await nursery.start(service.run)
        with trio.fail_after(10 * processing.POLL_SECONDS):
            await looked_at.wait()
        nursery.cancel_scope.cancel()


async def test_a_file_for_which_no_place_was_left_is_looked_at_later(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    is_free, looked_at = trio.Event(), trio.Event()

    async def look_at(_: Processing, file_id: str) -> None:
        if file_id == "a late one":
            looked_at.set()
        await is_free.wait()

    @asynccontextmanager
    async def no_thumbnailer() -> AsyncIterator[None]:
        yield

    monkeypatch.setattr(Processing, "look_at", look_at)
    monkeypatch.setattr(processing, "open_thumbnailer", no_thumbnailer)
    monkeypatch.setattr(processing, "_MOST_WAITING", 1)
    storage = Away()
    service = Processing(cast("Teamchat", storage), cast("FilesOptions", cast("Any", None)))
    async with trio.open_nursery() as nursery:
        await nursery.start(service.run)
        await trio.testing.wait_all_tasks_blocked()
        for name in ("a", "b", "c", "d", "a late one"):
            await service.process("ada", name)
        assert not looked_at.is_set()
        storage.rows = [("ada", "a late one")]
        is_free.set()
        with trio.fail_after(10 * processing.POLL_SECONDS):
            await looked_at.wait()
        nursery.cancel_scope.cancel()


async def test_files_that_are_to_go_are_looked_for_again_once_the_storage_is_back(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    removed = trio.Event()

    async def remove(_: Removal, key: str, state: str | None) -> None:
        assert (key, state) == ("a key", None)
        removed.set()

    monkeypatch.setattr(Removal, "_remove", remove)
    monkeypatch.setattr(metrics.count_requests, "is_on", False)
    service = Removal(cast("Teamchat", Away(("a key", None))), cast("FilesOptions", cast("Any", None)))
    async with trio.open_nursery() as nursery:
        await nursery.start(service.run)
        with trio.fail_after(10 * removal.EVERY_SECONDS):
            await removed.wait()
        nursery.cancel_scope.cancel()
