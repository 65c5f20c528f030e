"""The race suite finds what is broken: each of these servers is, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from teamchat.accounts import acting
from teamchat.chat import images_table, permissions, posting
from teamchat.storage import cache
from teamchat.stream.rooms import Rooms
from teamchat.stream.stream import Stream
from tests.races.test_races import OPERATIONS, played
from tests.storages import sqlite_only

pytestmark = sqlite_only("the judge is the same on every storage, and games are quicker on this one")
MOST_GAMES = 200
Break = Callable[[pytest.MonkeyPatch], None]


async def _nothing(*_: Any) -> None:
    pass


def no_request_is_known_again(patch: pytest.MonkeyPatch) -> None:
    """A POST that is repeated makes another message."""
    patch.setattr(posting, "made_before", _nothing)
    patch.setattr(posting, "note", _nothing)


def everybody_edits_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(permissions, "check_may_edit", lambda *_: None)


def the_bytes_of_images_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(images_table, "doom_if_unused", _nothing)


def what_was_read_is_kept_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Pages and callers in memory do not follow the log."""
    patch.setattr(cache, "touched_by", lambda *_: ())


def who_was_removed_meanwhile_still_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(acting, "_acting_now", lambda: None)


def streams_tell_everything_to_everybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rooms, "sees", lambda *_: True)


def streams_forget_who_has_left(patch: pytest.MonkeyPatch) -> None:
    follow = Rooms.change

    def change(rooms: Rooms, changed: Any) -> None:
        follow(rooms, type(changed)(changed.room_id, changed.epoch, changed.is_private, changed.joined, ()))

    patch.setattr(Rooms, "change", change)


def _resuming(patch: pytest.MonkeyPatch, by: int) -> None:
    resume = Stream.resume_after
    patch.setattr(
        Stream,
        "resume_after",
        lambda stream, position: resume(stream, None if position is None else max(position + by, 0)),
    )


def a_stream_that_resumes_misses_an_event(patch: pytest.MonkeyPatch) -> None:
    _resuming(patch, 1)


def a_stream_that_resumes_repeats_an_event(patch: pytest.MonkeyPatch) -> None:
    _resuming(patch, -1)


BROKEN: list[Break] = [
    no_request_is_known_again,
    everybody_edits_everything,
    the_bytes_of_images_stay,
    what_was_read_is_kept_for_ever,
    who_was_removed_meanwhile_still_writes,
    streams_tell_everything_to_everybody,
    streams_forget_who_has_left,
    a_stream_that_resumes_misses_an_event,
    a_stream_that_resumes_repeats_an_event,
]


SLOW = {the_bytes_of_images_stay, who_was_removed_meanwhile_still_writes}
"""It takes many games to meet what these break."""


@pytest.mark.parametrize(
    "broken",
    [pytest.param(one, marks=pytest.mark.slow if one in SLOW else ()) for one in BROKEN],
    ids=lambda broken: broken.__name__,
)
def test_a_broken_server_is_found(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    for seed in range(1, MOST_GAMES):
        if played(seed, OPERATIONS)[0]:
            return
    pytest.fail(f"{MOST_GAMES} games went well with a server that is broken")
