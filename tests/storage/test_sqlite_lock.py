"""The lock by which bodies and commits of SQLite follow each other."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from teamchat.storage.sqlite.lock import WriterLock
from tests.turns import counting_turns


async def test_who_finds_it_free_takes_it_without_a_turn_of_the_loop() -> None:
    lock = WriterLock()
    with counting_turns() as turns:
        for _ in range(3):
            async with lock:
                pass
    assert turns.count == 0


async def test_all_who_wait_follow_each_other_in_order_and_in_few_turns_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As outside of tests: there those that are woken together run in any order at all.
    monkeypatch.setattr("trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING", False)
    lock, done = WriterLock(), list[tuple[int, int]]()

    async def write(number: int) -> None:
        async with lock:
            done.append((number, turns.count))

    with counting_turns() as turns:
        async with trio.open_nursery() as nursery, lock:
            for number in range(50):
                nursery.start_soon(write, number)
                await trio.testing.wait_all_tasks_blocked()
            assert done == []
    assert [number for number, _ in done] == list(range(50))
    # Of those that are woken together Trio runs the last one first every other time.
    assert len({at for _, at in done}) < 30


async def test_one_at_a_time_also_where_they_wait_while_they_have_it() -> None:
    lock, inside, most = WriterLock(), 0, 0

    async def write() -> None:
        nonlocal inside, most
        async with lock:
            inside += 1
            most = max(most, inside)
            await trio.testing.wait_all_tasks_blocked()
            inside -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(write)
    assert most == 1


async def test_who_is_cancelled_while_they_wait_keeps_nobody_from_it() -> None:
    lock, got = WriterLock(), list[str]()

    async def write(name: str, scope: trio.CancelScope) -> None:
        with scope:
            async with lock:
                got.append(name)

    scopes = {name: trio.CancelScope() for name in "abc"}
    async with trio.open_nursery() as nursery, lock:
        for name, scope in scopes.items():
            nursery.start_soon(write, name, scope)
        await trio.testing.wait_all_tasks_blocked()
        scopes["b"].cancel()
        await trio.testing.wait_all_tasks_blocked()
    assert sorted(got) == ["a", "c"]


async def test_who_is_woken_and_cancelled_at_once_keeps_nobody_from_it() -> None:
    lock, got = WriterLock(), list[str]()
    scope = trio.CancelScope()

    async def first() -> None:
        with scope:
            async with lock:
                got.append("first")

    async def second() -> None:
        async with lock:
            got.append("second")

    async with trio.open_nursery() as nursery:
        async with lock:
            nursery.start_soon(first)
            nursery.start_soon(second)
            await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
    assert "second" in got
    async with lock:
        pass


async def test_it_is_given_back_after_an_error() -> None:
    lock = WriterLock()
    with pytest.raises(ValueError, match="wrong"):
        async with lock:
            raise ValueError("wrong")
    async with lock:
        pass
