"""F-2: operators, and the days that they name."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest

from teamchat import BadRequest
from teamchat.model import ids

_world = import_module("plugins.teamchat-search.tests.world")
World, opened = _world.World, _world.opened


async def test_f2_operators(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        other = await world.public("Two Words")
        bob = world.bob.user.user_name
        one = await world.say("needle https://example.org")
        two = await world.say("needle two", other, world.bob)
        await world.app.chat.reactions.add(world.eve, one, "👍")
        await world.indexing.catch_up()
        assert await world.find("needle from:me") == [one]
        assert await world.find(f'needle from:"@{bob}"') == [two]
        assert await world.find(f"needle from:{world.bob.user.id}") == [two]
        assert await world.find(f"from:me from:{world.bob.user.id}") == [two, one]
        assert await world.find("needle -from:me") == [two]
        assert await world.find('in:"#two words"') == [two]
        assert await world.find('needle -in:"#Two Words"') == [one]
        assert await world.find(f"in:{other} needle") == [two]
        assert await world.find("has:link") == [one]
        assert await world.find("has:reaction") == [one]
        assert await world.find("needle -has:reaction") == [two]
        assert await world.find("has:image") == []
        assert await world.find("has:link has:reaction -has:image") == [one]
        assert await world.find("https://example.org") == [one]
        assert await world.find("needle after:2020-01-01 before:2100-01-01") == [two, one]
        assert await world.find("needle before:2020-01-01") == []
        assert await world.find("needle -before:2020-01-01") == [two, one]
        assert await world.find("needle", author_id=world.ada.user.id) == [one]
        assert await world.find("needle", channel_id=other) == [two]
        assert await world.find("needle", channel_id="0" * 32) == []
        assert await world.find("needle", until=1000) == []
        assert await world.find("needle", since=1000) == [two, one]


async def test_f2_what_names_nothing_is_a_term(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        secret = await world.private("Hidden")
        said = [
            await world.say(text)
            for text in (
                "in:#Hidden x",
                "in:#Nowhere x",
                "from:@nobody-here",
                "has:wings",
                "on:2026-13-45",
                "is:pinned",
            )
        ]
        assert await world.find("in:#Hidden", world.eve) == [said[0]]
        assert await world.find("in:#Nowhere", world.eve) == [said[1]]
        assert await world.find(f"in:{secret}", world.eve) == []
        assert await world.find("from:@nobody-here") == [said[2]]
        assert await world.find("has:wings") == [said[3]]
        assert await world.find("on:2026-13-45") == [said[4]]
        assert await world.find("is:pinned") == [said[5]]
        assert await world.find("in:#Hidden", world.ada) == []


async def test_f2_days_are_those_of_the_time_zone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.say("needle")
        today = datetime.now(UTC).replace(hour=13, minute=33)
        async with world.app.storage.write() as tx:
            await tx.fetch("update messages set created_at = $1", int(today.timestamp() * 1000))
        yesterday, day, tomorrow = [str((today + timedelta(days)).date()) for days in (-1, 0, 1)]

        async def found(query: str, zone: str | None = None) -> bool:
            return await world.find(query, zone=zone) == [message]

        assert await found(f"on:{day}")
        assert not await found(f"before:{day}")
        assert not await found(f"after:{day}")
        assert await found(f"before:{tomorrow} after:{yesterday}")
        assert await found(f"on:{tomorrow}", "Pacific/Kiritimati")
        assert not await found(f"on:{day}", "Pacific/Kiritimati")
        assert await found(f"on:{yesterday} on:{day}")
        assert not await found(f"-on:{day}")
        with pytest.raises(BadRequest):
            await found(f"on:{day}", "Middle/Earth")


DAYS = [
    # A day of 23 hours and one of 25, one that has no midnight, and one that has two.
    ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00", 23),
    ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00", 25),
    ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00", 23),
    ("America/Havana", "2026-11-01", "2026-11-01T04:00", 25),
    ("Asia/Kathmandu", "2026-01-01", "2025-12-31T18:15", 24),
]


@pytest.mark.parametrize(("zone", "day", "begin", "hours"), DAYS)
async def test_f2_a_day_runs_from_its_midnight_to_the_next_wherever_clocks_are_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, day: str, begin: str, hours: int
) -> None:
    async with opened(tmp_path) as world:
        first = int(datetime.fromisoformat(f"{begin}:00+00:00").timestamp() * 1000)
        times = [first - 1, first, first + hours * 3_600_000 - 1, first + hours * 3_600_000]
        said = []
        monkeypatch.setattr(ids, "_last", 0)
        for at in times:
            monkeypatch.setattr(time, "time_ns", lambda at=at: at * 1_000_000)
            said.append(await world.say("needle"))
        monkeypatch.undo()
        for _ in range(2):
            assert await world.find(f"on:{day}", zone=zone) == [said[2], said[1]]
            assert await world.find(f"needle before:{day}", zone=zone) == [said[0]]
            assert await world.find(f"needle after:{day}", zone=zone) == [said[3]]
            assert await world.find(f"needle -on:{day}", zone=zone) == [said[3], said[0]]
            await world.indexing.catch_up()


@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize("days", [-30, 3, 400])
async def test_f2_a_message_is_of_the_day_it_was_posted_on_whatever_its_id_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, *, is_indexed: bool
) -> None:
    """A process goes on with ids of a clock that was ahead; others are brought in by an import."""
    async with opened(tmp_path) as world:
        now = time.time_ns() // 1_000_000
        places = [await world.public(f"Channel {number}") for number in range(3)]
        said = []
        for number, place in enumerate(places):
            begin = now + (days * 24 + number) * 3_600_000
            monkeypatch.setattr(ids, "_last", 0)
            monkeypatch.setattr(time, "time_ns", lambda begin=begin: begin * 1_000_000)
            monkeypatch.setattr("teamchat.chat.posting.now_ms", lambda: now)
            said.append(await world.say("needle adrift", place))
            monkeypatch.undo()
            if is_indexed and number == 0:
                await world.indexing.catch_up()
            elif is_indexed and number == 1:  # By its event, where the first was found among the messages.
                await world.indexing.step()
        other = await world.say("needle")
        day = datetime.fromtimestamp(now / 1000, UTC).date()
        all_of_them = sorted([*said, other], reverse=True)
        week, later = day - timedelta(7), day + timedelta(7)
        for _ in range(2):
            assert await world.find(f"on:{day}") == all_of_them
            assert await world.find(f"needle after:{week} before:{later}") == all_of_them
            assert await world.find(f"needle before:{later}") == all_of_them
            assert await world.find(f"needle after:{week}") == all_of_them
            assert await world.find(f"needle after:{later}") == []
            assert await world.find(f"needle before:{week}") == []
            await world.indexing.catch_up()
        await world.app.chat.messages.delete(world.ada, said[0])
        assert await world.find(f"on:{day}") == [one for one in all_of_them if one != said[0]]


@pytest.mark.parametrize("step", [-23 * 3_600_000, -60_000, 400 * 24 * 3_600_000])
async def test_f2_f3_what_was_said_after_the_clock_was_set_is_found_newest_first_and_by_its_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """It was set back by less than a day, which ids bridge, or ahead by a year."""
    async with opened(tmp_path) as world:
        before = await world.say("needle before")
        await world.indexing.catch_up()
        wall = time.time_ns() // 1_000_000 + step
        monkeypatch.setattr(ids, "_last", ids._last)  # What comes after this test is not a year ahead.
        monkeypatch.setattr(time, "time_ns", lambda: wall * 1_000_000)
        after = await world.say("needle after")
        day = datetime.fromtimestamp(wall / 1000, UTC).date()
        for _ in range(2):
            assert await world.find("needle") == [after, before]
            assert await world.find(f'"needle after" on:{day}') == [after]
            assert await world.find(f'"needle after" -before:{day} -after:{day}') == [after]
            await world.indexing.catch_up()
        monkeypatch.undo()
