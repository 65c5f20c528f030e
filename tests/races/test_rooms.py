"""However people make rooms, come and go, close, open and archive them at the same time, it is as in turn.

Each seed is a game (`tests.races.rooms`): six people over HTTP at two workers post against removal, closing
and archiving, leave as the last managers, make the same group twice and add against leaving, while their
streams are cut (extensions B and C).  ``TEAMCHAT_ROOMS="first,count"`` chooses other seeds.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from tests.races.reading.site import Site, User, open_site
from tests.races.rooms.judge import judge
from tests.races.rooms.play import DEADLINE, Game

FIRST, COUNT = map(int, os.environ.get("TEAMCHAT_ROOMS", "1,40").split(","))
QUICK = 6
AT_ONE_SERVER = 20
REQUESTS = 160


async def played(site: Site, root: User, seed: int, most: int = REQUESTS) -> list[str]:
    """Play a game; return what is wrong with it."""
    game = Game(site, root, seed, most)
    with trio.fail_after(DEADLINE):
        await game.run()
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
async def test_rooms_are_as_if_everything_had_happened_in_turn(
    first: int, count: int, tmp_path: Path
) -> None:
    async with open_site(tmp_path / "site") as (site, root):
        for seed in range(first, first + count):
            wrong = await played(site, root, seed)
            assert not wrong, "\n".join([f"seed {seed}:", *wrong])
