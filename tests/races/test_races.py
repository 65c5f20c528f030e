"""Whatever people do at the same time comes out as if they had done it one after the other.

Each seed is a game: five people post, edit, delete, react, upload, are let into a private channel and put out
of it, and are removed, at one server or two on one database, while their streams are cut.  What comes of it
is held to a plain model (`tests.races.judge`).  ``TEAMCHAT_RACES="first,count"`` chooses other seeds.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio

from tests.races.judge import history, judge
from tests.races.play import play

FIRST, COUNT = map(int, os.environ.get("TEAMCHAT_RACES", "1,48").split(","))
AT_ONCE = 8
OPERATIONS = 40


def played(seed: int, most: int) -> tuple[list[str], str]:
    """Play a game; return what is wrong with it, and its history."""
    with TemporaryDirectory() as directory:
        game, wrong = trio.run(lambda: play(Path(directory), seed, judge, most=most))
    return wrong, history(game)


def shortest(seed: int) -> str:
    """Return the report on the shortest game of a seed that goes wrong still."""
    report = ""
    for most in range(OPERATIONS, 2, -4):
        for _ in range(3):
            wrong, history = played(seed, most)
            if wrong:
                report = "\n".join([f"seed {seed}, {most} operations:", *wrong[:5], history])
                break
    return report


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, AT_ONCE))
def test_what_happens_at_once_comes_out_as_if_it_had_happened_in_turn(first: int) -> None:
    for seed in range(first, min(first + AT_ONCE, FIRST + COUNT)):
        wrong, told = played(seed, OPERATIONS)
        assert not wrong, shortest(seed) or "\n".join([f"seed {seed}, this once:", *wrong[:5], told])
