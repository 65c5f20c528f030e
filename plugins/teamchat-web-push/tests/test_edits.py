"""J-3: what an edit pushes, so that nobody is pushed a message twice."""

from __future__ import annotations

import pytest
import trio

from teamchat.chat import Draft
from teamchat.model import now_ms
from tests.push_world import HOUR, World


async def test_an_edit_that_adds_a_mention_is_pushed_once_also_after_the_place_was_read(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.read(world.bob, message)
    await world.go()
    for text in ("@bob look", "look", "@bob look again"):
        await world.app.chat.messages.edit(world.ada, message, Draft(text))
        await world.go()
    assert [one["kind"] for one in bob.payloads] == ["mention"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@bob look", "@bob @cleo look"),
        ("@bob look", "@bob @channel look"),
        ("@channel look", "@channel @bob look"),
    ],
)
async def test_an_edit_that_mentions_others_pushes_nothing_to_who_was_mentioned_and_has_read_it(
    world: World, before: str, after: str
) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post(before)
    await world.hear()
    await world.read(world.bob, message)
    await world.send()
    assert await world.reasons() == [("skipped", "read")]
    await world.app.chat.messages.edit(world.ada, message, Draft(after))
    await world.go()
    assert bob.payloads == []
    assert set(await world.reasons()) <= {("skipped", "read"), ("skipped", "level")}


async def test_an_edit_that_names_who_was_not_meant_by_all_is_pushed(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.level(world.bob, ignoreChannelMentions=True)
    message = await world.post("@channel look")
    await world.read(world.bob, message)
    await world.go()
    await world.app.accounts.users.add(world.ada, "dora@example.org")
    dora = await world.user("dora@example.org")
    late, _ = await world.subscribe(dora)
    await world.app.chat.messages.edit(world.ada, message, Draft("@channel look @bob @dora"))
    await world.go()
    for browser in (bob, late):
        assert [one["kind"] for one in browser.payloads] == ["mention"]


async def test_an_edit_that_means_all_pushes_nothing_to_who_came_after_the_message(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.app.accounts.users.add(world.ada, "dora@example.org")
    late, _ = await world.subscribe(await world.user("dora@example.org"))
    await world.app.chat.messages.edit(world.ada, message, Draft("@channel look"))
    await world.go()
    assert [one["kind"] for one in bob.payloads] == ["mention"]
    assert late.payloads == []


async def test_an_edit_pushes_nothing_to_who_was_pushed_the_message_already(world: World) -> None:
    await world.choose(world.bob, defaults={"channel": "all"})
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.go()
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
    world.ahead += 5000
    await world.go()
    assert len(bob.payloads) == 1


async def test_a_message_that_waits_while_it_is_edited_is_pushed_once(world: World) -> None:
    await world.choose(world.bob, defaults={"channel": "all"})
    bob, _ = await world.subscribe(world.bob)
    world.activate(world.bob)
    message = await world.post("look")
    await world.go()
    world.ahead += 10_000
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
    await world.go()
    assert await world.reasons() == [(None, "active"), (None, "active")]
    for _ in range(3):
        world.ahead += 21_000
        await world.go()
    assert [(one["kind"], one["body"]) for one in bob.payloads] == [("mention", "@bob look")]
    assert await world.reasons() == [("sent", "mention"), ("skipped", "told")]


async def test_a_message_that_is_held_while_it_is_edited_is_pushed_once_at_the_end(world: World) -> None:
    await world.choose(world.bob, defaults={"channel": "all"}, pausedUntil=now_ms() + HOUR)
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.go()
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
    await world.hear()
    await world.choose(
        world.bob, pausedUntil=None
    )  # The edit comes to be judged when nothing is held any more.
    await world.go()
    world.ahead += HOUR
    await world.go()
    assert [(one["kind"], one["messageId"]) for one in bob.payloads] == [("mention", message)]


async def test_an_edit_of_what_is_on_its_way_waits_for_what_becomes_of_it(world: World) -> None:
    await world.choose(world.bob, defaults={"channel": "all"})
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.hear()
    async with trio.open_nursery() as nursery:
        assert await world.sender.round(nursery) == 1
        await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
        await world.hear()
        world.ahead += 5000
        assert await world.sender.round(nursery) == 0
    await world.sender.note()
    await world.go()
    assert [one["kind"] for one in bob.payloads] == ["message"]
    assert sorted(await world.reasons()) == [("sent", "message"), ("skipped", "told")]


async def test_an_edit_puts_into_the_queue_what_it_may_push_and_nothing_else(world: World) -> None:
    for one in (world.bob, world.cleo):
        await world.subscribe(one)
    await world.choose(world.cleo, defaults={"channel": "all"})
    message = await world.post("look")
    await world.hear()
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
    await world.hear()
    rows = [(row["user_id"], row["reached"] == message) for row in await world.rows()]
    assert sorted(rows) == sorted([(world.cleo.user.id, True), (world.bob.user.id, False)])


async def test_a_message_that_is_edited_before_its_event_was_heard_is_pushed_as_it_is_then(
    world: World,
) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("@bob at noon")
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob at one"))
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["@bob at one"]
