"""F-5 and X-3: a search holds up nobody, and takes no longer or shorter for what one does not see."""

from __future__ import annotations

import random
import re
import statistics
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
import trio
from teamchat_search.asking import Request
from teamchat_search.limits import AT_ONCE, Limits
from teamchat_search.matching import Terms

from teamchat import TooManyRequests, Transaction
from teamchat.model import Caller, now_ms
from teamchat.model.ids import id_at
from teamchat.storage.statements import flat, in_pieces, values

_world = import_module("plugins.teamchat-search.tests.world")
World, opened = _world.World, _world.opened

HIDDEN, NOWHERE = "unterirdisch", "nirgendwo"
PAIRS = 150
_MOST_APART = 0.15
"""How far from one half the share of pairs may be in which the hidden word took longer: four deviations."""


async def said_at_once(world: World, room: str, by: Caller, texts: list[str]) -> None:
    """Have messages of a room be there that were said one after another until now, without events."""
    begin = now_ms() - len(texts) * 10
    rows = [
        (id_at(begin + 10 * number, f"{room} {number}"), room, by.user.id, text, begin + 10 * number)
        for number, text in enumerate(texts)
    ]
    async with world.app.storage.write() as tx:
        for piece in in_pieces(rows):
            listed = values("({0}, {1}, {2}, {3}, {4})", 5, len(piece), 0)
            await tx.fetch(
                f"insert into messages (id, room_id, author_id, content, created_at) values {listed}",
                *flat(piece),
            )


class Counting:
    """A storage that notes what is asked of it, and how many rows come back."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.asked: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        async with self._inner.read() as tx:
            yield _Noting(tx, self.asked)  # type: ignore[misc]


class _Noting:
    def __init__(self, tx: Transaction, asked: list[tuple[str, int]]) -> None:
        self._tx = tx
        self._asked = asked

    async def fetch(self, sql: str, *params: Any) -> Any:
        rows = await self._tx.fetch(sql, *params)
        # Which pieces are looked for, and how many, is in a statement of PostgreSQL.
        self._asked.append((re.sub(r"'\{[0-9,]+\}'", "'{...}'", sql), len(rows)))
        return rows


@contextmanager
def noting(world: World) -> Iterator[Counting]:
    """Note what searches ask of the storage."""
    before = world.app.storage
    counting = Counting(before)
    object.__setattr__(world.app, "storage", counting)
    try:
        yield counting
    finally:
        object.__setattr__(world.app, "storage", before)


async def secret(world: World, count: int, words: Sequence[str] = (HIDDEN,)) -> str:
    """Make a private channel of ada's in which words were said often, and say other things in public."""
    room = await world.private("Secret")
    said = [f"{words[number % len(words)]} {number}" for number in range(count)]
    await said_at_once(world, room, world.ada, said)
    await said_at_once(
        world, world.general, world.bob, [f"something else {number}" for number in range(count)]
    )
    return room


@pytest.mark.parametrize("is_indexed", [True, False])
async def test_x3_the_same_is_asked_of_the_storage_for_a_hidden_word_and_one_that_is_nowhere(
    tmp_path: Path, *, is_indexed: bool
) -> None:
    async with opened(tmp_path) as world:
        room = await secret(world, 300)
        if is_indexed:
            await world.indexing.catch_up()
        for hidden, nowhere in (
            (HIDDEN, NOWHERE),
            (f"{HIDDEN} from:@Admin", f"{NOWHERE} from:@Admin"),
            (f"in:#Secret {HIDDEN}", f"in:#Nowhere {NOWHERE}"),
            (f"in:{room} else", f"in:{room[:-4]}0000 else"),
        ):
            asked = []
            for query in (hidden, nowhere):
                with noting(world) as storage:
                    found = await world.results(query, world.eve)
                assert not found.hits
                asked.append(storage.asked)
            assert asked[0] == asked[1], f"{hidden!r} is looked for in another way than {nowhere!r}"
        assert len((await world.results(HIDDEN, world.ada)).hits) == 200


@pytest.mark.slow
@pytest.mark.alone
async def test_x3_a_search_takes_as_long_for_a_hidden_word_as_for_one_that_is_nowhere(tmp_path: Path) -> None:
    """In pairs, in an order drawn by lot: neither of the two may be the slower one more often.

    Of any two words one is looked up faster, by where the index has its pieces: each pair is of other words.
    """
    chance = random.Random(5)
    words = ["".join(chance.choices(ascii_lowercase, k=12)) for _ in range(2 * PAIRS)]
    hidden, nowhere = words[:PAIRS], words[PAIRS:]
    async with opened(tmp_path) as world:
        await secret(world, 20 * PAIRS, hidden)
        await world.indexing.catch_up()
        slower = 0
        times: dict[str, list[float]] = {"hidden": [], "nowhere": []}
        for pair in zip(hidden, nowhere, strict=True):
            taken = dict.fromkeys(pair, 0.0)
            for word in chance.sample(pair, 2):
                began = time.perf_counter()
                await world.results(word, world.eve)
                taken[word] = time.perf_counter() - began
            slower += taken[pair[0]] > taken[pair[1]]
            for name, word in zip(times, pair, strict=True):
                times[name].append(taken[word])
        assert abs(slower / PAIRS - 0.5) <= _MOST_APART, (
            slower,
            {name: statistics.median(ones) for name, ones in times.items()},
        )


async def test_f5_others_are_served_while_hard_queries_work(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await said_at_once(
            world, world.general, world.bob, [f"{number} " + "ab" * 500 for number in range(3000)]
        )
        needle = await world.say("needle")
        served = trio.Event()

        async def hard(*, task_status: trio.TaskStatus[None]) -> None:
            async with world.search.turn(world.ada):
                task_status.started()
                while not served.is_set():
                    await world.results("abababababababababc")

        world.search._limits = Limits(1_000_000)
        async with trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                await nursery.start(hard)
            with pytest.raises(TooManyRequests):
                async with world.search.turn(world.ada):
                    pass
            with trio.fail_after(60):
                async with world.search.turn(world.bob):
                    found = await world.results("needle", world.bob, limit=1)
            served.set()
            assert [hit.message.id for hit in found.hits] == [needle]


@pytest.mark.parametrize("work", ["score", "places"])
async def test_f5_others_have_a_turn_after_each_long_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    turns, at = 0, []
    done = getattr(Terms, work)

    def noted(terms: Terms, given: Any) -> Any:
        at.append(turns)
        return done(terms, given)

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    monkeypatch.setattr(Terms, work, noted)
    async with opened(tmp_path) as world, trio.open_nursery() as nursery:
        await said_at_once(world, world.general, world.bob, ["a" * 16_000] * 20)
        nursery.start_soon(count)
        await world.search.relevance(world.ada, Request(query="aaa aaaa"), 20)
        nursery.cancel_scope.cancel()
    assert len(at) == 20
    assert len(set(at)) > 5  # Of two tasks that can go on either may be the first, so it need not be twenty.


def test_f5_a_minute_is_counted_for_each_by_themselves() -> None:
    async def main() -> None:
        limits = Limits(2)
        for user in ("ada", "bob"):
            for _ in range(2):
                with limits.taken(user):
                    pass
            with pytest.raises(TooManyRequests), limits.taken(user):
                pass

    trio.run(main)
