"""I-2: what streams and choices make of somebody for others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from teamchat_presence.statuses import (
    Choice,
    Shown,
    last_seen,
    shown,
    status_of,
    turns_at,
)

from teamchat import Seen
from teamchat.interfaces.activity import OFFLINE_SECONDS, ONLINE_SECONDS

NEVER = float("-inf")
times = st.floats(min_value=-2000, max_value=2000, allow_nan=False)
seens = st.builds(Seen, st.booleans(), times | st.just(NEVER), times | st.just(NEVER))


def test_one_is_online_while_a_stream_is_active_and_for_five_minutes_after() -> None:
    seen = Seen(True, active_until=100)
    assert [status_of(seen, now) for now in (0, 100, 399, 400, 9999)] == ["online"] * 3 + ["away"] * 2


def test_one_is_away_whose_streams_never_said_that_they_are_active() -> None:
    assert status_of(Seen(True), 0) == "away"


def test_one_is_offline_a_minute_after_the_last_stream_ended() -> None:
    left = Seen(False, active_until=90, left_at=100)
    assert [status_of(left, now) for now in (100, 159, 160)] == ["online", "online", "offline"]
    assert status_of(Seen(False, left_at=100), 130) == "away"
    assert status_of(Seen(), 0) == "offline"


@given(seens, times)
def test_a_status_changes_by_itself_at_the_time_that_is_told_and_not_before(seen: Seen, now: float) -> None:
    turn = turns_at(seen, now)
    before = status_of(seen, now)
    if turn is None:
        assert status_of(seen, now + 10 * (ONLINE_SECONDS + OFFLINE_SECONDS)) == before
    else:
        assert turn > now
        assert status_of(seen, now + (turn - now) / 2) == before


def test_who_hides_is_offline_for_others_whatever_they_do() -> None:
    hidden = [Choice("offline"), Choice(shares_presence=False), Choice("away", False, paused_until=2000)]
    assert {shown("online", choice, 1000) for choice in hidden} == {Shown("offline", False)}
    assert not any(choice.may_be_seen_typing for choice in hidden)
    assert Choice().may_be_seen_typing
    assert not Choice(shares_typing=False).may_be_seen_typing


def test_a_pause_is_told_beside_the_status_until_it_ends() -> None:
    paused = Choice(paused_until=1001)
    assert shown("online", paused, 1000) == Shown("online", True)
    assert shown("away", paused, 1001) == Shown("away", False)


def test_who_chose_to_be_away_is_never_online() -> None:
    statuses = [shown(one, Choice("away"), 0).status for one in ("online", "away", "offline")]
    assert statuses == ["away", "away", "offline"]


@given(seens, times, st.none() | st.integers(0, 10**12))
def test_when_one_was_seen_is_a_whole_minute_of_the_past(seen: Seen, now: float, kept: int | None) -> None:
    time = 10**12
    last = last_seen(seen, now, time, kept)
    if last is None:
        assert kept is None
    else:
        assert last % 60_000 == 0
        if seen.left_at <= now:
            assert last <= time
        assert kept is None or last >= kept // 60_000 * 60_000
