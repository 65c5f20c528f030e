"""The limit of streams over several processes (decision D-37), here hubs on one storage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.cluster import Members
from teamchat.errors import StorageError
from teamchat.interfaces import Storage
from teamchat.settings import EventsSettings
from teamchat.stream import Hub, StreamRegistry
from teamchat.stream.registry import GATHER_SECONDS, MOST_AT_ONCE
from teamchat.stream.transport import Transport
from tests.storages import open_storage
from tests.stream.wire import caller, until

MOST = 3


class NoTransport:
    """A way to a client that takes everything."""

    chunked = False
    send_now = None

    def abort(self) -> None:
        """There is no connection."""

    finish = abort


class Failing:
    """A storage whose writes fail while it is told to."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.fails = False
        self.writes = 0
        self.meanwhile: Callable[[], object] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Any]:
        self.writes += 1
        if self.fails:
            raise StorageError("The storage is away.")
        async with self._storage.write() as tx:
            yield tx
            self.meanwhile()


class Process:
    """A hub with its registry, as one process has them."""

    def __init__(self, storage: Storage) -> None:
        self.storage = Failing(storage)
        self.members = Members(self.storage)
        self.registry = StreamRegistry(self.storage, self.members, MOST)
        self.hub = Hub(storage, EventsSettings(max_streams_per_user=MOST), registry=self.registry)

    async def begin(self, nursery: trio.Nursery) -> None:
        async with self.storage.write() as tx:
            await self.members.join_in(tx)
        await nursery.start(self.hub.run)

    async def open(self, user: str = "u") -> Any:
        transport: Transport = NoTransport()  # type: ignore[assignment]
        return await self.hub.open(caller(user), None, transport)


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Callable[[], Any]]:
    async with open_storage(tmp_path) as storage, trio.open_nursery() as nursery:

        async def begun() -> Process:
            process = Process(storage)
            await process.begin(nursery)
            return process

        yield begun
        nursery.cancel_scope.cancel()


async def counted(process: Process, user: str = "u") -> int:
    async with process.storage.read() as tx:
        [(count,)] = await tx.fetch("select count(*) from streams where user_id = $1", user)
    return int(count)


async def until_counted(process: Process, number: int, user: str = "u") -> None:
    with trio.fail_after(10):
        # Other hubs write the table: there is no event to wait for.
        while await counted(process, user) != number:  # noqa: ASYNC110
            await trio.sleep(0.02)


async def test_a_lone_process_writes_nothing(start: Any) -> None:
    alone = await start()
    writes = alone.storage.writes
    streams = [await alone.open() for _ in range(2 * MOST)]
    assert [stream.end_reason is None for stream in streams] == [False] * MOST + [True] * MOST
    alone.members.look_soon()
    await until(lambda: alone.storage.writes > writes)
    assert alone.storage.writes == writes + 1  # the beat
    assert await counted(alone) == 0


async def test_the_oldest_of_all_processes_makes_room(start: Any) -> None:
    a, b = await start(), await start()
    await until(lambda: a.members.others == b.members.others == 1)
    streams = []
    for process in (a, b, a, b, b):
        streams.append(await process.open())
        await until_counted(a, min(len(streams), MOST))
    await until(lambda: all(stream.end_reason is not None for stream in streams[:2]))
    assert [stream.end_reason for stream in streams] == ["displaced by a newer stream"] * 2 + [None] * 3


async def test_streams_from_before_the_second_process_came_count_too(start: Any) -> None:
    a = await start()
    old = [await a.open() for _ in range(MOST)]
    b = await start()
    await until_counted(b, MOST)
    await b.open()
    await until(lambda: old[0].end_reason is not None)
    assert [stream.end_reason for stream in old[1:]] == [None, None]


async def test_a_stream_that_ended_counts_no_longer(start: Any) -> None:
    a, b = await start(), await start()
    await until(lambda: a.members.others == 1)
    first, second = await a.open(), await b.open()
    await until_counted(a, 2)
    first.leave()
    await until_counted(a, 1)
    second.leave()
    await until_counted(a, 0)


async def test_many_streams_at_once_cost_few_transactions(start: Any) -> None:
    a, b = await start(), await start()
    await until(lambda: a.members.others == 1)
    writes, begun = a.storage.writes, trio.current_time()
    for number in range(2000):
        await a.open(f"user{number % 1000}")
    with trio.fail_after(10):
        while True:
            async with b.storage.read() as tx:
                if await tx.fetch("select count(*) from streams") == [(2000,)]:
                    break
            await trio.sleep(0.05)
    gathered = (trio.current_time() - begun) / GATHER_SECONDS
    beats = 2
    assert a.storage.writes - writes <= gathered + 2000 / MOST_AT_ONCE + beats


async def test_a_storage_that_is_away_for_a_while_hurts_no_stream(start: Any) -> None:
    a, b = await start(), await start()
    await until(lambda: a.members.others == 1)
    a.storage.fails = True
    writes = a.storage.writes
    streams = [await a.open() for _ in range(2)]
    await until(lambda: a.storage.writes > writes)
    streams.pop().leave()
    a.storage.fails = False
    await until_counted(b, 1)
    assert streams[0].end_reason is None


async def test_a_process_that_was_taken_for_dead_counts_again(start: Any) -> None:
    a, b = await start(), await start()
    await until(lambda: a.members.others == 1)
    await a.open()
    await until_counted(b, 1)
    async with b.storage.write() as tx:
        await tx.fetch("delete from members where id = $1", a.members.id)
    assert await counted(b) == 0
    await a.open("another")
    await until_counted(b, 1)
    await until_counted(b, 1, "another")


async def test_a_stream_that_ends_while_its_process_enters_again_counts_no_longer(start: Any) -> None:
    a, b = await start(), await start()
    await until(lambda: a.members.others == 1)
    async with b.storage.write() as tx:
        await tx.fetch("delete from members where id = $1", a.members.id)
    stream = await a.open()
    a.storage.meanwhile = stream.leave
    await until_counted(b, 1)
    await a.open("another")
    await until_counted(b, 1, "another")
    assert await counted(b) == 0


async def test_when_the_others_have_gone_the_table_is_empty(start: Any) -> None:
    a, b = await start(), await start()
    await until(lambda: a.members.others == 1)
    await a.open()
    await until_counted(a, 1)
    await b.members.leave()
    a.members.look_soon()
    await until_counted(a, 0)
