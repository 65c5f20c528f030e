"""Moving everything from one storage to another: nothing lost, wherever it broke off."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.storage import open_postgres

from teamchat.errors import StorageError
from teamchat.interfaces import Storage
from teamchat.storage import rows
from teamchat.storage.capability_tables import CapabilityTables, upgrade
from teamchat.storage.moving import Outcome, SourceChanged, move, refuse_unfinished
from teamchat.storage.schema import MIGRATIONS, Migration
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from teamchat.storage.tables import LOG, tables
from teamchat.testing.storage import append, followed
from tests.postgres import shared
from tests.storage.filling import Filling, fill, fillings, sums


def sqlite(directory: str | Path) -> AbstractAsyncContextManager[Storage]:
    return open_sqlite(SqliteOptions(path=str(directory)))


@asynccontextmanager
async def postgres() -> AsyncIterator[Storage]:
    name = shared().new_database()
    async with open_postgres(PostgresOptions(url=shared().url(name))) as storage:
        yield storage
    shared().run(f"drop database {name}")


async def add_users(storage: Storage, first: int, count: int) -> None:
    async with storage.write() as tx:
        for number in range(first, first + count):
            await tx.fetch(
                "insert into users (id, user_name, email, is_admin, created_at) values ($1, $2, $3, 0, 1)",
                *(f"{number:032}", f"user {number}", f"{number}@example.org"),
            )


async def add_messages(storage: Storage, count: int) -> None:
    async with storage.write() as tx:
        for number in range(count):
            await tx.fetch(
                "insert into messages (id, room_id, parent_id, author_id, content, created_at)"
                " values ($1, 'place', $2, 'author', $3, 1)",
                # Replies sort before what they reply to, as those of a server with a slow clock may.
                *(f"{count - number:032}", f"{count:032}" if number else None, f"text {number}"),
            )


@pytest.mark.slow
@given(filling=fillings())
@settings(max_examples=15)
def test_whatever_the_tables_hold_is_the_same_after_a_move_to_postgresql_and_back(filling: Filling) -> None:
    async def there_and_back() -> None:
        with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as after:
            async with sqlite(before) as source, postgres() as middle, sqlite(after) as target:
                await fill(source, filling)
                original = await sums(source)
                assert await move(source, middle) is Outcome.MOVED
                assert await move(middle, target) is Outcome.MOVED
                assert await sums(middle) == await sums(target) == original

    trio.run(there_and_back)


async def test_the_log_keeps_its_numbers_also_those_that_were_trimmed(tmp_path: Path) -> None:
    async with sqlite(tmp_path) as source, postgres() as target:
        await add_users(source, 1, 1)
        for number in range(6):
            await append(source, str(number))
        async with source.write() as tx:
            await tx.fetch("delete from events where seq <= 2 or seq > 5")
        await move(source, target)
        assert await target.log_bounds() == (3, 6)
        await append(target, "after")
        assert [event.seq for event in await followed(target, 2, 4)] == [3, 4, 5, 7]


async def test_many_rows_and_replies_older_than_their_parent_are_moved(tmp_path: Path) -> None:
    async with sqlite(tmp_path / "a") as source, sqlite(tmp_path / "b") as target:
        await add_users(source, 1, 2 * rows.PAGE_ROWS)
        await add_messages(source, rows.PAGE_ROWS + 3)
        told: list[tuple[str, int, int]] = []
        await move(source, target, lambda *step: told.append(step))
        assert await sums(source) == await sums(target)
        assert told[-1] == ("comparing", len(tables()), len(tables()))
        assert ("messages", rows.PAGE_ROWS + 3, rows.PAGE_ROWS + 3) in told


class Broken(Exception):
    """Stands for kill -9: whatever was not committed is gone."""


@pytest.mark.slow
@pytest.mark.parametrize("after", range(1, 9))
async def test_a_move_that_broke_off_goes_on_and_ends_right(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "PAGE_ROWS", 4)
    async with sqlite(tmp_path / "a") as source, sqlite(tmp_path / "b") as target:
        await add_users(source, 1, 9)
        await add_messages(source, 9)
        await append(source, "event")
        steps: list[str] = []

        def break_off(table: str, done: int, total: int) -> None:
            if done and table != "comparing":
                steps.append(table)
            if len(steps) == after:
                raise Broken

        try:
            await move(source, target, break_off)
        except Broken:
            with pytest.raises(StorageError, match="has not been finished"):
                await refuse_unfinished(target)
        copied: list[str] = []
        await move(source, target, lambda table, done, _: copied.append(table) if done == 4 else None)
        assert await sums(source) == await sums(target)
        assert await source.log_bounds() == await target.log_bounds()
        await refuse_unfinished(target)
        if "users" in steps[:-1]:  # The step it broke off in was lost.
            assert "users" not in copied, "it began again at the beginning"


async def test_what_was_written_between_two_attempts_is_moved_too(tmp_path: Path) -> None:
    async with sqlite(tmp_path / "a") as source, sqlite(tmp_path / "b") as target:
        await add_users(source, 10, 3)

        def break_off(table: str, done: int, total: int) -> None:
            if table == "users" and done:
                raise Broken

        with pytest.raises(Broken):
            await move(source, target, break_off)
        await add_users(source, 11 + 20, 1)
        async with source.write() as tx:
            await tx.fetch("update users set user_name = 'changed' where id = $1", f"{10:032}")
        await move(source, target)
        assert await sums(source) == await sums(target)


async def test_tables_that_a_plugin_brought_between_two_attempts_are_moved_too(tmp_path: Path) -> None:
    polls = Migration(1, ("create table polls (id text primary key){table_end}",))
    indexed = Migration(2, ("create index polls_by_id on polls(id)",))
    votes = Migration(1, ("create table votes (id text primary key){table_end}",))
    async with sqlite(tmp_path / "a") as source, sqlite(tmp_path / "b") as target:
        await add_users(source, 1, 1)
        await upgrade(source, [CapabilityTables("polls", [polls], "a plugin")])

        def break_off(table: str, *_: int) -> None:
            if table == "users":
                raise Broken

        with pytest.raises(Broken):
            await move(source, target, break_off)
        later = [CapabilityTables("polls", [polls, indexed], "it"), CapabilityTables("votes", [votes], "it")]
        await upgrade(source, later)
        async with source.write() as tx:
            await tx.fetch("insert into votes values ('one')")
        await move(source, target)
        async with target.read() as tx:
            assert await tx.fetch("select id from votes") == [("one",)]
            assert await tx.fetch("select 1 from sqlite_schema where name = 'polls_by_id'")


async def test_a_source_that_is_written_to_meanwhile_is_noticed_and_moved_when_that_has_ended(
    tmp_path: Path,
) -> None:
    async with sqlite(tmp_path / "a") as source, sqlite(tmp_path / "b") as target:
        await add_users(source, 10, 3)
        written = False

        class Writing:
            """The source, with a server that still runs on it."""

            read, log_bounds = source.read, source.log_bounds

        def step(table: str, done: int, total: int) -> None:
            nonlocal written
            if table == "comparing" and not written:
                written = True
                writer = source._writer  # type: ignore[attr-defined]
                writer.execute("update users set user_name = 'changed meanwhile'")

        with pytest.raises(SourceChanged, match="Stop it and give the same command again"):
            await move(Writing(), target, step)  # type: ignore[arg-type]
        await move(source, target)
        assert await sums(source) == await sums(target)


async def test_a_target_with_data_of_its_own_is_left_as_it_is(tmp_path: Path) -> None:
    async with sqlite(tmp_path / "a") as source, sqlite(tmp_path / "b") as target:
        await add_users(source, 1, 3)
        await add_users(target, 2, 3)
        before = await sums(target)
        with pytest.raises(StorageError, match=r"data of its own \(table users\)"):
            await move(source, target)
        assert await sums(target) == before


async def test_a_move_that_was_done_already_says_so_and_changes_nothing(tmp_path: Path) -> None:
    async with sqlite(tmp_path / "a") as source, sqlite(tmp_path / "b") as target:
        await add_users(source, 1, 3)
        await append(source, "event")
        assert await move(source, target) is Outcome.MOVED
        assert await move(source, target) is Outcome.WAS_THERE
        await append(target, "a server ran on it")
        with pytest.raises(StorageError, match="data of its own"):
            await move(source, target)


async def test_the_move_of_another_installation_is_not_gone_on_with(tmp_path: Path) -> None:
    async with sqlite(tmp_path / "a") as one, sqlite(tmp_path / "b") as two, sqlite(tmp_path / "c") as target:
        await add_users(one, 1, 1)
        await add_users(two, 2, 1)

        def break_off(*_: object) -> None:
            raise Broken

        with pytest.raises(Broken):
            await move(one, target, break_off)
        with pytest.raises(StorageError, match="Another installation"):
            await move(two, target)
        with pytest.raises(StorageError, match="itself the target"):
            await move(target, two)


async def test_an_empty_source_is_refused(tmp_path: Path) -> None:
    async with sqlite(tmp_path / "a") as source, sqlite(tmp_path / "b") as target:
        with pytest.raises(StorageError, match="no users"):
            await move(source, target)


def test_every_table_of_the_schema_is_kept_but_those_of_processes() -> None:
    statements = [statement for migration in MIGRATIONS for statement in migration.statements]
    made = {statement.split()[2] for statement in statements if statement.startswith("create table")}
    made -= {statement.split()[2] for statement in statements if statement.startswith("drop table")}
    made -= {statement.split()[2] for statement in statements if " rename to " in statement}
    kept = [table.name for table in tables()]
    assert made - set(kept) == {"members", "streams", "request_windows"}
    assert LOG in kept
    assert kept.index("users") < kept.index("sessions") < kept.index("refresh_tokens")
    assert kept.index("messages") < kept.index("reactions")
    assert kept.index("images") < kept.index("message_images")
