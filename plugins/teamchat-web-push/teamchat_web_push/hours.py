"""When a user wants no notices: while paused, and in quiet hours (extension J-4)."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from teamchat import QuietTimes

_NONE = QuietTimes()
_DAYS = 8
"""After so many days every pattern of a week has come again."""
_LAST_MS = 253_370_764_800_000
"""The year 9999 begins, with which calendars end; who pauses for longer has no quiet hours after that."""


def quiet_until(times: QuietTimes | None, now: int) -> int | None:
    """Return when the quiet ends that a time is in, or None if it is in none; epoch milliseconds."""
    times = times or _NONE
    until = None
    for _ in range(_DAYS):
        at = now if until is None else until
        paused = times.paused_until if times.paused_until is not None and times.paused_until > at else None
        later = max(filter(None, (paused, _end_of_hours(times, at))), default=None)
        if later is None:
            break
        until = later  # Another quiet time may begin where this one ends.
    return until


def _end_of_hours(times: QuietTimes, now: int) -> int | None:
    """Return when the quiet hours end that a time is in; those past midnight are of the day they begin on."""
    if times.hours is None or now >= _LAST_MS:
        return None
    zone_name, days, start, end = times.hours
    try:
        zone = ZoneInfo(zone_name)
    except (KeyError, ValueError, OSError):  # This machine has lost the zone: then there are none.
        return None
    local = datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)
    begins, ends = time.fromisoformat(start), time.fromisoformat(end)
    for day in (local.date() - timedelta(days=1), local.date()):
        if day.isoweekday() not in days:
            continue
        last = day if begins < ends else day + timedelta(days=1)
        first_moment, last_moment = (
            int(datetime.combine(date, clock, zone).timestamp() * 1000)
            for date, clock in ((day, begins), (last, ends))
        )
        if first_moment <= now < last_moment:
            return last_moment
    return None
