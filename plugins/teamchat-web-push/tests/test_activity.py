"""J-4 with streams as the server knows them: a laptop that is used, left open, or closed, and a phone.

Time is Trio's, and passes where a test says so; what is due is due by the same clock.  The machine's own goes
on meanwhile, so times are asked with some seconds to spare.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio
from teamchat_web_push.judging import ACTIVE_MS
from teamchat_web_push.loopback import Browser
from teamchat_web_push.why import decisions
from trio.testing import MockClock

from teamchat.model import now_ms
from teamchat.stream.activity import ACTIVE_SECONDS
from tests.push_world import World, opened

HALF_A_MINUTE = ACTIVE_MS / 1000


class Desk:
    """Bob, with a laptop before him and a phone in his pocket."""

    def __init__(self, world: World, clock: MockClock, phone: Browser) -> None:
        self.world, self.phone = world, phone
        self._clock = clock
        self._laptop: float | None = None

    def uses_the_laptop(self) -> None:
        """Say that somebody sits there, as the client does once a minute."""
        self._laptop = trio.current_time() + ACTIVE_SECONDS
        self._tell()

    def leaves_it_open(self) -> None:
        self._laptop = trio.current_time()
        self._tell()

    def closes_it(self) -> None:
        self._laptop = None
        self._tell()

    def _tell(self) -> None:
        streams = [] if self._laptop is None else [self._laptop]
        self.world.app.hub.activity.now(self.world.bob.user.id, streams)

    def sits_still(self, seconds: float) -> None:
        """Let time pass before anything is posted: messages are dated by the machine's own clock."""
        self._clock.jump(seconds)

    async def passes(self, seconds: float) -> None:
        """Let time pass, and have what is due by then sent."""
        self._clock.jump(seconds)
        self.world.ahead += round(1000 * seconds)
        await self.world.go()

    async def why(self, message_id: str) -> list[tuple[str, str]]:
        notices = self.world.app.notices
        assert notices is not None
        found = await decisions(self.world.app, notices, self.world.bob, message_id)
        return [(one.outcome, one.reason) for one in found]

    @property
    def pushed(self) -> list[str]:
        return [one["messageId"] for one in self.phone.payloads]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(tmp_path) as world:
        phone, _ = await world.subscribe(world.bob, deviceName="Phone")
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock), "the test asks for no mock_clock"
        clock.rate = 0.1  # Pushes pause for moments.
        yield Desk(world, clock, phone)


async def test_a_mention_reaches_the_phone_once_where_nobody_is_at_the_laptop(
    desk: Desk, mock_clock: MockClock
) -> None:
    message = await desk.world.post("@bob look")
    for seconds in (0, 1, 30, 600):
        await desk.passes(seconds)
        assert desk.pushed == [message]
    assert await desk.why(message) == [("sent", "mention")]


async def test_while_one_types_on_the_laptop_the_phone_is_silent_and_hears_of_nothing_that_was_read(
    desk: Desk, mock_clock: MockClock
) -> None:
    desk.uses_the_laptop()
    message = await desk.world.post("@bob look")
    await desk.passes(0)
    assert await desk.why(message) == [("waiting", "active")]
    await desk.passes(HALF_A_MINUTE - 10)
    assert desk.pushed == []
    await desk.world.read(desk.world.bob, message)
    await desk.passes(11)
    assert desk.pushed == []
    assert await desk.why(message) == [("skipped", "read")]


async def test_a_laptop_that_was_left_open_delays_a_push_by_half_a_minute_and_swallows_none(
    desk: Desk, mock_clock: MockClock
) -> None:
    desk.uses_the_laptop()
    message = await desk.world.post("@bob look")
    await desk.passes(0)
    for seconds in (1, HALF_A_MINUTE - 11):
        await desk.passes(seconds)
        assert desk.pushed == []
        assert await desk.why(message) == [("waiting", "active")]
    desk.uses_the_laptop()  # A hand on the mouse, and no look at that channel.
    await desk.passes(11)
    assert desk.pushed == [message]
    assert await desk.why(message) == [("sent", "mention")]


async def test_a_laptop_that_is_open_and_idle_delays_nothing(desk: Desk, mock_clock: MockClock) -> None:
    desk.uses_the_laptop()
    desk.leaves_it_open()
    message = await desk.world.post("@bob look")
    await desk.passes(0)
    assert desk.pushed == [message]
    assert await desk.why(message) == [("sent", "mention")]


async def test_who_says_nothing_for_90_seconds_counts_as_away_from_the_laptop(
    desk: Desk, mock_clock: MockClock
) -> None:
    desk.uses_the_laptop()
    desk.sits_still(ACTIVE_SECONDS - 1)
    first = await desk.world.post("@bob still there?")
    await desk.passes(0)
    assert await desk.why(first) == [("waiting", "active")]
    await desk.passes(2)
    second = await desk.world.direct("and now?")
    await desk.passes(0)
    assert desk.pushed == [second], await desk.why(second)
    await desk.passes(HALF_A_MINUTE)
    assert desk.pushed == [second, first]


async def test_at_here_reaches_who_was_active_within_five_minutes_and_has_the_chat_open(
    desk: Desk, mock_clock: MockClock
) -> None:
    desk.uses_the_laptop()
    desk.leaves_it_open()
    desk.sits_still(299)
    message = await desk.world.post("@here who has the keys?")
    await desk.passes(0)
    assert desk.pushed == [message]
    desk.sits_still(2)
    later = await desk.world.post("@here found them")
    await desk.passes(3)
    assert desk.pushed == [message]
    assert await desk.why(later) == [("skipped", "here")]


async def test_whom_at_here_reached_is_told_also_when_quiet_hours_have_held_it(
    desk: Desk, mock_clock: MockClock
) -> None:
    desk.uses_the_laptop()
    await desk.world.choose(desk.world.bob, pausedUntil=now_ms() + 3_600_000)
    message = await desk.world.post("@here who has the keys?")
    await desk.passes(0)
    assert await desk.why(message) == [("waiting", "quiet")]
    desk.closes_it()
    await desk.passes(3601)
    assert desk.pushed == [message]


async def test_a_laptop_that_is_closed_lets_go_what_waited_when_its_time_has_come(
    desk: Desk, mock_clock: MockClock
) -> None:
    desk.uses_the_laptop()
    message = await desk.world.post("@bob look")
    await desk.passes(0)
    desk.closes_it()
    await desk.passes(HALF_A_MINUTE + 0.1)
    assert desk.pushed == [message]


async def test_what_is_read_on_another_device_before_it_is_sent_is_not_pushed(
    desk: Desk, mock_clock: MockClock
) -> None:
    message = await desk.world.post("@bob look")
    await desk.world.hear()
    await desk.world.read(desk.world.bob, message)
    await desk.passes(0)
    assert desk.pushed == []
    assert await desk.why(message) == [("skipped", "read")]


async def test_what_notifies_nobody_is_explained_too(desk: Desk, mock_clock: MockClock) -> None:
    quiet = await desk.world.post("nothing for anybody")
    own = await desk.world.post("of my own", by=desk.world.bob)
    await desk.passes(0)
    assert desk.pushed == []
    assert await desk.why(quiet) == [("none", "level")]
    assert await desk.why(own) == [("none", "own")]
