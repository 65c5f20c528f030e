"""Rounds: what many ask for at the same time is done once for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
import trio.testing

from teamchat.errors import NotFound, Unavailable
from teamchat.read_state.together import Together


class Doing:
    """Notes each round, and lets it go on when the test says so."""

    def __init__(self) -> None:
        self.rounds: list[list[str]] = []
        self.may_go_on = trio.Event()
        self.failure: BaseException | None = None

    async def __call__(self, asked: Sequence[str]) -> list[str | Exception]:
        self.rounds.append(list(asked))
        await self.may_go_on.wait()
        if self.failure is not None:
            raise self.failure
        return [NotFound(one) if one.startswith("no ") else one.upper() for one in asked]


class Asking:
    """Tasks that ask, and what each was answered."""

    def __init__(self, do: Doing) -> None:
        self.together: Together[str, str] = Together(do)
        self.answers: dict[str, str] = {}

    async def ask(self, one: str) -> None:
        try:
            self.answers[one] = await self.together.ask(one)
        except (NotFound, Unavailable) as problem:
            self.answers[one] = f"{type(problem).__name__}: {problem.sentence}"


async def test_who_comes_while_a_round_is_under_way_joins_the_next(autojump_clock: object) -> None:
    do = Doing()
    it = Asking(do)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(it.ask, "first")
        await trio.testing.wait_all_tasks_blocked()
        for one in ("a", "no b", "c"):
            nursery.start_soon(it.ask, one)
            await trio.testing.wait_all_tasks_blocked()
        assert do.rounds == [["first"]]
        do.may_go_on.set()
    assert do.rounds == [["first"], ["a", "no b", "c"]]
    assert it.answers == {"first": "FIRST", "a": "A", "no b": "NotFound: no b", "c": "C"}


@pytest.mark.parametrize("leaves", ["a", "b"])
async def test_who_is_cancelled_spoils_it_for_nobody(leaves: str) -> None:
    do = Doing()
    it = Asking(do)
    scopes = {one: trio.CancelScope() for one in ("a", "b", "c")}

    async def ask(one: str) -> None:
        with scopes[one]:
            await it.ask(one)

    async with trio.open_nursery() as nursery:
        for one in scopes:
            nursery.start_soon(ask, one)
            await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(it.ask, "next")
        await trio.testing.wait_all_tasks_blocked()
        scopes[leaves].cancel()
        await trio.testing.wait_all_tasks_blocked()
        do.may_go_on.set()
    assert do.rounds == [["a"], ["b", "c", "next"]]
    assert {"c": "C", "next": "NEXT"}.items() <= it.answers.items()


async def test_a_round_that_fails_fails_for_all_of_it_and_the_next_goes_on() -> None:
    do = Doing()
    it = Asking(do)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(it.ask, "first")
        await trio.testing.wait_all_tasks_blocked()
        for one in ("a", "b"):
            nursery.start_soon(it.ask, one)
            await trio.testing.wait_all_tasks_blocked()
        do.failure = Unavailable("The database is away.")
        do.may_go_on.set()
    assert set(it.answers.values()) == {"Unavailable: The database is away."}
    do.failure = None
    await it.ask("later")
    assert it.answers["later"] == "LATER"


async def test_a_round_that_is_broken_off_leaves_nobody_waiting() -> None:
    do = Doing()
    it = Asking(do)
    with pytest.raises(BaseExceptionGroup) as caught:  # noqa: PT012 - what the others were told is the point
        async with trio.open_nursery() as nursery:
            nursery.start_soon(it.ask, "a")
            nursery.start_soon(it.ask, "b")
            await trio.testing.wait_all_tasks_blocked()
            do.failure = KeyboardInterrupt()
            do.may_go_on.set()
    assert caught.group_contains(KeyboardInterrupt)
