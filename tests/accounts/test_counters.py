"""Counts in windows, whatever the clock does."""

from __future__ import annotations

import pytest

from teamchat.accounts.counters import Counters
from teamchat.errors import TooManyRequests
from teamchat.observability import metrics
from teamchat.settings import RateLimit

WINDOW = 900


@pytest.fixture
def counters(world):
    return Counters(RateLimit(attempts=2, window_seconds=WINDOW), world.clock)


@pytest.fixture
def counted(world, counters):
    async def count(times=1):
        async with world.storage.write() as tx:
            return [await counters.add(tx, "subject") for _ in range(times)][-1]

    return count


async def is_full(world, counters):
    async with world.storage.read() as tx:
        try:
            await counters.refuse_full(tx, "subject", 2)
        except TooManyRequests as error:
            return 1 <= error.retry_after <= 2 * WINDOW
    return False


@pytest.mark.parametrize("seconds", [0, WINDOW - 1, -1, -WINDOW])
async def test_d18_a_window_that_is_open_keeps_its_counts(world, counters, counted, seconds):
    await counted(2)
    world.clock.pass_seconds(seconds)
    assert await is_full(world, counters)
    assert await counted() == 3


@pytest.mark.parametrize("seconds", [WINDOW, -WINDOW - 1, -365 * 86_400])
async def test_d18_a_window_is_over_when_its_time_has_passed_or_the_clock_was_set_back_behind_it(
    world, counters, counted, seconds
):
    await counted(2)
    world.clock.pass_seconds(seconds)
    assert not await is_full(world, counters)
    assert await counted() == 1


@pytest.mark.parametrize("seconds", [WINDOW, -WINDOW - 1])
async def test_what_is_over_is_swept_and_what_is_counted_apart_by_itself(world, counters, counted, seconds):
    await counted()
    async with world.storage.write() as tx:
        await counters.add(tx, "oauth-start:192.0.2.1")
    world.clock.pass_seconds(seconds)
    left = []
    for apart in (False, True):
        await counters.sweep(world.storage, apart=apart)
        left.append([subject for (subject,) in await world.fetch("select subject from attempts")])
    assert left == [["oauth-start:192.0.2.1"], []]


async def test_many_that_are_over_are_swept_some_in_a_transaction(world, counters):
    async with world.storage.write() as tx:
        for number in range(250):
            await counters.add(tx, f"pair:{number}")
    world.clock.pass_seconds(WINDOW)
    before = metrics.writes.value
    await counters.sweep(world.storage)
    assert metrics.writes.value - before == 3
    assert await world.fetch("select 1 from attempts") == []
