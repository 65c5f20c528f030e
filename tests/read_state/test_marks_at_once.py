"""Marks that come at the same time are stored together, and each is its own caller's all the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import trio

from teamchat.accounts.acting import acting_for
from teamchat.model import Caller
from teamchat.model.ids import new_id
from teamchat.observability import metrics
from tests.read_state.world import World

Opened = Callable[[], AbstractAsyncContextManager[World]]
Asks = Callable[[], Awaitable[Any]]


async def at_once(it: World, *asked: Asks) -> list[Any]:
    """Ask for all of this in order, before any is stored; return the answers, and the names of refusals."""
    answers: list[Any] = [None] * len(asked)

    async def ask(number: int) -> None:
        try:
            answers[number] = await asked[number]()
        except Exception as problem:
            answers[number] = type(problem).__name__

    async with trio.open_nursery() as nursery, it.app.storage.write():
        for number in range(len(asked)):
            nursery.start_soon(ask, number)
            await _until_it_waits()
    return answers


async def _until_it_waits() -> None:
    """Let a task that has begun come to what it waits for, so that they ask in order."""
    for _ in range(5):
        await trio.lowlevel.checkpoint()


async def test_marks_of_many_are_stored_in_two_transactions(world: Opened) -> None:
    async with world() as it:
        newest = await it.post("ada", it.general)

        def read(name: str) -> Asks:
            return lambda: it.states.read(it.callers[name], it.general, newest, None)

        before = metrics.writes.value
        answers = await at_once(it, *(read(name) for name in ("bob", "eve", "max", "ada")))
        assert [(state.position, state.unread_count, changed) for state, changed in answers] == [
            (newest, 0, True)
        ] * 4
        of_at_once = 1
        assert metrics.writes.value - before == 2 + of_at_once
        assert {user for user, _ in it.heard.signals} == {it.id(name) for name in it.callers}
        for name in it.callers:
            assert (await it.counts(name))[it.general] == 0


async def test_who_is_refused_among_many_is_so_alone(world: Opened) -> None:
    async with world() as it:
        newest = await it.post("ada", it.general)
        hidden = await it.private("ada", "bob")
        direct = await it.direct("ada", "bob")
        token = Caller(it.callers["eve"].user, it.callers["eve"].session_id, places=frozenset({hidden}))

        def read(caller: Caller, place: str, position: str = newest) -> Asks:
            return lambda: it.states.read(caller, place, position, None)

        bob, eve, max_ = (it.callers[name] for name in ("bob", "eve", "max"))
        answers = await at_once(
            it,
            read(bob, it.general),
            read(eve, hidden),
            read(eve, direct),
            read(eve, new_id()),
            read(eve, "no id at all"),
            read(eve, it.general, "no position"),
            read(token, it.general),
            read(max_, it.general),
        )
        refused = ["NotFound", "Forbidden", "NotFound", "NotFound", "BadRequest", "NotFound"]
        assert [answers[1], answers[2], *answers[3:5], *answers[5:7]] == refused
        assert [answers[number][1] for number in (0, 7)] == [True, True]
        assert (await it.counts("eve"))[it.general] == 1


async def test_d39_of_whom_the_session_has_ended_nothing_is_stored(world: Opened) -> None:
    async with world() as it:
        newest = await it.post("ada", it.general)
        bob, eve, max_ = (it.callers[name] for name in ("bob", "eve", "max"))

        async def read(caller: Caller) -> Any:
            with acting_for(caller):
                return await it.states.read(caller, it.general, newest, None)

        await it.app.accounts.sessions.end(eve, eve.session_id)
        answers = await at_once(
            it, lambda: read(bob), lambda: read(eve), lambda: read(max_), lambda: read(eve)
        )
        assert [answers[1], answers[3]] == ["Unauthorized"] * 2
        assert [answers[number][1] for number in (0, 2)] == [True, True]
        assert (await it.counts("eve"))[it.general] == 1
        assert (await it.counts("max"))[it.general] == 0


async def test_d39_who_has_ended_is_told_so_though_there_is_no_such_place(world: Opened) -> None:
    async with world() as it:
        eve = it.callers["eve"]
        await it.app.accounts.sessions.end(eve, eve.session_id)

        async def read() -> Any:
            with acting_for(eve):
                return await it.states.read(eve, "no id at all", new_id(), None)

        assert await at_once(it, read) == ["Unauthorized"]


async def test_marks_of_one_place_follow_each_other(world: Opened) -> None:
    """Each begins where the one before it has ended, whichever device it is of."""
    async with world() as it:
        ids = [await it.post("ada", it.general) for _ in range(4)]
        bob = it.callers["bob"]

        def read(position: str, generation: int | None = None) -> Asks:
            return lambda: it.states.read(bob, it.general, position, generation)

        def unread(first: str) -> Asks:
            return lambda: it.states.unread(bob, it.general, first)

        mark = (await it.overview("bob")).mark
        # The first goes by itself, the others while it is stored.
        answers = await at_once(
            it,
            read(ids[0]),
            read(ids[2]),
            read(ids[1]),
            unread(ids[1]),
            read(ids[3], 0),
            unread(ids[0]),
        )
        changed = [answer[1] for answer in answers if isinstance(answer, tuple)]
        assert changed == [True, True, False, False]
        state = await it.state("bob", it.general)
        assert (state.generation, state.is_marked_unread, state.unread_count) == (2, True, 4)
        assert [one.place_id for one in (await it.overview("bob", mark)).states] == [it.general]


async def test_a_round_has_room_for_more_than_one_statement_takes(world: Opened) -> None:
    async with world() as it:
        rooms = [await it.public("ada", f"room {number}", is_default=True) for number in range(140)]
        newest = {room: await it.post("ada", room) for room in rooms}
        bob = it.callers["bob"]

        def read(room: str) -> Asks:
            return lambda: it.states.read(bob, room, newest[room], None)

        answers = await at_once(it, *(read(room) for room in rooms))
        assert [(state.place_id, state.unread_count) for state, _ in answers] == [(room, 0) for room in rooms]
        assert sum((await it.counts("bob")).values()) == 0
