"""A worker that the system stops while it holds the database's write lock: the others write again once it is
killed, what was acknowledged is stored once, and every stream gets every event once.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import apsw
import pytest
import trio

from teamchat.storage.sqlite import DATABASE_NAME
from teamchat.testing import DEADLINE
from tests.postgres import shared
from tests.storages import ONE_STORAGE, sqlite_only
from tests.test_resume import Reader, all_messages, post
from tests.workers.several import Several
from tests.workers.test_kills import SharedInstallation
from tests.workers.test_watchdog import IMPATIENT

WRITERS = 8
LOOKS = 50
HELD_SECONDS = 1.0
"""Who has the lock for so long does not run: a transaction takes milliseconds."""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("backend", [pytest.param("sqlite", marks=sqlite_only(ONE_STORAGE)), "postgres"])
async def test_a_worker_stopped_with_the_write_lock_keeps_the_others_from_writing_for_a_while_alone(
    tmp_path: Path, backend: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(IMPATIENT)
    storage = {"backend": backend, "path": str(tmp_path / "data")}
    database = ""
    if backend == "postgres":
        database = shared().new_database()
        storage |= {"url": shared().url(database)}
    installation = SharedInstallation(tmp_path, storage=storage)
    posted: list[str] = []
    with trio.fail_after(3 * DEADLINE):
        async with (
            installation.open() as server,
            await server.sign_in() as ada,
            trio.open_nursery() as nursery,
        ):
            assert isinstance(server, Several)
            path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"
            reader = Reader(installation, ada.headers["Authorization"].removeprefix("Bearer "))
            await nursery.start(reader.run)
            enough = trio.Event()

            async def write(writer: int) -> None:
                number = 0
                while not enough.is_set():
                    posted.append(await post(installation, ada, path, writer * 1_000_000 + number))
                    number += 1

            async with trio.open_nursery() as writers:
                for writer in range(WRITERS):
                    writers.start_soon(write, writer)
                stopped = await stopped_with_the_lock(server, tmp_path / "data", database)
                await server.replaced(stopped, server.workers() - {stopped})
                before = len(posted)
                while len(posted) < before + WRITERS:
                    await trio.lowlevel.checkpoint()
                enough.set()
            stored = await all_messages(ada, path)
            await reader.until(stored[-1])
            nursery.cancel_scope.cancel()
    assert sorted(stored) == sorted(posted)
    assert [event["payload"]["id"] for event in reader.events] == stored


async def stopped_with_the_lock(server: Several, data: Path, database: str) -> int:
    """Stop workers in turn for a moment, until one has the lock; leave that one stopped and return it."""
    for look in range(LOOKS):
        worker = sorted(server.workers())[look % 3]
        os.kill(worker, signal.SIGSTOP)
        if await (is_held_in_postgres(database) if database else is_held_in_sqlite(data)):
            return worker
        os.kill(worker, signal.SIGCONT)
        await server.answers()
    raise AssertionError("no worker was stopped while it had the lock")


async def is_held_in_sqlite(data: Path) -> bool:
    connection = apsw.Connection(str(data / DATABASE_NAME))
    try:
        with trio.move_on_after(HELD_SECONDS):
            while True:
                try:
                    connection.execute("begin immediate; rollback")
                except apsw.BusyError:
                    await trio.lowlevel.checkpoint()
                else:
                    return False
        return True
    finally:
        connection.close()


async def is_held_in_postgres(database: str) -> bool:
    """Whether some session stays within one transaction."""
    query = "select xact_start from pg_stat_activity where datname = current_database() and state <> 'active'"
    seen: set[object] | None = None
    with trio.move_on_after(HELD_SECONDS):
        while seen is None or seen:
            rows = await trio.to_thread.run_sync(shared().query, query, database)
            found = {start for (start,) in rows if start is not None}
            seen = found if seen is None else seen & found
    return bool(seen)
