"""A server at work while its database is disturbed: backends are killed, the database is restarted.

``TEAMCHAT_TEST_KILLS`` and ``TEAMCHAT_TEST_RESTARTS`` say how often; with ``-s`` the figures are told.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psycopg
import pytest
import trio

from teamchat.testing import DEADLINE, Server, listening
from tests.harness import running
from tests.postgres import Postgres

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("TEAMCHAT_TEST_KILLS", "3"))
RESTARTS = int(os.environ.get("TEAMCHAT_TEST_RESTARTS", "1"))
WRITERS, PACE = 10, 0.1  # each writes so often, in seconds: a hundred writes a second
LISTENERS = 3
POOL_SIZE = 4
MOST_BACKENDS = POOL_SIZE + 4  # The writer's, the position's, the listener's, and one that cancels.
BACK_WITHIN = 5.0  # seconds
BACKENDS = "from pg_stat_activity where application_name = 'teamchat'"


@dataclass
class Run:
    """What was seen. Times are `time.monotonic`'s."""

    database: Postgres
    acknowledged: dict[str, str] = field(default_factory=dict)
    """The content of each message that was answered with 200, by its id."""
    acknowledged_at: list[float] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Messages that another connection did not find although they had been acknowledged."""
    statuses: Counter[int] = field(default_factory=Counter)
    most_backends: int = 0
    returns: list[float] = field(default_factory=list)
    resumed: int = 0
    is_over: bool = False

    async def grown(self, count: int) -> None:
        """Wait until so many more messages have been acknowledged."""
        enough = len(self.acknowledged) + count
        with trio.fail_after(DEADLINE):
            while len(self.acknowledged) < enough:  # noqa: ASYNC110
                await trio.sleep(0.01)

    async def _refused(self, count: int) -> None:
        """Wait until so many more requests have been refused."""
        enough = self.statuses[503] + count
        with trio.fail_after(DEADLINE):
            while self.statuses[503] < enough:  # noqa: ASYNC110
                await trio.sleep(0.01)

    async def write(self, client: httpx2.AsyncClient, address: str, writer: int) -> None:
        """Post at an even pace; repeat what failed, with its key, until it is answered."""
        turn = trio.current_time()
        for number in range(1_000_000):
            if self.is_over:
                return
            content = f"{writer}-{number}"
            while not await self._post(client, address, content):  # noqa: ASYNC110
                await trio.sleep(random.uniform(0.05, 0.15))
            turn = max(turn + PACE, trio.current_time() - 1)
            await trio.sleep_until(turn)

    async def _post(self, client: httpx2.AsyncClient, address: str, content: str) -> bool:
        headers = {"Idempotency-Key": content}
        answer = await client.post(address, json={"content": content}, headers=headers)
        self.statuses[answer.status_code] += 1
        if answer.status_code != 200:
            assert answer.status_code in {500, 503}, answer.text
            return False
        told = answer.json()["message"]["id"]
        self.acknowledged[told] = content
        self.acknowledged_at.append(time.monotonic())
        if random.random() < 0.1 and not await trio.to_thread.run_sync(self._is_there, told):
            self.missing.append(told)
        return True

    def _is_there(self, message: str) -> bool:
        """Ask the database itself, once it can be asked, whether it has what was acknowledged."""
        while True:
            with suppress(psycopg.OperationalError):
                return bool(self.database.query(f"select 1 from messages where id = '{message}'"))
            time.sleep(0.05)

    async def listen(
        self,
        client: httpx2.AsyncClient,
        seen: list[str],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Gather the content of every message announced until the last; resume when the stream ends."""
        position, is_first = "", True
        while True:
            with suppress(AssertionError, OSError, trio.BrokenResourceError):
                async with listening(client, last_event_id=position) as events:
                    if is_first:
                        task_status.started()
                    is_first = False
                    while True:
                        event = await events.next()
                        position = events.last_id or position
                        if event["type"] == "NEW_MESSAGE":
                            seen.append(event["payload"]["content"])
                            if seen[-1] == "last":
                                return
            self.resumed += 1
            await trio.sleep(0.1)

    async def disturb(self) -> None:
        """Kill every backend and restart the database, in turns that are mixed at random."""
        turns = ["kill"] * KILLS + ["restart"] * RESTARTS
        random.shuffle(turns)
        for number, turn in enumerate(turns):
            await self.grown(40)
            if turn == "kill":
                await trio.to_thread.run_sync(
                    self.database.run, f"select pg_terminate_backend(pid) {BACKENDS}"
                )
            else:
                how = (signal.SIGINT, signal.SIGQUIT)[number % 2]
                await trio.to_thread.run_sync(self.database.stop, how)
                await self._refused(WRITERS)
                await trio.to_thread.run_sync(self.database.start)
                back = time.monotonic()
                await self.grown(1)
                self.returns.append(next(at for at in self.acknowledged_at if at > back) - back)
            await self.grown(20)
            [(backends,)] = self.database.query(f"select count(*) {BACKENDS}")
            self.most_backends = max(self.most_backends, backends)


async def test_while_its_database_is_disturbed_a_server_loses_nothing_that_it_acknowledged(
    tmp_path: Path, until: Callable[[Callable[[], bool]], Awaitable[None]]
) -> None:
    database = Postgres()
    storage = {
        "backend": "postgres",
        "url": database.url(),
        "poolSize": POOL_SIZE,
        "connectSeconds": 1,
        "acquireSeconds": 5,
    }
    run, seen, start = Run(database), [[] for _ in range(LISTENERS)], time.monotonic()
    try:
        async with running(tmp_path, storage=storage) as server:
            await _under_load(server, run, seen)
            seconds = time.monotonic() - start
            await until(lambda: not database.query(f"select 1 {BACKENDS} and state <> 'idle'"))
            [(left,)] = database.query(f"select count(*) {BACKENDS}")
            stored = database.query("select content from messages")
            assert await server.end() == 0
    finally:
        database.remove()
    there = Counter(content for (content,) in stored)
    lost = set(run.acknowledged.values()) - set(there)
    print(
        f"\n{len(run.acknowledged)} messages acknowledged in {seconds:.0f} s",
        f"all backends killed {KILLS} times, the database restarted {RESTARTS} times",
        f"answers by status {dict(run.statuses)}",
        f"{len(lost)} lost, {len(run.missing)} not there at once, {sum(n > 1 for n in there.values())} twice",
        f"first success after a return in {', '.join(f'{took:.2f}' for took in run.returns)} s",
        f"{run.most_backends} backends at most, {left} in the end",
        f"streams resumed {run.resumed} times",
        sep="; ",
    )
    assert run.missing == []
    assert lost == set()
    assert set(there.values()) == {1}, "a message repeated with its key is stored once"
    assert max(run.returns, default=0) < BACK_WITHIN
    assert run.most_backends <= MOST_BACKENDS
    assert left <= MOST_BACKENDS
    for one in seen:
        assert Counter(one) == there
        assert one == seen[0]


async def _under_load(server: Server, run: Run, seen: list[list[str]]) -> None:
    clients = [await server.sign_in(f"writer{number}@example.org") for number in range(WRITERS)]
    [channel] = (await clients[0].get("/channels")).json()["channels"]
    address = f"/channels/{channel['id']}/messages"
    with trio.fail_after(30 + 10 * (KILLS + 2 * RESTARTS)):
        async with trio.open_nursery() as listeners:
            for client, one in zip(clients, seen, strict=False):
                await listeners.start(run.listen, client, one)
            async with trio.open_nursery() as writers:
                for number, client in enumerate(clients):
                    writers.start_soon(run.write, client, address, number)
                await run.disturb()
                run.is_over = True
            assert await run._post(clients[0], address, "last")
    for client in clients:
        await client.aclose()
