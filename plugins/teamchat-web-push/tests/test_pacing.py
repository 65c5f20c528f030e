"""Pushes leave turns of the event loop, and time, to everything else."""

from __future__ import annotations

import pytest
import trio
from teamchat_web_push.pacing import Pace

from tests.turns import counting_turns


async def test_one_push_takes_a_step_in_each_turn_of_the_loop_first_come_first_served() -> None:
    pace = Pace()
    came: list[int] = []
    steps: list[tuple[int, int]] = []

    async def push(number: int) -> None:
        came.append(number)  # Trio begins with any of them.
        await pace.step()
        steps.append((turns.count, number))

    with counting_turns() as turns:
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(push, number)
    assert [number for _, number in steps] == came
    assert len({turn for turn, _ in steps}) == 20


async def test_pushes_leave_pauses(autojump_clock: trio.testing.MockClock) -> None:
    pace, began = Pace(), trio.current_time()
    await pace.step()
    assert trio.current_time() == began
    for _ in range(3999):
        await pace.step()
    assert trio.current_time() - began == pytest.approx(2.0)
