"""How PostgreSQL plans what is asked every day, once it has statistics: nothing reads a whole table."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.exchange import Statement
from teamchat_storage_postgres.storage import open_postgres

from teamchat import Storage
from teamchat.model.pages import Page
from tests.read_state.world import Offered, World

ROOMS, ROWS = 3, 40_000
LARGE = {"messages", "threads", "events"}
# Each room has its share of all: a third of a table is more than PostgreSQL likes to look up.
_MESSAGES = """insert into messages (id, room_id, author_id, content, created_at)
select lpad(to_hex(number), 32, '0'), (select id from rooms order by id limit 1 offset number % $1), $2,
'said', number from generate_series(1, $3) as number"""
_REPLIES = """insert into messages (id, room_id, parent_id, author_id, content, created_at)
select lpad(to_hex($2 + number), 32, '0'), m.room_id, m.id, $1, 'replied', number
from generate_series(1, $2) as number
join messages m on m.id = lpad(to_hex(number - number % 100 + 1), 32, '0')"""
_THREADS = """insert into threads (parent_id, reply_count, last_reply_at, last_reply_by, participants)
select parent_id, count(*), max(created_at), $1, '[]' from messages where parent_id is not null
group by parent_id"""
_EVENTS = """insert into events (seq, type, audience, payload, created_at, text_room, text_message)
select -number, 'NEW_MESSAGE', null, '{}', number, 'room', lpad(to_hex(number), 32, '0')
from generate_series(1, $1) as number"""


class OnPostgres(Offered):
    """The capabilities of read states, on PostgreSQL whatever the other tests run on."""

    def __init__(self, options: PostgresOptions) -> None:
        self._options = options

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        return open_postgres(self._options)


@pytest.fixture
async def world(options: PostgresOptions, tmp_path: Path) -> AsyncIterator[World]:
    async with OnPostgres(options).application(tmp_path) as app:
        yield await World.opened(app)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, tuple[int, ...]]]:
    """Gather what is asked from now on, with the types of its parameters."""
    found: set[tuple[str, tuple[int, ...]]] = set()
    statement = Connection.statement

    def noted(connection: Connection, sql: str, *params: Any) -> Statement:
        made = statement(connection, sql, *params)
        found.add((made.key.sql, tuple(made.key.types)))
        return made

    monkeypatch.setattr(Connection, "statement", noted)
    return found


async def test_nothing_that_is_asked_every_day_reads_a_whole_table(
    world: World, asked: set[tuple[str, tuple[int, ...]]], options: PostgresOptions
) -> None:
    rooms = [await world.public("ada", f"room {number}") for number in range(1, ROOMS)]
    async with world.app.storage.write() as tx:
        ada = world.id("ada")
        await tx.fetch(_MESSAGES, ROOMS, ada, ROWS)
        await tx.fetch(_REPLIES, ada, ROWS)
        await tx.fetch(_THREADS, ada)
        await tx.fetch(_EVENTS, ROWS)
    asked.clear()
    await _a_day(world, [world.general, *rooms])
    with psycopg.connect(options.url, autocommit=True) as connection:
        connection.execute("analyze")
        connection.execute("set plan_cache_mode = force_generic_plan")
        connection.execute("set random_page_cost = 1.1")
        whole = {
            sql: tables
            for sql, types in asked
            if sql.split()[0] in {"select", "insert", "update", "delete", "with"}
            and (tables := [*_read_whole(_plan(connection, sql, types))])
        }
    assert len(asked) > 40
    assert whole == {}


async def _a_day(world: World, rooms: Sequence[str]) -> None:
    """Have people do what they do all day."""
    ada = world.callers["ada"]
    for room in rooms:
        first, second = await world.post("ada", room), await world.post("bob", room)
        reply = await world.reply("bob", first)
        await world.states.read(ada, room, second, None)
        await world.states.unread(ada, room, second)
        await world.threads.read(ada, first, reply, None)
        await world.app.chat.messages.page(ada, room, Page())
        await world.app.chat.threads.page(ada, first, Page())
        await world.followed("ada")
        for message, name in ((reply, "bob"), (second, "bob"), (first, "ada")):
            await world.delete(name, message)
    direct = await world.direct("ada", "bob")
    await world.delete("ada", await world.post("ada", direct))
    overview = await world.overview("ada")
    await world.overview("ada", overview.mark)


def _plan(connection: psycopg.Connection[Any], sql: str, types: Sequence[int]) -> dict[str, Any]:
    """Return how a statement is carried out whatever its parameters are."""
    raw = connection.pgconn
    raw.exec_(b"deallocate all")
    prepared = raw.prepare(b"asked", sql.encode(), types)
    assert not prepared.error_message, (sql, prepared.error_message)
    count = max((int(number) for number in re.findall(r"\$([0-9]+)", sql)), default=0)
    given = f"({', '.join(['null'] * count)})" if count else ""
    told = raw.exec_(f"explain (format json) execute asked{given}".encode()).get_value(0, 0)
    assert told is not None, sql
    found: dict[str, Any] = json.loads(told)[0]["Plan"]
    return found


def _read_whole(plan: dict[str, Any]) -> Iterator[str]:
    """Return the large tables that are gone through from one end to the other."""
    if plan["Node Type"] == "Seq Scan" and plan["Relation Name"] in LARGE:
        yield plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from _read_whole(part)
