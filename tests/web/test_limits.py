"""The limit on requests, in one process and in several on one storage (decision D-18)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from teamchat.errors import StorageError, TooManyRequests
from teamchat.interfaces import Storage
from teamchat.settings import RateLimit
from teamchat.web import limits
from teamchat.web.limits import PIECES, RequestLimit
from tests.storages import open_storage


class Counting:
    """A storage that counts its transactions, and fails or stands still when it is told to."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.writes = 0
        self.fails = False
        self.hangs = False

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Any]:
        self.writes += 1
        if self.hangs:
            await trio.sleep_forever()
        if self.fails:
            raise StorageError("The storage is away.")
        async with self._storage.write() as tx:
            yield tx


class Clock:
    """The wall clock, in epoch milliseconds."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Counting]:
    async with open_storage(tmp_path) as opened:
        yield Counting(opened)


def limit(storage: Counting, attempts: int = 100, seconds: int = 60, clock: Clock | None = None) -> Any:
    return RequestLimit(storage, RateLimit(attempts, seconds), clock or Clock())  # type: ignore[arg-type]


async def let_through(limited: RequestLimit, network: str, most: int = 10_000) -> int:
    """Ask until there is a refusal, and return how many requests were let through."""
    for count in range(most):
        try:
            await limited.count(network)
        except TooManyRequests:
            return count
    return most


@pytest.mark.parametrize("attempts", [1, 2, 19, 20, 21, 99, 100, 1000])
async def test_the_limit_is_exact_and_costs_few_writes(storage: Counting, attempts: int) -> None:
    assert await let_through(limit(storage, attempts), "192.0.2.1") == attempts
    assert storage.writes <= attempts // max(1, attempts // PIECES) + 1


async def test_whoever_is_refused_costs_no_write(storage: Counting) -> None:
    limited = limit(storage)
    await let_through(limited, "192.0.2.1")
    writes = storage.writes
    for _ in range(50):
        with pytest.raises(TooManyRequests):
            await limited.count("192.0.2.1")
    assert storage.writes == writes


async def test_processes_share_one_limit(storage: Counting) -> None:
    clock = Clock()
    several = [limit(storage, clock=clock) for _ in range(4)]
    let = 0
    for turn in range(200):
        try:
            await several[turn % 4].count("192.0.2.1")
            let += 1
        except TooManyRequests:
            pass
    assert let == 100


async def test_requests_at_once_share_one_write_and_lose_nothing(storage: Counting) -> None:
    limited = limit(storage)
    let: list[int] = []

    async def ask(network: str) -> None:
        let.append(await let_through(limited, network))

    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(ask, f"192.0.2.{number % 20}")
    assert sum(let) == 20 * 100
    assert storage.writes < 20 * (PIECES + 1)


async def test_a_new_window_gives_a_new_budget(storage: Counting, mock_clock: trio.testing.MockClock) -> None:
    clock = Clock()
    limited, other = limit(storage, clock=clock), limit(storage, clock=clock)
    assert await let_through(limited, "192.0.2.1") == 100
    with pytest.raises(TooManyRequests) as refused:
        await other.count("192.0.2.1")
    assert refused.value.retry_after in {60, 61}
    clock.now += 60_000
    mock_clock.jump(61)
    assert await let_through(other, "192.0.2.1") == 100
    assert await let_through(limited, "192.0.2.1") == 0


async def test_a_clock_that_was_set_back_shuts_nobody_out(storage: Counting) -> None:
    clock = Clock()
    clock.now += 24 * 3600 * 1000
    await let_through(limit(storage, clock=clock), "192.0.2.1")
    assert await let_through(limit(storage), "192.0.2.1") == 100


async def test_without_its_storage_a_process_counts_alone_and_does_not_ask_again_at_once(
    storage: Counting,
) -> None:
    limited = limit(storage)
    storage.fails = True
    assert await let_through(limited, "192.0.2.1") == 100
    assert storage.writes == 1


async def test_no_request_waits_long_for_a_storage_that_stands_still(
    storage: Counting, mock_clock: trio.testing.MockClock
) -> None:
    limited = limit(storage)
    storage.hangs = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(limited.count, "192.0.2.1")
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(limits.WAIT_SECONDS)


async def test_with_too_many_waiting_a_process_counts_alone(
    storage: Counting, mock_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_WAITING", 10)
    limited = limit(storage)
    storage.hangs = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(limited.count, "192.0.2.200")
        await trio.testing.wait_all_tasks_blocked()  # It holds the turn.
        for number in range(10):
            nursery.start_soon(limited.count, f"192.0.2.{number}")
        await trio.testing.wait_all_tasks_blocked()
        await limited.count("198.51.100.1")
        assert storage.writes == 1
        nursery.cancel_scope.cancel()


async def test_more_networks_than_there_is_room_for_are_counted_alone(
    storage: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_NETWORKS", 5)
    limited = limit(storage)
    for number in range(20):
        assert await let_through(limited, f"192.0.2.{number}") == 100
    async with open_kept(storage) as rows:
        assert len(rows) == 5


async def test_windows_that_are_over_leave_the_table(
    storage: Counting, mock_clock: trio.testing.MockClock
) -> None:
    clock = Clock()
    limited = limit(storage, clock=clock)
    for number in range(30):
        await limited.count(f"192.0.2.{number}")
    clock.now += 60_001
    mock_clock.jump(61)
    for number in range(5):
        await limited.count(f"198.51.100.{number}")
    async with open_kept(storage) as rows:
        assert [network for (network,) in rows] == [f"198.51.100.{number}" for number in range(5)]


@asynccontextmanager
async def open_kept(storage: Counting) -> AsyncIterator[list[Any]]:
    async with storage._storage.read() as tx:
        yield await tx.fetch("select network from request_windows order by network")
