"""The service that keeps the index: one process at a time, and nothing lost however it ends."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from teamchat_search import indexing
from teamchat_search.index import MOST_TAIL
from teamchat_search.indexing import Indexing, Lost
from teamchat_search.tokens import Document

from teamchat import StorageError
from teamchat.chat import MessageEdit
from tests.storages import look
from tests.workers.several import several, until

_world = import_module("plugins.teamchat-search.tests.world")
World, opened = _world.World, _world.opened


async def test_one_process_indexes_at_a_time_and_another_takes_over(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first, second = world.indexing, Indexing(world.app, world.index)
        assert await first._taken()
        assert not await second._taken()
        await world.say("needle")
        assert await first.step()
        await first._give_back()
        assert await second._taken()
        await world.say("needle")
        with pytest.raises(Lost):
            await first.step()
        while await second.step():
            pass
        assert len(await world.find("needle")) == 2


async def test_long_messages_are_written_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    async with opened(tmp_path) as world:
        written: list[list[int]] = []
        write = world.index.write

        async def noted(tx: Any, documents: Sequence[Document]) -> None:
            written.append([len(one.tokens) for one in documents])
            await write(tx, documents)

        monkeypatch.setattr(world.index, "write", noted)
        for _ in range(8):
            await world.say("".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(8000)))
        await world.indexing.catch_up()
        assert sum(map(len, written)) == 8
        assert all(len(one) == 1 or sum(one) <= indexing._MOST_TOKENS for one in written)


async def test_a_lease_that_has_run_out_is_taken_and_who_was_away_writes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first, second = world.indexing, Indexing(world.app, world.index)
        assert await first._taken()
        async with world.app.storage.write() as tx:
            await tx.fetch("update search_state set held_until = 1")
        assert await second._taken()
        with pytest.raises(Lost):
            await first._renew()


async def test_a_lease_of_a_clock_that_was_ahead_holds_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first, second = world.indexing, Indexing(world.app, world.index)
        assert await first._taken()
        async with world.app.storage.write() as tx:
            await tx.fetch("update search_state set held_until = held_until + $1", 24 * 3_600_000)
        assert await second._taken()
        with pytest.raises(Lost):
            await first._renew()


async def test_a_storage_that_stays_away_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(indexing, "_AGAIN_SECONDS", 0)
    tries, tried = count(), trio.Event()

    async def away() -> None:
        if next(tries) == 9:
            tried.set()
        raise StorageError("The disk is full.")

    async with opened(tmp_path) as world, trio.open_nursery() as nursery:
        monkeypatch.setattr(world.indexing, "_take", away)
        await nursery.start(world.indexing.run)
        await tried.wait()
        nursery.cancel_scope.cancel()
    assert [record.msg for record in caplog.records].count("the search index pauses") == 1


async def test_what_changes_or_goes_between_reading_and_writing_is_as_it_is_then(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        gone, edited = await world.say("needle and thread"), await world.say("needle and pin")
        kept = await world.say("needle alone")
        write, messages = world.indexing._write, world.app.chat.messages

        async def later(documents: Sequence[Document], **how_far: Any) -> None:
            if gone in {one.id for one in documents}:
                await messages.delete(world.ada, gone)
                await messages.edit(world.ada, edited, MessageEdit("straw"))
            await write(documents, **how_far)

        world.indexing._write = later
        assert await world.indexing._taken()
        assert await world.indexing.step()
        assert await world.find("needle") == [kept]
        assert await world.find("straw") == [edited]
        while await world.indexing.step():
            pass
        assert await world.find("needle") == [kept]
        assert await world.find("straw") == [edited]
        async with world.app.storage.read() as tx:
            rows = await tx.fetch("select message_id from search_documents order by message_id")
        assert [id_ for (id_,) in rows] == sorted([edited, kept])


async def test_a_service_that_follows_waits_for_more_where_few_have_come_and_hurries_where_many_have(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        indexing = world.indexing
        await indexing.catch_up()
        await indexing.step()
        assert await indexing._rest(0.01) == pytest.approx(0.08)
        await world.say("one more")
        assert await indexing._rest(0.01) == 0.25
        indexing._position -= MOST_TAIL // 2
        assert await indexing._rest(0.01) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
async def test_nothing_is_lost_wherever_it_is_broken_off(tmp_path: Path, seed: int) -> None:
    async with opened(tmp_path) as world:
        chance = random.Random(seed)
        room = await world.public("Turning")
        ids: list[str] = []
        for number in range(40):
            ids.append(await world.say(f"needle {number}", chance.choice([world.general, room])))
            if number % 5 == 0:
                await world.app.chat.messages.edit(world.ada, ids[-1], MessageEdit("straw needle"))
            if number % 7 == 3:
                await world.app.chat.messages.delete(world.ada, ids.pop(chance.randrange(len(ids))))
            with trio.CancelScope() as scope:
                indexing = Indexing(world.app, world.index)
                indexing._holder = world.indexing._holder
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(indexing.catch_up)
                    for _ in range(chance.randrange(30)):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
            assert sorted(await world.find("needle")) == sorted(ids)
        await world.indexing.catch_up()
        assert sorted(await world.find("needle")) == sorted(ids)
        async with world.app.storage.read() as tx:
            assert len(await tx.fetch("select 1 from search_documents")) == len(ids)


@pytest.mark.slow
async def test_over_the_deaths_of_workers_what_was_acknowledged_is_found_and_all_is_indexed(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)
    ids: list[str] = []
    async with (
        several(tmp_path, search={"perMinute": 100_000}) as server,
        httpx2.AsyncClient(base_url=server.base, timeout=60) as client,
    ):
        signed_in = (await client.post("/auth/dev-login", json={"email": "admin@localhost"})).json()
        client.headers["Authorization"] = f"Bearer {signed_in['token']}"
        [channel] = (await client.get("/channels")).json()["channels"]
        for number in range(60):
            if number % 15 == 10:
                os.kill(chance.choice(sorted(server.workers())), signal.SIGKILL)
            ids.insert(0, await _posted(client, channel["id"], number))
            if number % 5 == 0:
                answer = await _asked(client)
                found = [one["message"]["id"] for one in answer["results"]]
                assert [one for one in found if one in ids] == ids
        await until(lambda: _is_indexed(tmp_path / "data"))
        assert len((await _asked(client))["results"]) >= len(ids)


async def _posted(client: httpx2.AsyncClient, channel: str, number: int) -> str:
    """Post until somebody acknowledges it: what was on its way to a worker that died may be there twice."""
    while True:
        try:
            body = {"content": f"needle {number}"}
            answer = await client.post(f"/channels/{channel}/messages", json=body)
            return str(answer.json()["message"]["id"])
        except httpx2.TransportError:
            continue


async def _asked(client: httpx2.AsyncClient) -> dict[str, list[dict[str, dict[str, str]]]]:
    while True:
        try:
            answer = await client.get("/search/messages", params={"q": "needle", "limit": "200"})
            assert answer.status_code == 200
            return dict(answer.json())
        except httpx2.TransportError:
            continue


def _is_indexed(directory: Path) -> bool:
    [(missing,)] = look(
        directory,
        "select count(*) from messages where id not in (select message_id from search_documents)",
    )
    return int(missing) == 0
