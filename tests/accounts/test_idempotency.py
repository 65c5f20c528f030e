"""A request is done once under its Idempotency-Key, whoever makes something of it (X-13)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat import BadRequest, Conflict, KeyedRequest, NotFound, Storage, Transaction
from teamchat.accounts.idempotency import KEPT_MS
from tests.storages import open_storage

ADA, BOB = "ada", "bob"


class Polls:
    """What a capability makes: the rows of a table, under numbers."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    async def ask(
        self, question: str, key: str | None = "key", user_id: str = ADA, scope: str = "polls"
    ) -> tuple[str, str]:
        request = KeyedRequest(user_id, scope, key)
        async with self.storage.write() as tx:

            async def make() -> str:
                [(count,)] = await tx.fetch("select count(*) from polls")
                await tx.fetch("insert into polls (id, question) values ($1, $2)", str(count), question)
                if not question:
                    raise BadRequest("There is no question.")
                return str(count)

            async def read(id_: str) -> tuple[str, str]:
                rows = await tx.fetch("select id, question from polls where id = $1", id_)
                if not rows:
                    raise NotFound
                return rows[0][0], rows[0][1]

            return await request.once(tx, {"question": question}, make, read)

    async def spend(self, key: str | None = "key", user_id: str = ADA, scope: str = "polls") -> None:
        async with self.storage.write() as tx:
            await KeyedRequest(user_id, scope, key).spend(tx)

    async def run(self, sql: str, *values: Any) -> Any:
        async with self.storage.write() as tx:
            return await tx.fetch(sql, *values)


async def make_table(tx: Transaction) -> None:
    await tx.define("create table polls (id text primary key, question text not null){table_end}")


@pytest.fixture
async def polls(tmp_path: Path) -> AsyncIterator[Polls]:
    async with open_storage(tmp_path) as storage:
        async with storage.write() as tx:
            await make_table(tx)
        yield Polls(storage)
        async with storage.write() as tx:
            await tx.define("drop table polls")


async def test_a_retry_is_answered_what_was_made_as_it_is_now(polls: Polls) -> None:
    assert await polls.ask("Where?") == ("0", "Where?")
    await polls.run("update polls set question = 'When?'")
    assert await polls.ask("Where?") == ("0", "When?")


async def test_thirty_retries_at_once_make_one(polls: Polls) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(30):
            nursery.start_soon(polls.ask, "Where?")
    assert await polls.run("select id from polls") == [("0",)]


async def test_something_else_under_the_same_key_is_refused(polls: Polls) -> None:
    await polls.ask("Where?")
    with pytest.raises(BadRequest, match="another request"):
        await polls.ask("When?")


async def test_without_a_key_with_another_and_for_another_user_or_scope_it_is_another(polls: Polls) -> None:
    made = [
        await polls.ask("Where?", None),
        await polls.ask("Where?", None),
        await polls.ask("Where?"),
        await polls.ask("Where?", "other"),
        await polls.ask("Where?", user_id=BOB),
        await polls.ask("Where?", scope="quizzes"),
    ]
    assert len(set(made)) == len(made)


async def test_what_is_gone_is_neither_made_again_nor_answered(polls: Polls) -> None:
    await polls.ask("Where?")
    await polls.run("delete from polls")
    with pytest.raises(BadRequest, match="is gone"):
        await polls.ask("Where?")


async def test_what_was_refused_leaves_its_key_free(polls: Polls) -> None:
    with pytest.raises(BadRequest, match="no question"):
        await polls.ask("")
    assert await polls.ask("Where?") == ("0", "Where?")


async def test_a_key_that_was_spent_is_a_conflict_and_nothing_else_is_kept(polls: Polls) -> None:
    await polls.spend()
    with pytest.raises(Conflict):
        await polls.spend()
    for other in ({"key": None}, {"key": None}, {"key": "other"}, {"user_id": BOB}, {"scope": "quizzes"}):
        await polls.spend(**other)
    assert set(await polls.run("select request_hash, made, beside from keyed_requests")) == {("", "", "")}


async def test_after_a_day_a_key_is_free(polls: Polls) -> None:
    await polls.ask("Where?")
    await polls.spend("spent")
    await polls.run("update keyed_requests set created_at = created_at - $1", KEPT_MS - 60_000)
    assert await polls.ask("Where?") == ("0", "Where?")
    await polls.run("update keyed_requests set created_at = created_at - $1", 120_000)
    assert await polls.ask("When?") == ("1", "When?")
    await polls.spend("spent")
    assert await polls.ask("When?") == ("1", "When?")
    assert await polls.run("select count(*) from keyed_requests") == [(2,)]


async def test_of_what_was_asked_a_digest_is_kept_alone(polls: Polls) -> None:
    await polls.ask("Where?")
    assert "Where" not in str(await polls.run("select * from keyed_requests"))


@pytest.mark.parametrize("key", ["", "x" * 256, "a\x00b", "é"])
async def test_a_key_that_is_none_is_refused(polls: Polls, key: str) -> None:
    with pytest.raises(BadRequest, match="Idempotency-Key"):
        await polls.ask("Where?", key)
    with pytest.raises(BadRequest, match="Idempotency-Key"):
        await polls.spend(key)
