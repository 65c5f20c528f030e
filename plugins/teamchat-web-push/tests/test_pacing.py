"""Pushes leave turns of the event loop, and time, to everything else."""

from __future__ import annotations

import httpcore2
import pytest
import trio
from teamchat_web_push.pacing import Pace, PacedStream


class _Turns(trio.abc.Instrument):
    """Counts the turns of the event loop."""

    count = 0

    def after_io_wait(self, timeout: float) -> None:
        self.count += 1


class _Peer(httpcore2.AsyncNetworkStream):
    """Takes what is written, and answers."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.taken.append(buffer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return b"answer %d" % len(self.taken)


async def test_one_push_takes_a_step_in_each_turn_of_the_loop_first_come_first_served() -> None:
    pace, turns = Pace(), _Turns()
    came: list[int] = []
    steps: list[tuple[int, int]] = []

    async def push(number: int) -> None:
        came.append(number)  # Trio begins with any of them.
        await pace.step()
        steps.append((turns.count, number))

    trio.lowlevel.add_instrument(turns)
    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(push, number)
    trio.lowlevel.remove_instrument(turns)
    assert [number for _, number in steps] == came
    assert len({turn for turn, _ in steps}) == 20


async def test_many_pushes_leave_pauses_and_a_few_none(autojump_clock: trio.testing.MockClock) -> None:
    pace, began = Pace(), trio.current_time()
    for _ in range(3):
        await pace.step()
    assert trio.current_time() == began
    for _ in range(3997):
        await pace.step()
    assert trio.current_time() - began == pytest.approx(1.0)


async def test_a_request_leaves_in_one_piece_and_one_that_is_cut_short_not_at_all() -> None:
    peer = _Peer()
    stream = PacedStream(peer, Pace())
    for piece in b"head\r\n", b"body":
        await stream.write(piece)
    assert peer.taken == []
    assert await stream.read(100) == b"answer 1"
    assert await stream.read(100) == b"answer 1"
    await stream.write(b"next")
    assert await stream.read(100) == b"answer 2"
    assert peer.taken == [b"head\r\nbody", b"next"]
