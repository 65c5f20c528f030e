"""How a target is talked to over a real connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import trio
from teamchat_outgoing_webhooks import Target
from teamchat_outgoing_webhooks import sender as module
from teamchat_outgoing_webhooks.sender import Sender

SECRET = "a secret of the two"


@pytest.fixture
async def sender(tracker) -> AsyncIterator[Sender]:
    async with aclosing(Sender(Target(name="tracker", url=tracker.url, secret=SECRET))) as opened:
        yield opened


async def test_events_that_follow_each_other_take_one_connection_and_bring_back_no_cookie(
    sender: Sender, tracker
) -> None:
    for number in range(3):
        assert await sender.send(str(number), b"{}") is None
    assert tracker.connections == 1
    assert not [sent for sent in tracker.headers if b"cookie" in sent]


async def test_a_long_answer_costs_its_connection_and_not_the_event(sender: Sender, tracker) -> None:
    tracker.answer = bytes(module.REST_BYTES + 1)
    for number in range(2):
        assert await sender.send(str(number), b"{}") is None
    assert tracker.connections == 2


async def test_an_answer_may_take_as_long_as_is_written(
    sender: Sender, tracker, autojump_clock: trio.testing.MockClock
) -> None:
    autojump_clock.autojump_threshold = 0.2  # The sockets are real, and take real time.
    tracker.pause = module.ANSWER_SECONDS - 1
    assert await sender.send("1", b"{}") is None
    tracker.pause = module.ANSWER_SECONDS + 1
    assert await sender.send("2", b"{}") == "no answer"
