"""The games of read states find what is broken: each of these servers is, in one place.

Every sixth is asked for by `make test-all`, all with ``TEAMCHAT_FAULTS=all``: each takes some games.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.races.reading.faults import FAULTS
from tests.races.reading.site import Site, User, open_site
from tests.races.test_reading import played
from tests.storages import sqlite_only

pytestmark = [
    pytest.mark.slow,
    sqlite_only("the judge is the same on every storage, and games are quicker on this one"),
]
ROOT = Path(__file__).parents[2]
MOST_GAMES = 100
CHOSEN = FAULTS if os.environ.get("TEAMCHAT_FAULTS") == "all" else FAULTS[::6]


@pytest.mark.parametrize("fault", CHOSEN, ids=lambda fault: fault.__name__)
async def test_a_broken_server_is_found(
    fault: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    async with open_site(tmp_path / "site", fault) as (site, root):
        for seed in range(1, MOST_GAMES):
            if await _is_found(site, root, seed):
                return
    pytest.fail(f"{MOST_GAMES} games went well with a server that is broken")


async def _is_found(site: Site, root: User, seed: int) -> bool:
    """Play a game; return whether anything is wrong with it, or it came to an answer that says that it is."""
    is_wrong = False
    try:
        is_wrong = bool(await played(site, root, seed))
    except* AssertionError:
        is_wrong = True
    return is_wrong
