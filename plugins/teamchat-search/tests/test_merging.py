"""SQLite's index is in few pieces, and nobody waits for what that takes."""

from __future__ import annotations

import random
import string
from importlib import import_module
from pathlib import Path

import pytest
import trio
from teamchat_search import indexing as indexing_module
from teamchat_search import upkeep as upkeep_module
from teamchat_search.index import MADE_BY, Segments
from teamchat_search.indexing import Indexing
from teamchat_search.upkeep import LOOSE, SegmentsUpkeep

from teamchat.chat.privacy import PrivacyChange
from tests.storages import sqlite_only

pytestmark = sqlite_only("PostgreSQL keeps an index of its own together itself")

_world = import_module("plugins.teamchat-search.tests.world")
World, opened = _world.World, _world.opened


async def pieces(world: World) -> int:
    """Return of how many segments the index is."""
    async with world.app.storage.read() as tx:
        return int((await tx.fetch("select count(distinct segid) from search_grams_idx"))[0][0])


async def test_an_index_in_many_pieces_is_put_together_and_finds_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        ids = []
        for number in range(14):
            ids.insert(0, await world.say(f"needle {number}"))
            await world.indexing.catch_up()
        storage = world.app.storage
        assert await pieces(world) > 1
        async with storage.write() as tx:
            await tx.fetch("update search_state set loose = $1", LOOSE)
        await world.indexing.catch_up()
        assert await pieces(world) == 1
        async with storage.read() as tx:
            assert await tx.fetch("select made_by, loose, most_loose from search_state") == [
                (MADE_BY, 0, LOOSE)
            ]
        assert await world.find("needle") == ids


async def test_what_is_written_is_merged_a_few_pages_at_a_time_and_not_by_who_writes(tmp_path: Path) -> None:
    chance = random.Random(5)
    async with opened(tmp_path) as world:
        indexing = world.indexing
        assert await indexing._taken()
        while await indexing.step():
            pass
        before = await pieces(world)
        ids = []
        for _ in range(14):
            ids.insert(0, await world.say(" ".join(["needle", *(_word(chance) for _ in range(400))])))
            assert await indexing._follow(await indexing._begun())
        assert await pieces(world) == before + 14
        merged = 0
        while await indexing._upkeep.merge():
            merged += 1
        assert merged > 2
        assert await pieces(world) < 10
        assert await world.find("needle") == ids


async def test_the_longer_it_takes_the_less_is_merged_at_once(
    tmp_path: Path, mock_clock: trio.testing.MockClock
) -> None:
    async with opened(tmp_path) as world:
        upkeep = world.indexing._upkeep
        assert isinstance(upkeep, SegmentsUpkeep)
        pages = [upkeep._pages]
        for milliseconds in (1, 1, 3, 9, 9, 9, *[1] * 9):
            with upkeep._timed():
                mock_clock.jump(milliseconds / 1000)
            pages.append(upkeep._pages)
        assert pages == [8, 16, 32, 32, 16, 8, 8, 16, 32, 64, *[128] * 6]


@pytest.mark.parametrize(("at_once", "words"), [(1, 1), (12, 10), (30, 10), (3, 600)])
async def test_an_index_that_follows_has_few_pieces_though_there_is_always_more_to_write(
    tmp_path: Path, at_once: int, words: int
) -> None:
    chance = random.Random(at_once)
    async with opened(tmp_path) as world:
        assert await world.indexing._taken()
        for _ in range(60):
            for _ in range(at_once):
                await world.say(" ".join(_word(chance) for _ in range(words)))
            assert await world.indexing.step()
            assert await pieces(world) <= 16


async def test_an_index_has_few_pieces_while_a_room_is_moved_within_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing_module, "_AT_ONCE", 2)
    async with opened(tmp_path) as world:
        room = await world.public("Moving")
        ids = [await world.say("needle", room) for _ in range(80)]
        await world.indexing.catch_up()
        closing = PrivacyChange(is_private=True, members=[world.ada.user.id])
        await world.app.chat.privacy.change(world.ada, room, closing)
        assert await world.indexing._taken()
        assert await world.indexing._move()
        assert await pieces(world) <= 16
        assert sorted(await world.find("needle")) == ids


@pytest.mark.parametrize("most_waiting", [2500, 1])
async def test_what_was_erased_is_out_of_the_file_once_all_was_put_together_also_while_people_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_waiting: int
) -> None:
    """Whether what they write waits for that, or is so much that it goes first, and all begins anew."""
    for name in ("_FEWEST_PAGES", "_MOST_PAGES"):
        monkeypatch.setattr(upkeep_module, name, 1)
    monkeypatch.setattr(indexing_module, "_MOST_WAITING", most_waiting)
    chance = random.Random(7)
    async with opened(tmp_path) as world:
        indexing = Indexing(world.app, world.index)
        assert await indexing._taken()
        ids = [await world.say(" ".join(_word(chance) for _ in range(150))) for _ in range(20)]
        await _put_together(world, indexing)
        await world.app.chat.messages.delete(world.ada, ids[2])
        while await indexing.step():
            pass
        async with world.app.storage.write() as tx:
            assert await tx.fetch("update search_state set cleaned_at = 1 where cleaned_at > 1 returning 1")
        steps = 0
        while await _state(world, "cleaned_at"):
            if steps < 30 and steps % 3 == 1:
                await world.say("needle")
            await indexing.step()
            steps += 1
            assert steps < 300
        assert steps > 8
        assert await _is_put_together(world)


async def test_an_index_is_put_together_though_there_is_always_more_to_follow(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        indexing = Indexing(world.app, world.index)
        assert await indexing._taken()
        for _ in range(3):
            await world.say("needle")
            await indexing.step()
        async with world.app.storage.write() as tx:
            await tx.fetch("update search_state set loose = $1", LOOSE)
        for _ in range(20):
            await world.say("needle")
            await indexing.step()
        assert await _state(world, "loose") < LOOSE


async def _put_together(world: World, indexing: Indexing) -> None:
    while await indexing.step():
        pass
    async with world.app.storage.write() as tx:
        await tx.fetch("update search_state set loose = $1", LOOSE)
    while await indexing.step():
        pass
    assert await _is_put_together(world)


async def _is_put_together(world: World) -> bool:
    """Whether it is in one piece in which nothing is left of what was erased: there is nothing to be done."""
    async with world.app.storage.write() as tx:
        return await pieces(world) == 1 and not await _segments(world).compact(tx, 1)


def _segments(world: World) -> Segments:
    assert world.index.segments is not None
    return world.index.segments


async def _state(world: World, column: str) -> int:
    async with world.app.storage.read() as tx:
        return int((await tx.fetch(f"select {column} from search_state"))[0][0])


async def test_an_index_of_an_earlier_version_is_merged_by_who_keeps_it_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        async with world.app.storage.write() as tx:
            await world.index.make(tx)
            await tx.fetch("insert into search_grams(search_grams, rank) values ('automerge', 4)")
        assert await world.indexing._taken()
        async with world.app.storage.read() as tx:
            settings = dict(await tx.fetch("select k, v from search_grams_config"))
        assert [settings[name] for name in ("automerge", "usermerge", "crisismerge")] == [0, 4, 500]


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=8))
