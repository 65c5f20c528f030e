"""Deliveries give the event loop back: requests are answered while thousands of streams are written to."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import cast

import pytest

from teamchat.stream import delivery
from teamchat.stream.delivery import MOST_SECONDS, PORTION, deliver
from teamchat.stream.sse import KEEP_ALIVE, Comment
from teamchat.stream.stream import Stream

A_SEND = 5e-6  # seconds
STREAMS = 1000


class Machine:
    """A stream whose client takes all, a clock, and the seconds that others take of a turn of the loop."""

    form = 0

    def __init__(self, others: float) -> None:
        self.now, self.sent, self.others = 1.0, 0, others
        self.sent_by_turn = [0]

    def send_now(self, data: bytes) -> int:
        self.now += A_SEND
        self.sent += 1
        return len(data)

    async def checkpoint(self) -> None:
        self.now += self.others
        self.sent_by_turn.append(self.sent)


async def sent_at_a_turn(monkeypatch: pytest.MonkeyPatch, others: float) -> int:
    """Deliver to a thousand streams, and return to how many at a turn, at most."""
    machine = Machine(others)
    monkeypatch.setattr(delivery, "perf_counter", lambda: machine.now)
    monkeypatch.setattr(delivery, "trio", SimpleNamespace(lowlevel=machine))
    await deliver([([cast("Stream", machine)] * STREAMS, Comment(KEEP_ALIVE))])
    assert machine.sent == STREAMS
    return max(after - before for before, after in pairwise(machine.sent_by_turn))


async def test_where_others_do_little_a_turn_has_one_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await sent_at_a_turn(monkeypatch, others=A_SEND) == PORTION


@pytest.mark.parametrize(("others", "most"), [(MOST_SECONDS / 2, 100), (1.0, 200)])
async def test_where_others_take_long_deliveries_take_as_long_within_bounds(
    monkeypatch: pytest.MonkeyPatch, others: float, most: int
) -> None:
    assert most <= await sent_at_a_turn(monkeypatch, others) < most + PORTION
