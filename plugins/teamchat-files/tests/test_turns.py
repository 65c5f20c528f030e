"""Uploaders take turns: one with many files holds up nobody else's."""

from __future__ import annotations

import trio
import trio.testing
from teamchat_files.turns import Turns


async def test_one_with_many_files_holds_up_nobody_elses() -> None:
    turns = Turns(10)
    for number in range(4):
        assert turns.put("mallory", f"m{number}")
    assert await turns.take() == "m0"
    for uploader in ("ada", "eve"):
        assert turns.put(uploader, uploader)
    assert [await turns.take() for _ in range(5)] == ["m1", "ada", "eve", "m2", "m3"]


async def test_there_is_room_for_so_many_and_again_once_one_is_taken() -> None:
    turns = Turns(2)
    assert [turns.put("ada", name) for name in "abc"] == [True, True, False]
    assert await turns.take() == "a"
    assert turns.put("eve", "d")
    assert [await turns.take() for _ in range(2)] == ["b", "d"]


async def test_who_waits_is_woken_by_a_file_and_who_stops_waiting_loses_none() -> None:
    turns, taken = Turns(2), list[str]()

    async def take() -> None:
        taken.append(await turns.take())

    with trio.move_on_after(0):
        await take()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        await trio.testing.wait_all_tasks_blocked()
        assert turns.put("ada", "a")
    assert taken == ["a"]
