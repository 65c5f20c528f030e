"""The end of the log in memory: complete, in order, and bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from teamchat.events import LoggedEvent
from teamchat.stream.recent import PORTION_BYTES, Recent, portion
from teamchat.stream.sse import Frame


def frame(position: int, size: int = 10) -> Frame:
    return Frame(LoggedEvent(position, "SAID", "x" * size, None))


def all_after(recent: Recent, position: int) -> list[int] | None:
    """Read on from `position`, portion by portion, as a resuming stream does."""
    found: list[int] = []
    while position < recent.last:
        part = recent.after(position)
        if part is None:
            return None
        frames, position = part
        found += [each.position for each in frames]
    return found


BATCHES = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 3), st.integers(0, 2000)), max_size=20)


@given(BATCHES, st.integers(0, 50), st.integers(1000, 100_000))
def test_it_holds_everything_after_its_floor_within_its_bounds(
    batches: list[tuple[int, int, int]], most_events: int, most_bytes: int
) -> None:
    recent, position, given_out = Recent(most_events, most_bytes), 5, []
    recent.begin(position)
    for count, internal, size in batches:
        frames = [frame(position + number, size) for number in range(1, count + 1)]
        position += count + internal  # numbers of internal events have no frame
        recent.extend(frames, position)
        given_out += [each.position for each in frames]
        assert len(recent._frames) <= most_events + most_events // 8
        assert recent._bytes == sum(2 * len(each.plain) + 400 for each in recent._frames)
        assert recent._bytes <= most_bytes
    for start in range(5, position + 1):
        expected = [number for number in given_out if number > start]
        assert all_after(recent, start) == (expected if start >= recent.floor else None) or start == position


@given(st.lists(st.integers(0, 100_000), max_size=30), st.integers(0, 40))
def test_portions_join_to_the_whole_and_each_is_bounded(sizes: list[int], after: int) -> None:
    frames = [frame(number, size) for number, size in enumerate(sizes, 1)]
    reaches, found = len(frames) + 3, []
    position = after
    while position < reaches:
        part, further = portion(frames, position, reaches)
        assert further > position
        assert sum(len(each.plain) for each in part[:-1]) < PORTION_BYTES
        found += [each.position for each in part]
        position = further
    assert found == list(range(after + 1, len(frames) + 1))


@given(st.integers(0, 30), st.integers(0, 40))
def test_what_the_log_has_dropped_is_dropped(count: int, first: int) -> None:
    recent = Recent()
    recent.begin(0)
    recent.extend([frame(number) for number in range(1, count + 1)], count)
    recent.forget_before(first)
    assert recent.floor == min(max(first - 1, 0), count)
    assert [each.position for each in recent._frames] == list(range(max(first, 1), count + 1))
    if recent.floor:
        assert recent.after(recent.floor - 1) is None
