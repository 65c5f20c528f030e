"""F-1 to F-7 on the storage that the tests run on: what is found, in which order, and in how many steps."""

from __future__ import annotations

import random
from importlib import import_module
from pathlib import Path

import pytest
import trio
from teamchat_search import search as search_module
from teamchat_search.asking import Request
from teamchat_search.index import Reach, base, postgres
from teamchat_search.limits import Limits

from teamchat import TooManyRequests

_world = import_module("plugins.teamchat-search.tests.world")
_generated = import_module("plugins.teamchat-search.tests.generated")
World, opened = _world.World, _world.opened
brute_force, fill, queries = _generated.brute_force, _generated.fill, _generated.queries


@pytest.mark.parametrize(
    "indexed", ["half", *(pytest.param(one, marks=pytest.mark.slow) for one in ("nothing", "everything"))]
)
async def test_f1_f7_generated_queries_find_what_the_definition_says(tmp_path: Path, indexed: str) -> None:
    async with opened(tmp_path) as world:
        world.search._limits = Limits(100_000)
        said = await fill(world, 1, 120)
        if indexed != "nothing":
            await world.indexing.catch_up()
        if indexed != "everything":
            said |= await fill(world, 2, 60)
        chance = random.Random(3)
        found = 0
        for query in queries(chance, list(said.values()), 250):
            expected = brute_force(said, query)
            assert await world.find(query) == expected, query
            found += bool(expected)
        assert found > 100


async def test_f4_pages_of_any_size_make_up_the_whole(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        said = await fill(world, 5, 150)
        await world.indexing.catch_up()
        said |= await fill(world, 6, 20)
        everything = await world.find("-thiswasneversaid")
        assert everything == sorted(said, reverse=True)
        for limit in (1, 7, 64):
            found, cursor = [], None
            while True:
                page = await world.results("-thiswasneversaid", limit=limit, cursor=cursor)
                assert page.is_complete
                assert len(page.hits) <= limit
                found += [hit.message.id for hit in page.hits]
                if (cursor := page.next) is None:
                    break
            assert found == everything


async def test_f4_relevance(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        whole, beginning, inside = [
            await world.say(text) for text in ("the data", "a database", "old metadata")
        ]
        again = await world.say("new metadata")
        for _ in range(2):
            found = await world.search.relevance(world.ada, Request(query="data"), 50)
            assert [hit.message.id for hit in found.hits] == [whole, beginning, again, inside]
            assert (found.next, found.is_complete) == (None, True)
            await world.indexing.catch_up()


async def test_f5_time_is_bounded_and_the_cursor_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as world:
        said = await fill(world, 11, 60)
        monkeypatch.setattr(search_module, "WORK_SECONDS", 0.0)
        nothing = await world.results("-never")
        assert (nothing.hits, nothing.is_complete) == ([], False)
        assert nothing.next is not None
        monkeypatch.setattr(search_module, "WORK_SECONDS", 2.0)
        assert len((await world.results("-never", cursor=nothing.next)).hits) == len(said)


async def test_f5_two_at_a_time_and_so_many_a_minute(autojump_clock: trio.testing.MockClock) -> None:
    limits = Limits(3)
    with limits.taken("ada"), limits.taken("ada"):
        with pytest.raises(TooManyRequests), limits.taken("ada"):
            pass
        with limits.taken("bob"):
            pass
    with pytest.raises(TooManyRequests) as refused, limits.taken("ada"):
        pass
    assert 0 < (refused.value.retry_after or 0) <= 61
    await trio.sleep(60)
    with limits.taken("ada"):
        pass


async def test_a_hard_query_is_answered(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        said = await world.say("a" * 4000)
        await world.indexing.catch_up()
        assert await world.find("a" * 500) == [said]
        assert await world.find("a" * 499 + "b") == []
        for query in (
            '"' * 500,
            "-" * 500,
            "a " * 250,
            "from:" * 100,
            "\u0301" * 500,
            "*" * 9,
            "AND OR NOT (",
            "%_'",
        ):
            await world.results(query)


async def test_highlights_and_places(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.say("Die Straße")
        conversation = await world.conversation(world.ada, world.bob)
        await world.say("strasse", conversation)
        direct, channel = (await world.results("STRASSE")).hits
        assert (direct.place.kind, direct.place.name, direct.place.id) == ("direct", None, conversation)
        assert (channel.place.kind, channel.place.name) == ("channel", "General")
        assert [tuple(one) for one in channel.highlights] == [("content", 4, 6)]


@pytest.mark.parametrize("common", [64, 1], ids=["one by one", "by the index"])
async def test_small_pages_and_windows_find_the_same_in_public_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, common: int
) -> None:
    async with opened(tmp_path) as world:
        world.search._limits = Limits(100_000)
        rooms = [world.general, await world.private("One"), await world.private("Two", world.bob)]
        chance = random.Random(4)
        said = [
            (await world.say(f"needle {number}", room), room)
            for number in range(90)
            for room in [chance.choice(rooms)]
        ]
        await world.indexing.catch_up()
        kind = type(world.index)
        monkeypatch.setattr(kind, "first", Reach(5, 4))
        monkeypatch.setattr(base, "_MOST_PAGE", 8)
        monkeypatch.setattr(base, "_MOST_WINDOW", 10)
        monkeypatch.setattr(postgres, "_MOST_OF_ALL", 8)
        monkeypatch.setattr(postgres, "_COMMON", common)
        if kind.most_classes is not None:
            monkeypatch.setattr(kind, "most_classes", 1)
        for caller, seen in ((world.ada, rooms), (world.bob, [rooms[0], rooms[2]]), (world.eve, rooms[:1])):
            expected = sorted((id_ for id_, room in said if room in seen), reverse=True)
            assert await world.find("needle", caller) == expected
