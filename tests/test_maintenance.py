"""The sweeper removes what has had its time, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from teamchat.capabilities import Capabilities
from teamchat.events import DeleteMessage
from teamchat.interfaces import Storage
from teamchat.model import now_ms
from teamchat.server.maintenance import Sweeper
from teamchat.settings import Settings
from tests.storages import open_storage

DAY = 24 * 3600 * 1000
PATIENCE = 30


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with open_storage(tmp_path) as opened:
        yield opened


class Jobs:
    """Stands for accounts, images and groups: counts what is asked of it, and fails the first time."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def sweep(self) -> None:
        self.done.append("sweep")
        raise RuntimeError("not today")

    async def remove_doomed(self) -> None:
        self.done.append("remove doomed")

    async def remove_empty(self) -> None:
        self.done.append("remove empty")

    async def clear_rooms(self) -> None:
        self.done.append("clear rooms")

    async def sweep_audit(self) -> None:
        self.done.append("sweep the audit log")


def sweeper(storage: Storage, jobs: Any = None) -> Sweeper:
    jobs = jobs or Jobs()
    app: Any = SimpleNamespace(
        storage=storage,
        settings=Settings(),
        accounts=jobs,
        chat=SimpleNamespace(images=jobs, groups=jobs, deletion=SimpleNamespace(sweep=jobs.clear_rooms)),
        audit=SimpleNamespace(sweep=jobs.sweep_audit),
        capabilities=Capabilities(),
    )
    return Sweeper(app)


async def log_of_ages(storage: Storage, *ages: int) -> None:
    """Write an event for each age, in milliseconds."""
    async with storage.write() as tx:
        for number in range(1, len(ages) + 1):
            await tx.append(DeleteMessage(str(number), "c").to())
    async with storage.write() as tx:
        for number, age in enumerate(ages, 1):
            await tx.fetch("update events set created_at = $1 where seq = $2", now_ms() - age, number)


async def kept(storage: Storage) -> list[int]:
    async with storage.read() as tx:
        return [seq for (seq,) in await tx.fetch("select seq from events order by seq")]


async def test_d34_events_older_than_the_retention_are_forgotten(storage: Storage) -> None:
    await log_of_ages(storage, 2 * DAY, DAY + 60_000, DAY - 60_000, 0)
    await sweeper(storage).forget_events()
    assert await kept(storage) == [3, 4]
    assert await storage.log_bounds() == (3, 4)


async def test_d34_a_clock_set_back_makes_no_hole_in_the_log(storage: Storage) -> None:
    await log_of_ages(storage, 2 * DAY, 0, 2 * DAY, 0)
    await sweeper(storage).forget_events()
    assert await kept(storage) == [2, 3, 4]


async def test_d34_a_log_of_old_events_alone_is_emptied_and_goes_on_counting(storage: Storage) -> None:
    await log_of_ages(storage, 2 * DAY, 2 * DAY)
    await sweeper(storage).forget_events()
    await sweeper(storage).forget_events()
    assert await kept(storage) == []
    assert await storage.log_bounds() == (3, 2)


async def test_d07b_idempotency_keys_are_kept_for_a_day(storage: Storage) -> None:
    async with storage.write() as tx:
        for key, age in (("old", DAY + 60_000), ("young", DAY - 60_000)):
            await tx.fetch(
                "insert into keyed_requests (user_id, scope, key, request_hash, made, created_at)"
                " values ('u', 'polls', $1, 'hash', 'm', $2)",
                key,
                now_ms() - age,
            )
    await sweeper(storage).forget_keys()
    async with storage.read() as tx:
        assert await tx.fetch("select key from keyed_requests") == [("young",)]


async def test_a_job_that_fails_stops_neither_the_others_nor_the_server(
    storage: Storage, nursery: trio.Nursery
) -> None:
    jobs = Jobs()
    await nursery.start(sweeper(storage, jobs).run)
    with trio.fail_after(PATIENCE):
        kinds = ["clear rooms", "remove doomed", "remove empty", "sweep", "sweep", "sweep the audit log"]
        while sorted(jobs.done) != kinds:
            await trio.lowlevel.checkpoint()
