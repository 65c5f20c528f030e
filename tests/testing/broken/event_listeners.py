"""Listeners to what happens with one thing wrong."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from teamchat import EventListener, LoggedEvent
from teamchat.application import Application
from teamchat.testing import EventListenerContract
from tests.testing.faults import found_by

_numbers = itertools.count()


class Right:
    """`teamchat.EventListener`. What is wrong is in the subclasses."""

    name = "right"

    def __init__(self) -> None:
        self.heard: set[int] = set()
        self.is_busy = False

    async def hear(self, event: LoggedEvent) -> None:
        await trio.lowlevel.checkpoint()


class Contract(EventListenerContract):
    listener: type[Any]

    @asynccontextmanager
    async def open_listener(self, app: Application) -> AsyncIterator[EventListener]:
        yield self.listener()


@found_by(test_it_has_a_name_that_stays_the_same="how far it has come is kept under its name")
class TestChangesItsName(Contract):
    class listener(Right):  # noqa: N801
        def __init__(self) -> None:
            super().__init__()
            self.name = f"listener {next(_numbers)}"


HEARS_ALL = "test_it_hears_an_event_of_every_type_one_it_does_not_know_too"


@found_by(**{HEARS_ALL: "the listener fails at NEW_IN_A_LATER_VERSION"})
class TestKnowsTodaysTypesAlone(Contract):
    class listener(Right):  # noqa: N801
        async def hear(self, event: LoggedEvent) -> None:
            if "LATER" in event.type:
                raise ValueError(event.type)


@found_by(**{HEARS_ALL: "the listener fails at DELETE_CHANNEL"})
class TestExpectsContent(Contract):
    class listener(Right):  # noqa: N801
        async def hear(self, event: LoggedEvent) -> None:
            payload = json.loads(event.payload)
            if event.type.endswith("_CHANNEL") and event.seq == 6:
                payload["content"]


@found_by(**{HEARS_ALL: "the listener takes more than 1.5 seconds for NEW_USER"})
class TestTakesItsTime(Contract):
    class listener(Right):  # noqa: N801
        async def hear(self, event: LoggedEvent) -> None:
            if event.type == "NEW_USER":
                await trio.sleep_forever()


@found_by(test_an_event_may_come_again="fails at NEW_MESSAGE a second time, as after a crash")
class TestHearsOnce(Contract):
    class listener(Right):  # noqa: N801
        async def hear(self, event: LoggedEvent) -> None:
            await trio.lowlevel.checkpoint()
            if event.seq in self.heard:
                raise ValueError("I have heard that")
            self.heard.add(event.seq)


@found_by(test_it_can_be_stopped_while_it_hears="after it was stopped while it heard it")
class TestStaysBusy(Contract):
    class listener(Right):  # noqa: N801
        async def hear(self, event: LoggedEvent) -> None:
            while self.is_busy:  # noqa: ASYNC110
                await trio.sleep(0.01)
            self.is_busy = True
            await trio.lowlevel.checkpoint()
            self.is_busy = False


@found_by(test_it_goes_on_after_it_missed_something="missed() fails")
class TestStumblesOverWhatItMissed(Contract):
    class listener(Right):  # noqa: N801
        async def missed(self, first: int, last: int) -> None:
            raise ValueError(last - first)


@found_by(test_it_goes_on_after_it_missed_something="missed() takes more than 1.5 seconds")
class TestIsLostWithoutWhatItMissed(Contract):
    class listener(Right):  # noqa: N801
        async def missed(self, first: int, last: int) -> None:
            await trio.sleep_forever()


@found_by(test_it_goes_on_after_it_missed_something="fails at NEW_MESSAGE after some that it missed")
class TestExpectsEveryNumber(Contract):
    class listener(Right):  # noqa: N801
        async def hear(self, event: LoggedEvent) -> None:
            await trio.lowlevel.checkpoint()
            if event.seq > max(self.heard, default=0) + 1:
                raise ValueError("something is missing")
            self.heard.add(event.seq)
