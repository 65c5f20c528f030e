"""J-4, J-5: when what is due is sent, and that it is sent once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import trio
from teamchat_web_push.queue import _Wanted

from tests.push_world import World

HALF_A_MINUTE = 30_000


async def test_what_is_noted_while_it_is_looked_for_is_not_judged_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.direct()
    await world.hear()
    async with trio.open_nursery() as nursery:
        await world.sender.round(nursery)
    due = world.queue.due

    async def noted_meanwhile(*asked: Any, **more: Any) -> Any:
        found = await due(*asked, **more)
        await world.sender.note()
        return found

    monkeypatch.setattr(world.queue, "due", noted_meanwhile)
    async with trio.open_nursery() as nursery:
        assert await world.sender.round(nursery) == 0
    assert await world.reasons() == [("sent", "direct")]
    assert len(bob.payloads) == 1


async def test_an_open_browser_delays_a_push_and_never_swallows_it(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    world.activate(world.bob)
    await world.post("@bob look")
    await world.go()
    assert bob.payloads == []
    assert await world.reasons() == [(None, "active")]
    world.ahead += HALF_A_MINUTE - 5000
    await world.go()
    assert bob.payloads == []
    world.ahead += 6000  # They are active still, and have not read it.
    await world.go()
    assert len(bob.payloads) == 1


async def test_what_is_read_on_the_laptop_within_half_a_minute_leaves_the_phone_silent(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    world.activate(world.bob)
    message = await world.post("@bob look")
    await world.go()
    await world.read(world.bob, message)
    world.ahead += HALF_A_MINUTE + 1000
    await world.go()
    assert bob.payloads == []
    assert await world.reasons() == [("skipped", "read")]


async def test_others_have_their_turns_while_a_message_to_thousands_is_put_into_the_queue(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, checkpoint = Counter[str](), trio.lowlevel.checkpoint

    async def counted() -> None:
        turns["others"] += 1
        await checkpoint()

    message = await world.post("for all")
    async with world.app.storage.read() as tx:
        noticed = await world.queue._notices.noticed(tx, message)
        assert noticed is not None
        wanted = _Wanted(message, message, users=[f"{number:032x}" for number in range(1000)])
        monkeypatch.setattr("teamchat_web_push.queue.trio.lowlevel.checkpoint", counted)
        assert await world.queue._devices(tx, noticed, wanted, world.now()) == []
    assert turns["others"] >= 4


async def test_of_a_burst_in_one_place_one_push_goes_in_two_seconds(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    for number in range(80):
        await world.direct(str(number))
    await world.hear()
    async with trio.open_nursery() as nursery:
        for _ in range(3):  # The first is under way still.
            await world.sender.round(nursery)
    await world.sender.note()
    for count in range(1, 4):
        await world.send()
        assert len(bob.payloads) == count
        world.ahead += 3000
    assert bob.payloads[-1]["body"] == "79"


async def test_messages_of_one_place_within_two_seconds_are_one_push_of_the_newest(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.direct("one")
    await world.go()
    await world.direct("two")
    three = await world.direct("three")
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["one"]
    world.ahead += 2500
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["one", "three"]
    assert bob.payloads[1]["messageId"] == three
    assert sorted(await world.reasons()) == [("sent", "direct"), ("sent", "direct"), ("sent", "joined")]
    assert bob.received[0].headers["topic"] == bob.received[1].headers["topic"]


async def test_an_event_that_is_read_again_pushes_nothing_anew(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    before = world.heard
    await world.direct("hello")
    await world.go()
    world.heard = before
    world.restart()
    await world.go()
    assert len(bob.payloads) == 1
