"""A deleted channel is gone at once for whoever looks, and what is left of it is removed behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import trio

from teamchat.capabilities import Capabilities, Changes
from teamchat.chat import Chat, Draft, deletion, rooms_table, sight
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.corpus import Corpus
from teamchat.chat.retention import Retention
from teamchat.errors import NotFound
from teamchat.interfaces import Transaction
from teamchat.model.pages import Page
from teamchat.storage.log import logged_in
from teamchat.stream.rooms import Rooms
from tests.chat.conftest import MAX_LENGTH
from tests.chat.test_retention import DAY, written

TABLES = ("rooms", "messages", "threads", "reactions", "message_images", "images", "webhooks", "memberships")


@pytest.fixture(autouse=True)
def _in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "PART", 3)


async def filled(world: Any, room: str, *people: Any) -> dict[str, Any]:
    """Write more into a room than goes in one part; return ids of what was said there."""
    image, loose = await world.image(room, thumbnail=True), await world.image(room)
    first = await world.chat.messages.post(people[0], room, Draft("secret: the first", [image]))
    replies = [await world.chat.threads.reply(people[-1], first.id, Draft(f"secret: {n}")) for n in range(7)]
    others = [await world.chat.messages.post(people[0], room, Draft(f"secret: {n}")) for n in range(8)]
    await world.chat.reactions.add(people[-1], first.id, "+1")
    await world.chat.webhooks.create(people[0], "Bot", room)
    return {
        "messages": [first.id, *(one.reply.id for one in replies), *(one.id for one in others)],
        "images": [image, loose],
    }


async def counted(world: Any) -> dict[str, int]:
    return {table: await world.count(table) for table in TABLES}


async def test_it_is_gone_at_once_for_whoever_looks(world, ada, bob, channel, refused) -> None:
    said = await filled(world, channel, ada, bob)
    await world.events()
    await world.chat.channels.delete(ada, channel)

    assert await world.count("messages") > 10, "most of it is left"
    assert [event[:2] for event in await world.events()] == [
        ("DELETE_CHANNEL", {"id": channel, "name": "General talk", "createdBy": ada.user.id})
    ]
    for person in (ada, bob):
        assert await world.chat.channels.list(person) == []
        for ask in (
            partial(world.chat.channels.get, person, channel),
            partial(world.chat.messages.page, person, channel, Page(50)),
            partial(world.chat.messages.post, person, channel, Draft("late")),
            partial(world.chat.threads.reply, person, said["messages"][0], Draft("late")),
            partial(world.chat.reactions.add, person, said["messages"][-1], "+1"),
            partial(world.chat.channels.delete, ada, channel),
            partial(world.chat.administration.delete, ada, channel),
            partial(world.chat.images.open_in_channel, person, channel, said["images"][0], thumbnail=False),
        ):
            async with refused(404):
                await ask()
        async with world.storage.read() as tx:
            assert await sight.messages(tx, person, said["messages"]) == set()
            assert await Corpus().seen(tx, person, said["messages"]) == {}
            assert await sight.anywhere(tx, said["messages"][-1]) is None
            assert await Corpus().with_class(tx, said["messages"]) == []
    assert await world.count("webhooks") == 0
    async with world.storage.read() as tx:
        assert sum((await rooms_table.counts(tx)).by_kind.values()) == 0
    assert (await world.chat.administration.page(ada, 10, None)).channels == []
    await world.chat.channels.create(ada, "General talk")  # The name is free.


async def test_what_was_said_there_is_in_no_log_that_anybody_reads(world, ada, bob) -> None:
    """Neither of a public channel nor of a private one, though the table has the texts still (X-15)."""
    for draft in ("Public", NewPrivateChannel("Private", members=[bob.user.id])):
        room = (await world.chat.channels.create(ada, draft)).id
        await filled(world, room, ada, bob)
        await world.chat.channels.delete(ada, room)
        assert await world.run("select 1 from events where text_room = $1", room)
        async with world.storage.read() as tx:
            events, rooms = await logged_in(tx, 0, 1000), await Rooms.read(tx)
        assert "secret" not in "".join(event.payload for event in events)
        assert not any(event.text_room == room for event in events)
        told = [
            event
            for event in events
            if room in event.payload and rooms.sees(bob.user.id, event.audience) and event.type[0] != "_"
        ]
        if draft != "Public":
            assert {event.type for event in told} == {"DELETE_CHANNEL"}
        assert told[-1].type == "DELETE_CHANNEL"


async def test_what_is_left_is_removed_behind_and_nothing_else(world, ada, bob, channel) -> None:
    other = (await world.chat.channels.create(ada, "Other")).id
    await filled(world, other, ada, bob)
    alone = await counted(world) | {"rooms": 1}
    said = await filled(world, channel, ada, bob)
    alone["memberships"] -= 1
    await world.chat.channels.delete(ada, channel)
    await world.events()

    await world.chat.deletion.sweep()

    assert await counted(world) == alone
    assert await world.run("select 1 from events where text_room = $1", channel) == []
    assert len(await world.run("select 1 from events where text_room = $1", other)) > 10
    gone = {said["images"][0], f"thumb-{said['images'][0]}", said["images"][1]}
    assert {key for (key,) in await world.run("select key from doomed_images")} == gone
    assert await world.events() == [], "nobody is told of each message"
    await world.chat.deletion.sweep()  # And again, of nothing.


class Noting(Changes):
    """Notes which messages go in one call, and has two parts of its own to do."""

    def __init__(self) -> None:
        self.went: list[int] = []
        self.cleared = 0

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: sight.Room) -> None:
        self.went.append(len(ids))

    async def room_clearing(self, tx: Transaction, room: sight.Room) -> bool:
        assert await tx.fetch("select 1 from messages where room_id = $1", room.id) == []
        self.cleared += 1
        return self.cleared < 2


async def test_a_part_is_bounded_and_capabilities_do_theirs(world, ada, bob, channel) -> None:
    noting = Noting()
    await filled(world, channel, ada, bob)
    capabilities = Capabilities()
    chat = Chat.build(world.storage, world.images, MAX_LENGTH, capabilities)
    capabilities.keep(noting)
    await chat.channels.delete(ada, channel)
    assert noting.went == [3]
    await chat.deletion.sweep()
    assert sum(noting.went) == 16
    assert max(noting.went) <= 2 * deletion.PART
    assert noting.cleared == 2
    assert await world.count("rooms") == 0


async def test_others_write_between_the_parts(world, ada, bob, channel) -> None:
    other = (await world.chat.channels.create(ada, "Other")).id
    await filled(world, channel, ada, bob)
    await world.chat.channels.delete(ada, channel)
    left = await world.count("messages")
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.chat.deletion.sweep)
            while await world.count("messages") == left:
                await trio.lowlevel.checkpoint()
            await world.chat.messages.post(bob, other, Draft("in between"))
            between = await world.count("messages")
    assert between > 1
    assert await world.count("messages") == 1


async def test_a_process_that_ends_leaves_the_rest_to_the_next(world, ada, bob, channel) -> None:
    await filled(world, channel, ada, bob)
    await world.chat.channels.delete(ada, channel)
    before = await world.count("messages")
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.chat.deletion.sweep)
            while await world.count("messages") == before:
                await trio.lowlevel.checkpoint()
            scope.cancel()
    assert 0 < await world.count("messages") < before
    await Chat.build(world.storage, world.images, MAX_LENGTH).deletion.sweep()
    assert (await world.count("messages"), await world.count("rooms")) == (0, 0)


async def test_of_two_at_once_one_does_it(world, ada, bob, channel) -> None:
    await filled(world, channel, ada, bob)
    await world.chat.channels.delete(ada, channel)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(Chat.build(world.storage, world.images, MAX_LENGTH).deletion.sweep)
    assert await world.count("rooms") == 0


async def test_a_small_channel_is_gone_whole_with_its_deletion(world, ada, channel) -> None:
    await world.chat.messages.post(ada, channel, Draft("secret"))
    await world.chat.channels.delete(ada, channel)
    assert await counted(world) == dict.fromkeys(TABLES, 0)
    assert await world.run("select 1 from events where text_room is not null") == []


async def test_retention_tells_nobody_of_what_is_left(world, ada, bob, channel) -> None:
    for number in range(9):
        await written(world, channel, ada.user.id, 40 * DAY + number)
    await world.chat.channels.delete(ada, channel)
    async with world.storage.read() as tx:
        end = (await tx.fetch("select max(seq) from events"))[0][0]
    await Retention(world.storage, 30).sweep()
    await world.chat.deletion.sweep()
    assert (await world.count("messages"), await world.count("rooms")) == (0, 0)
    async with world.storage.read() as tx:
        rooms, events = await Rooms.read(tx), await logged_in(tx, end, 1000)
    told = [one for one in events if one.type[0] != "_" and rooms.sees(ada.user.id, one.audience)]
    assert told == []


async def test_a_group_whose_people_are_gone_is_not_taken_for_one_again(world, ada, bob, channel) -> None:
    await filled(world, channel, ada, bob)
    await world.chat.channels.delete(ada, channel)
    await world.run("update rooms set archived_at = 1")
    await world.chat.groups.remove_empty()
    assert await world.run("select kind from rooms") == [("gone",)]
    with pytest.raises(NotFound):
        await world.chat.channels.get(ada, channel)
