"""Does the work of the scenario ``drivers`` in one way: ``… WAY URL SECONDS`` prints the figures as JSON.

It is a process of its own, for importing triopg changes asyncio for all of it.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.connection import connect_to
from teamchat_storage_postgres.pool import Pool
from teamchat_storage_postgres.storage import open_postgres

from benchmarks.report import Row
from teamchat import Event

CONNECTIONS, TASKS = 10, 50
_PAGE = "select id, author, content from bench_messages where channel = $1 order by id desc limit 50"
_WRITE = "insert into bench_messages (channel, author, content) values ($1, 'a', 'what somebody said')"
_NOTE = "insert into bench_notes (note) values ($1)"
_READING = "begin isolation level repeatable read, read only"
Work = Callable[[int], Awaitable[object]]


async def _psycopg(options: PostgresOptions, seconds: float) -> Row:
    pool = Pool(partial(connect_to, options), CONNECTIONS, 60, 60)

    async def page(number: int) -> None:
        async with pool.lend(_READING) as connection:
            assert len(await connection.run(_PAGE, number % 20)) == 50
            await connection.command("commit")

    async def write(number: int) -> None:
        async with pool.lend("begin") as connection:
            await connection.run(_WRITE, number % 20)
            await connection.run(_NOTE, str(number))
            await connection.command("commit")

    found = await _measured(page, write, seconds)
    await pool.close()
    return found


async def _triopg(options: PostgresOptions, seconds: float) -> Row:
    import triopg  # type: ignore[import-untyped]
    from trio_asyncio import open_loop  # type: ignore[import-untyped]

    # asyncpg does not know libpq's gssencmode, which PostgreSQL's own library would try by default.
    url = options.url.partition("?")[0]
    async with (
        open_loop(),
        triopg.create_pool(url, ssl=False, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool,
    ):

        async def page(number: int) -> None:
            async with _transaction(pool, isolation="repeatable_read", readonly=True) as connection:
                assert len(await connection.fetch(_PAGE, number % 20)) == 50

        async def write(number: int) -> None:
            async with _transaction(pool) as connection:
                await connection.execute(_WRITE, number % 20)
                await connection.execute(_NOTE, str(number))

        return await _measured(page, write, seconds)


@asynccontextmanager
async def _transaction(pool: Any, **kind: Any) -> AsyncIterator[Any]:
    async with pool.acquire() as connection, connection.transaction(**kind):
        yield connection


async def _storage(options: PostgresOptions, seconds: float) -> Row:
    async with open_postgres(options) as storage:

        async def page(number: int) -> None:
            async with storage.read() as tx:
                assert len(await tx.fetch(_PAGE, number % 20)) == 50

        async def write(number: int) -> None:
            async with storage.write() as tx:
                await tx.fetch(_WRITE, number % 20)
                await tx.fetch(_NOTE, str(number))
                await tx.append(Event("BENCH", "{}"))

        return await _measured(page, write, seconds)


async def _measured(page: Work, write: Work, seconds: float) -> Row:
    await _rate(page, min(seconds, 0.5))  # so that all connections are there
    pages, page_cpu = await _rate(page, seconds)
    writes, write_cpu = await _rate(write, seconds)
    return {
        "pages/s": round(pages),
        "CPU a page, µs": round(1e6 * page_cpu),
        "writes/s": round(writes),
        "CPU a write, µs": round(1e6 * write_cpu),
    }


async def _rate(work: Work, seconds: float) -> tuple[float, float]:
    """Return how often a second all tasks together get it done, and the processor time of once."""
    numbers, done = itertools.count(), 0
    cpu, start = time.process_time(), time.perf_counter()
    end = start + seconds

    async def repeat() -> None:
        nonlocal done
        while time.perf_counter() < end:
            await work(next(numbers))
            done += 1

    async with trio.open_nursery() as nursery:
        for _ in range(TASKS):
            nursery.start_soon(repeat)
    return done / (time.perf_counter() - start), (time.process_time() - cpu) / done


WAYS = {"psycopg": _psycopg, "triopg": _triopg, "storage": _storage}

if __name__ == "__main__":
    way, url, seconds = sys.argv[1:]
    print(json.dumps(trio.run(WAYS[way], PostgresOptions(url=url, pool_size=CONNECTIONS), float(seconds))))
