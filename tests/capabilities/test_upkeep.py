"""What capabilities have done every hour, and what `teamchat check` asks of their tables."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from teamchat import Capability, Check, Migration, Parts
from teamchat.operations.checking.database import check_database
from teamchat.operations.checking.findings import Finding, Level
from teamchat.server.maintenance import HOUSEKEEPING_SECONDS, Sweeper
from teamchat.settings import PluginsSettings
from tests.capabilities.serving import plugins_with, served
from tests.storages import sqlite_only

GAMES = Capability(
    name="games",
    tables=[Migration(1, ("create table games (id text primary key, players {int} not null){table_end}",))],
    checks=[Check("games", "each has players", "select count(*) from games where players = 0", "Join one.")],
)


@sqlite_only("a database elsewhere answers while the clock jumps")
async def test_jobs_run_every_hour_and_one_that_fails_is_run_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    runs: list[float] = []

    async def job() -> None:
        runs.append(trio.current_time())
        if len(runs) == 3:
            done.set()
        raise ValueError("it fails")

    done = trio.Event()
    games = Capability(name="games", parts=lambda app, options: Parts(jobs=[job]))
    async with served(tmp_path, games) as here, trio.open_nursery() as nursery:
        await nursery.start(Sweeper(here.app).run)
        await done.wait()
        nursery.cancel_scope.cancel()
    assert len(runs) == 3
    assert all(later - earlier >= HOUSEKEEPING_SECONDS for earlier, later in pairwise(runs))


@pytest.mark.parametrize(("players", "level"), [(2, Level.OK), (0, Level.PROBLEM)])
async def test_checks_are_asked_of_tables_that_are_there(tmp_path: Path, players: int, level: Level) -> None:
    wanted = plugins_with(GAMES).capabilities(PluginsSettings()).tables
    found: list[Finding] = []
    async with served(tmp_path) as here:
        await check_database(here.app.storage, "", found.append, wanted)
    assert not [finding for finding in found if finding.subject == "games"]
    async with served(tmp_path, GAMES) as here:
        async with here.app.storage.write() as tx:
            await tx.fetch("insert into games (id, players) values ('chess', $1)", players)
        await check_database(here.app.storage, "", found.append, wanted)
    [finding] = [finding for finding in found if finding.subject == "games"]
    assert finding.level is level
    assert "each has players" in finding.sentence
