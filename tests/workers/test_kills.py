"""Workers that are killed under load: no acknowledged post is lost, and every stream gets every event once.

As `tests.test_resume`, but with the server living on while its workers come and go.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.testing import DEADLINE, Server
from tests.postgres import shared
from tests.storages import ONE_STORAGE, sqlite_only
from tests.test_resume import Installation, Reader, all_messages, post
from tests.workers.several import Several, several

pytestmark = pytest.mark.slow

CLIENTS = 12
POSTS = 120
POSTS_A_SECOND = 30
KILLS = 3


@dataclass
class SharedInstallation(Installation):
    """A server of several processes, which is always up."""

    storage: dict[str, Any] | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Server]:
        sections = {"storage": self.storage} if self.storage else {}
        async with several(self.directory, server={"port": self.port, "workers": 3}, **sections) as server:
            self._is_now(server)
            try:
                yield server
            finally:
                self._is_now(None)


@pytest.mark.parametrize("backend", [pytest.param("sqlite", marks=sqlite_only(ONE_STORAGE)), "postgres"])
async def test_d34_over_the_deaths_of_workers_nothing_acknowledged_is_lost_and_every_event_comes_once(
    tmp_path: Path, backend: str
) -> None:
    storage = {"backend": backend, "path": str(tmp_path / "data")}
    if backend == "postgres":
        storage["url"] = shared().url(shared().new_database())
    installation = SharedInstallation(tmp_path, storage=storage)
    with trio.fail_after(6 * DEADLINE):
        async with installation.open() as server, trio.open_nursery() as nursery:
            assert isinstance(server, Several)
            await _storm(installation, server, nursery)
            nursery.cancel_scope.cancel()
    assert len(server.logged()) == KILLS


async def _storm(installation: Installation, server: Several, nursery: trio.Nursery) -> None:
    chance = random.Random(9)
    async with await server.sign_in() as ada:
        token = ada.headers["Authorization"].removeprefix("Bearer ")
        path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"
        readers = [Reader(installation, token) for _ in range(CLIENTS)]
        for reader in readers:
            await nursery.start(reader.run)
        posted = []
        start = trio.current_time()
        for number in range(POSTS):
            await trio.sleep_until(start + number / POSTS_A_SECOND)  # A pace, not a wait.
            async with trio.open_nursery() as now:
                if number % (POSTS // KILLS) == POSTS // KILLS // 2:
                    now.start_soon(_kill_one, server, chance)
                posted.append(await post(installation, ada, path, number))
        with trio.fail_after(DEADLINE):
            for reader in readers:
                await reader.until(posted[-1])
        assert await all_messages(ada, path) == posted
    for reader in readers:
        assert [event["payload"]["id"] for event in reader.events] == posted
        assert reader.ids == sorted(set(reader.ids))
    assert sum(reader.connections for reader in readers) > CLIENTS, "some were cut, and came back"


async def _kill_one(server: Several, chance: random.Random) -> None:
    for _ in range(chance.randrange(20)):
        await trio.lowlevel.checkpoint()
    os.kill(chance.choice(sorted(server.workers())), signal.SIGKILL)
