"""However people post, delete, read and come and go at the same time, all counts are exact (extension D).

Each seed is a game (`tests.races.reading`): four people and an admin on two devices each, over HTTP at two
workers, their streams cut anywhere.  Whatever was told of a read state at any moment must be what a plain
model says, in some order that is possible; and at rest every device that kept its counts by the stream
(D-11) must agree.  ``TEAMCHAT_READING="first,count"`` chooses other seeds.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from tests.races.reading.game import Game
from tests.races.reading.play import DEADLINE, play
from tests.races.reading.site import Site, User, open_site
from tests.races.reading.verdict import judge

FIRST, COUNT = map(int, os.environ.get("TEAMCHAT_READING", "1,40").split(","))
QUICK = 6
AT_ONE_SERVER = 20
ACTIONS = 160


async def played(site: Site, root: User, seed: int, most: int = ACTIONS) -> list[str]:
    """Play a game; return what is wrong with it."""
    game = Game(site, root, seed, most)
    with trio.fail_after(DEADLINE):
        await play(game)
        return await judge(game)


def _portions() -> list[object]:
    """Return the seeds, by the first and the number of those that one server plays; few are for every day."""
    quick = min(QUICK, COUNT)
    portions: list[object] = [pytest.param(FIRST, quick)]
    for first in range(FIRST + quick, FIRST + COUNT, AT_ONE_SERVER):
        count = min(AT_ONE_SERVER, FIRST + COUNT - first)
        portions.append(pytest.param(first, count, marks=pytest.mark.slow))
    return portions


@pytest.mark.slow
@pytest.mark.parametrize(("first", "count"), _portions())
async def test_all_counts_are_exact_whatever_happens_at_once(first: int, count: int, tmp_path: Path) -> None:
    async with open_site(tmp_path / "site") as (site, root):
        for seed in range(first, first + count):
            wrong = await played(site, root, seed)
            assert not wrong, "\n".join([f"seed {seed}:", *wrong])
