"""How far one ordered log and NOTIFY go: servers that follow the log of one PostgreSQL.

Each server is a storage that follows the log, as the stream hub does; one of them writes.  All stand in one
process, so the rates are those of one core, and its processor time is shared out: "CPU µs an event and
server" is what the process took beyond the same writes without followers, over events and servers.
"events/s" counts until the last server has seen the last event, written as fast as they are committed by
tasks that write one event each and share commits; "behind at most" tells how many events the last server
lacked when a commit returned.  "median" and "p99" are the milliseconds from the beginning of a write to the
moment in which the last server has its event, at an even pace.  "idle" is one server for a second with
nothing to tell, in which it asks once: processor time here and in the database.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import cast

import trio
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres

from benchmarks.report import Report, Row, medians, middle, ms, percentile
from benchmarks.sizes import Sizes
from teamchat import Event, LoggedEvent
from tests.postgres import DURABLE, Postgres

SERVERS = (1, 4, 16)
WRITERS = 50
_PAYLOAD = '{"content":"' + "x" * 200 + '"}'


class Followers:
    """Servers on one database, and how far each has come."""

    def __init__(self, storages: list[PostgresStorage], last: int, are_following: bool) -> None:
        self.storages = storages
        self.are_following = are_following
        self.seen = [last] * len(storages)
        self._moved = trio.Event()

    async def follow(self, number: int) -> None:
        """Follow the log as one of the servers."""
        batches = cast(
            "AsyncGenerator[Sequence[LoggedEvent], None]", self.storages[number].follow(self.seen[number])
        )
        async with aclosing(batches) as log:
            async for events in log:
                self.seen[number] = events[-1].seq
                self._moved.set()
                self._moved = trio.Event()

    async def reach(self, seq: int) -> None:
        """Wait until all have seen the event of this number."""
        while min(self.seen) < seq:
            await self._moved.wait()

    async def write(self) -> None:
        """Commit one event at the first server."""
        async with self.storages[0].write() as tx:
            await tx.append(Event("BENCH", _PAYLOAD))


def run(sizes: Sizes) -> Report:
    """Measure each number of servers in each round; tell medians."""
    database = Postgres(settings=DURABLE)
    series: dict[str, list[Row]] = {}
    try:
        for _ in range(sizes.rounds):
            alone = trio.run(_alone, database, sizes)
            for count in SERVERS:
                row = trio.run(_measured, database, count, alone, sizes)
                series.setdefault(f"{count} servers" if count > 1 else "1 server", []).append(row)
    finally:
        database.remove()
    report = Report(
        f"The log: servers that follow it, {WRITERS} tasks that write, {sizes.rate:g}/s at a pace"
    )
    report.rows |= {name: medians(rows) for name, rows in series.items()}
    return report


async def _alone(database: Postgres, sizes: Sizes) -> float:
    """Return the processor time of one event's writing while nobody follows."""
    async with _servers(database, 1, following=False) as followers:
        count, cpu, _ = await _flood(followers, sizes.seconds)
        return cpu / count


async def _measured(database: Postgres, servers: int, alone: float, sizes: Sizes) -> Row:
    async with _servers(database, servers, following=True) as followers:
        idle = await _idle(database, servers, sizes.seconds)
        times = await _paced(followers, sizes)
        at_database, start = database.processor_seconds(), time.perf_counter()
        count, cpu, behind = await _flood(followers, sizes.seconds)
        seconds = time.perf_counter() - start
        at_database = database.processor_seconds() - at_database
    return {
        "events/s": round(count / seconds),
        "behind at most": behind,
        "CPU µs an event and server": round(1e6 * max(0.0, cpu / count - alone) / servers, 1),
        "database's CPU µs an event": round(1e6 * at_database / count, 1),
        "median": ms(middle(times)),
        "p99": ms(percentile(times, 0.99)),
    } | idle


@asynccontextmanager
async def _servers(database: Postgres, count: int, *, following: bool) -> AsyncIterator[Followers]:
    options = PostgresOptions(url=database.url(), pool_size=4)
    async with AsyncExitStack() as stack:
        storages = [await stack.enter_async_context(open_postgres(options)) for _ in range(count)]
        followers = Followers(storages, await storages[0].position(), following)
        async with trio.open_nursery() as nursery:
            if following:
                for number in range(count):
                    nursery.start_soon(followers.follow, number)
            yield followers
            nursery.cancel_scope.cancel()


async def _flood(followers: Followers, seconds: float) -> tuple[int, float, int]:
    """Write as fast as commits allow; return how many, the processor time, and the greatest distance."""
    last = await followers.storages[0].position()
    written, behind, cpu = 0, 0, time.process_time()
    end = time.perf_counter() + seconds

    async def repeat() -> None:
        nonlocal written, behind
        while time.perf_counter() < end:
            await followers.write()
            written += 1
            behind = max(behind, last + written - min(followers.seen))

    async with trio.open_nursery() as nursery:
        for _ in range(WRITERS):
            nursery.start_soon(repeat)
    if followers.are_following:
        await followers.reach(last + written)
    return written, time.process_time() - cpu, behind


async def _paced(followers: Followers, sizes: Sizes) -> list[float]:
    """Return for each of some events how many seconds passed until the last server had it."""
    times, due = [], trio.current_time()
    for _ in range(sizes.posts):
        due += 1 / sizes.rate
        await trio.sleep_until(due)
        start = time.perf_counter()
        await followers.write()
        await followers.reach(await followers.storages[0].position())
        times.append(time.perf_counter() - start)
    return times


async def _idle(database: Postgres, servers: int, seconds: float) -> Row:
    """Do nothing for a while, and tell what one second of it costs for each server."""
    await trio.sleep(min(1.0, seconds))  # what was begun has ended
    cpu, at_database = time.process_time(), database.processor_seconds()
    start = time.perf_counter()
    await trio.sleep(seconds)
    cpu, at_database = time.process_time() - cpu, database.processor_seconds() - at_database
    each = servers * (time.perf_counter() - start)
    return {"idle: CPU ms": ms(cpu / each), "idle: database's CPU ms": ms(at_database / each)}
