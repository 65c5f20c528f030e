"""J-4: quiet hours, in the time zone of whoever chose them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from teamchat_web_push.hours import quiet_until

from teamchat import QuietTimes

BERLIN = ZoneInfo("Europe/Berlin")
EVERY_DAY = [1, 2, 3, 4, 5, 6, 7]


def at(text: str, zone: tzinfo = BERLIN) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def times(start: str, end: str, days: list[int] = EVERY_DAY, paused: int | None = None) -> QuietTimes:
    return QuietTimes(("Europe/Berlin", days, start, end), paused)


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-11-23T21:59", None),
        ("2026-11-23T22:00", "2026-11-24T06:30"),
        ("2026-11-24T06:29", "2026-11-24T06:30"),
        ("2026-11-24T06:30", None),
    ],
)
def test_quiet_hours_that_pass_midnight(now: str, until: str | None) -> None:
    assert quiet_until(times("22:00", "06:30"), at(now)) == (until and at(until))


def test_they_belong_to_the_day_they_begin_on() -> None:
    friday = times("22:00", "06:00", [5])
    assert quiet_until(friday, at("2026-11-28T05:00")) == at("2026-11-28T06:00")  # a Saturday
    assert quiet_until(friday, at("2026-11-27T05:00")) is None
    assert quiet_until(friday, at("2026-11-28T23:00")) is None


def test_the_night_in_which_the_clocks_change_is_an_hour_longer() -> None:
    begin = at("2026-10-24T22:00")
    until = quiet_until(times("22:00", "06:00"), begin)
    assert until is not None
    assert until - begin == 9 * 3_600_000


def test_a_pause_within_quiet_hours_lasts_as_long_as_both() -> None:
    now = at("2026-11-23T20:00")
    paused = times("22:00", "06:00", paused=at("2026-11-23T23:00"))
    assert quiet_until(paused, now) == at("2026-11-24T06:00")
    assert quiet_until(QuietTimes(paused_until=now + 1), now) == now + 1
    assert quiet_until(QuietTimes(paused_until=now), now) is None
    assert quiet_until(None, now) is None


@pytest.mark.parametrize("paused", [2**53 - 1, at("9999-12-31T23:00", UTC), at("9999-01-01T00:00", UTC) - 1])
def test_who_pauses_until_calendars_end_has_a_pause_all_the_same(paused: int) -> None:
    until = quiet_until(times("22:00", "06:00", paused=paused), at("2026-11-23T20:00"))
    assert until is not None
    assert paused <= until <= paused + 8 * 3_600_000


def test_a_zone_that_the_machine_has_lost_makes_no_hours() -> None:
    assert quiet_until(QuietTimes(("Europe/Atlantis", EVERY_DAY, "00:00", "23:59")), 0) is None


@given(
    now=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),
    start=st.times(),
    end=st.times(),
    days=st.lists(st.sampled_from(EVERY_DAY), min_size=1, unique=True),
)
def test_it_is_quiet_until_a_moment_that_is_not_quiet_any_more(now, start, end, days) -> None:
    clock = [f"{one.hour:02}:{one.minute:02}" for one in (start, end)]
    if clock[0] == clock[1]:
        return
    moment = int(now.replace(tzinfo=UTC).timestamp() * 1000)
    quiet = times(*clock, days)
    until = quiet_until(quiet, moment)
    if until is not None:
        assert moment < until <= moment + int(timedelta(days=9).total_seconds() * 1000)
        assert quiet_until(quiet, until - 1) is not None
        assert quiet_until(quiet, until) is None or len(days) > 1
