"""The judge: what a plain look at every text finds, and in which order, for generated texts and queries."""

from __future__ import annotations

import base64
import os
import random
import unicodedata
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from teamchat_search import search as search_module
from teamchat_search.asking import Request
from teamchat_search.grammar import parsed
from teamchat_search.grams import grams
from teamchat_search.limits import Limits
from teamchat_search.matching import Terms
from teamchat_search.normal import is_unspaced, normal

from teamchat.chat import Draft
from teamchat.model import Caller

_world = import_module("plugins.teamchat-search.tests.world")
_generated = import_module("plugins.teamchat-search.tests.generated")
World, opened = _world.World, _world.opened
brute_force, fill, queries = _generated.brute_force, _generated.fill, _generated.queries

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
).decode()
FIRST, COUNT = map(int, os.environ.get("TEAMCHAT_JUDGED", "100,3").split(","))
"""From which seed on, and how many are tried: ``TEAMCHAT_JUDGED=500,100``."""


def best(said: dict[str, str], query: str, limit: int) -> list[str]:
    """Return what is found by relevance: the score of each match, and the newest of those that are alike."""
    terms = Terms(tuple(dict.fromkeys(normal(one.text) for one in parsed(query) if not one.is_excluded)))
    found = brute_force(said, query)
    return sorted(found, key=lambda id_: -terms.score([normal(said[id_])]))[:limit]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
async def test_f1_f4_f7_every_seed_finds_what_the_judge_finds_in_the_same_order(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "WORK_SECONDS", 60.0)  # A busy machine is not what is judged.
    chance = random.Random(seed)
    async with opened(tmp_path) as world:
        world.search._limits = Limits(100_000)
        said = await fill(world, seed, chance.randint(20, 150))
        await world.indexing.catch_up()
        said |= await fill(world, -seed, chance.randint(0, 40))
        for query in queries(chance, list(said.values()), 120):
            assert await world.find(query) == brute_force(said, query), query
            limit = chance.choice((1, 3, 20, 200))
            results = await world.search.relevance(world.ada, Request(query=query), limit)
            assert results.is_complete
            assert [hit.message.id for hit in results.hits] == best(said, query, limit), query


SCRIPTS = "aZ09_-. \t\u00a0ßéЙα上海서สวังี่ाक\u0301\u200d½²👍🏽☃'\"名"


@given(st.one_of(st.text(st.sampled_from(SCRIPTS), max_size=12), st.text(max_size=8)))
@example("上ab海")
@example("_a b_ 上_ab")
def test_grams_are_what_is_said_of_them(text: str) -> None:
    """Cut character by character, as the docstring of `grams` has it."""

    def is_spaced(one: str) -> bool:
        return unicodedata.category(one)[0] in "LN" and not is_unspaced(one)

    expected: set[str] = set()
    for at, one in enumerate(text):
        three, two = text[at : at + 3], text[at : at + 2]
        if len(three) == 3 and not any(map(str.isspace, three)) and not all(map(is_unspaced, three)):
            expected.add("3" + three)
        if len(two) == 2 and all(map(is_unspaced, two)):
            expected.add("2" + two)
        if not one.isspace() and not is_spaced(one):
            expected.add("1" + one)
    marked = "".join(one if one == "_" or is_spaced(one) else " " for one in text)
    expected |= {"w" + word for word in marked.split(" ") if 0 < len(word) <= 2 and "_" not in word}
    found = grams(text)
    if text.isascii() and text != text.lower():
        expected, found = set(), set()  # Capitals are never in N of an ASCII text.
    assert found == expected


SAID = (
    "我去上海玩",
    "去海上",
    "see db.json today",
    "see dbxjson today",
    "written in C++ once",
    "written in C once",
    "two exact words",
    "words that are exact",
    "exact but not words",
    "η Αθήνα το πρωί",
    "ΑΘΗΝΑ ΤΟ ΒΡΑΔΥ",
    "die Straße ist nass",
    "STRASSE gesperrt",
    "Istanbul'da",
    "İSTANBUL güneşli",
    "stan is not a city",
)
ANSWERS = (
    ("上海", ["我去上海玩"]),
    ("db.json", ["see db.json today"]),
    ("C++", ["written in C++ once"]),
    ('"exact words"', ["two exact words"]),
    ("exact -not", ["words that are exact", "two exact words"]),
    ("ΑΘΗΝΑ", ["ΑΘΗΝΑ ΤΟ ΒΡΑΔΥ", "η Αθήνα το πρωί"]),
    ("αθηνα", ["ΑΘΗΝΑ ΤΟ ΒΡΑΔΥ", "η Αθήνα το πρωί"]),
    ("straße", ["STRASSE gesperrt", "die Straße ist nass"]),
    ("STRASSE", ["STRASSE gesperrt", "die Straße ist nass"]),
    ("İstanbul", ["İSTANBUL güneşli", "Istanbul'da"]),
    ("istanbul", ["İSTANBUL güneşli", "Istanbul'da"]),
)


async def test_what_a_person_would_say_is_found_and_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.search._limits = Limits(1000)
        for text in SAID:
            await world.say(text)
        for _ in range(2):
            for query, expected in ANSWERS:
                assert await world.texts(query) == expected, query
            await world.indexing.catch_up()


async def test_operators_together_find_what_all_of_them_say(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        chat, other = world.app.chat, await world.public("Elsewhere")
        today = datetime.now(UTC)

        async def shown(text: str, room: str, by: Caller) -> str:
            name = await chat.images.upload_to_channel(by, room, "cat.png", PNG, None)
            return str((await chat.messages.post(by, room, Draft(text, images=[name]))).id)

        mine = await shown("mine", world.general, world.ada)
        await shown("another's", world.general, world.bob)
        await shown("elsewhere", other, world.ada)
        await world.say("without an image")
        late = await shown("late", world.general, world.ada)
        async with world.app.storage.write() as tx:
            for id_, at in ((mine, today), (late, today + timedelta(days=1))):
                await tx.fetch(
                    "update messages set created_at = $2 where id = $1", id_, int(at.timestamp() * 1000)
                )
        day = (today + timedelta(days=1)).date().isoformat()
        for _ in range(2):
            assert await world.find(f"from:me in:#general has:image before:{day}") == [mine]
            assert await world.find("from:me in:#general has:image") == [late, mine]
            await world.indexing.catch_up()
