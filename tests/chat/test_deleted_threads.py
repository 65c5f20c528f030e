"""A message with many replies is gone with them at once, and what is left of them is removed behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from teamchat.accounts.idempotency import MadeIsGone
from teamchat.capabilities import Capabilities, Changes
from teamchat.chat import Chat, Draft, sight
from teamchat.chat.corpus import Corpus
from teamchat.chat.images_table import find_image
from teamchat.chat.retention import Retention
from teamchat.errors import NotFound
from teamchat.interfaces import Transaction
from teamchat.model.pages import Page
from teamchat.storage.log import logged_in
from tests.chat.conftest import MAX_LENGTH
from tests.chat.test_deletion import _in_small_parts, counted  # noqa: F401
from tests.chat.test_retention import DAY, written

REPLIES = 7
GONE = "select id from rooms where kind = 'gone'"


async def thread(world: Any, room: str, author: Any, replier: Any, images: Sequence[str] = ()) -> list[str]:
    """Write a message with more replies than go in one part; return their ids, its own first."""
    first = await world.chat.messages.post(author, room, Draft("secret: the first", images), "a key")
    replies = [
        (await world.chat.threads.reply(replier, first.id, Draft(f"secret: {n}", images))).reply
        for n in range(REPLIES)
    ]
    await world.chat.reactions.add(replier, replies[0].id, "+1")
    return [first.id, *(one.id for one in replies)]


async def test_it_is_gone_at_once_for_whoever_looks(world, ada, bob, channel, refused) -> None:
    image = await world.image(channel, thumbnail=True)
    other = await world.chat.messages.post(bob, channel, Draft("stays"))
    said = await thread(world, channel, ada, bob, [image])
    await world.events()
    await world.chat.messages.delete(ada, said[0])

    assert await world.count("messages") == len(said) + 1, "all of it is left"
    assert await world.events() == [
        ("DELETE_MESSAGE", {"id": said[0], "channelId": channel, "authorId": ada.user.id}, None)
    ]
    for person in (ada, bob):
        page = await world.chat.messages.page(person, channel, Page(50))
        assert [one.id for one in page.messages] == [other.id]
        for ask in (
            partial(world.chat.threads.page, person, said[0], Page(50)),
            partial(world.chat.threads.reply, person, said[0], Draft("late")),
            partial(world.chat.messages.edit, person, said[0], Draft("late")),
            partial(world.chat.messages.delete, person, said[0]),
            partial(world.chat.threads.edit, person, said[0], said[1], Draft("late")),
            partial(world.chat.threads.delete, person, said[0], said[1]),
            partial(world.chat.reactions.add, person, said[-1], "+1"),
        ):
            async with refused(404):
                await ask()
        async with world.storage.read() as tx:
            assert await sight.messages(tx, person, said) == set()
            assert await Corpus().seen(tx, person, said) == {}
            assert await sight.anywhere(tx, said[-1]) is None
            assert await Corpus().with_class(tx, said) == []
            assert await find_image(tx, channel, image) is None
    with pytest.raises(MadeIsGone):
        await world.chat.messages.post(ada, channel, Draft("secret: the first", [image]), "a key")


async def test_what_was_said_there_is_in_no_log_that_anybody_reads(world, ada, bob, channel) -> None:
    said = await thread(world, channel, ada, bob)
    await world.chat.messages.delete(ada, said[0])
    async with world.storage.read() as tx:
        events = await logged_in(tx, 0, 1000)
    assert "secret" not in "".join(event.payload for event in events)
    assert not [event for event in events if event.text_message in said]
    [blanked] = [event for event in events if event.type == "_BLANKED"]
    assert all(one in blanked.payload for one in said), "who has events in memory is told of each"
    assert await world.run("select 1 from events where payload like '%secret%'"), "the table has it still"


async def test_what_is_left_is_removed_behind_and_nothing_else(world, ada, bob, channel) -> None:
    shared, own, loose = [await world.image(channel) for _ in range(3)]
    other = await world.chat.messages.post(bob, channel, Draft("stays", [shared]))
    await world.chat.threads.reply(bob, other.id, Draft("stays too"))
    alone = await counted(world)
    said = await thread(world, channel, ada, bob, [shared, own])
    await world.chat.messages.delete(ada, said[0])
    await world.events()
    async with world.storage.read() as tx:
        found = [one for one in (shared, own, loose) if await find_image(tx, channel, one)]
    assert found == [shared, loose], "an image of another message stays"

    await world.chat.deletion.sweep()

    assert await counted(world) == alone | {"images": 2}
    assert await world.run("select key from doomed_images") == [(own,)]
    assert await world.run(GONE) == []
    assert await world.run("select 1 from events where payload like '%secret%'") == []
    assert await world.events() == [], "nobody is told of each message"
    assert len((await world.chat.messages.page(ada, channel, Page(50))).messages) == 1


class Noting(Changes):
    """Notes what is called, with which room."""

    def __init__(self) -> None:
        self.called: list[tuple[str, str, int]] = []

    async def thread_going(
        self, tx: Transaction, message_id: str, replies: Sequence[str], room: sight.Room
    ) -> None:
        there = "select id from messages where parent_id = $1 and room_id = $2"
        rows = await tx.fetch(there, message_id, room.id)
        assert sorted(replies) == sorted(id_ for (id_,) in rows)
        self.called.append(("thread", room.id, len(replies)))

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: sight.Room) -> None:
        self.called.append(("messages", room.id, len(ids)))

    async def room_clearing(self, tx: Transaction, room: sight.Room) -> bool:
        self.called.append(("room", room.id, 0))
        return False


async def test_capabilities_are_told_at_once_and_of_each_part_of_the_room_that_they_know(
    world, ada, bob, channel
) -> None:
    noting, capabilities = Noting(), Capabilities()
    chat = Chat.build(world.storage, world.images, MAX_LENGTH, capabilities)
    capabilities.keep(noting)
    said = await thread(world, channel, ada, bob)
    await chat.messages.delete(ada, said[0])
    assert noting.called == [("thread", channel, REPLIES)]
    await chat.deletion.sweep()
    parts = noting.called[1:]
    assert {one[:2] for one in parts} == {("messages", channel)}, "the room itself is not cleared"
    assert sum(one[2] for one in parts) == len(said)
    assert max(one[2] for one in parts) <= 4


async def test_what_is_left_goes_though_the_channel_is_deleted_meanwhile(world, ada, bob, channel) -> None:
    said = await thread(world, channel, ada, bob)
    await world.chat.messages.delete(ada, said[0])
    await world.chat.channels.delete(ada, channel)
    assert len(await world.run(GONE)) == 1, "the channel was empty"
    await world.chat.deletion.sweep()
    assert (await world.count("messages"), await world.count("rooms")) == (0, 0)


async def test_retention_removes_a_long_thread_so_and_tells_of_it_once(world, ada, bob, channel) -> None:
    parent = await written(world, channel, ada.user.id, 40 * DAY)
    for _ in range(REPLIES):
        await world.chat.threads.reply(bob, parent, Draft("secret"))
    await world.events()
    assert await Retention(world.storage, 30).sweep() == 1
    assert [event[0] for event in await world.events()] == ["DELETE_MESSAGE"]
    assert await world.count("messages") == REPLIES + 1
    assert await Retention(world.storage, 30).sweep() == 0
    await world.chat.deletion.sweep()
    assert await world.count("messages") == 0


async def test_a_short_thread_is_gone_whole_with_its_message(world, ada, bob, channel) -> None:
    first = await world.chat.messages.post(ada, channel, Draft("secret"))
    for _ in range(2):
        await world.chat.threads.reply(bob, first.id, Draft("secret"))
    await world.chat.messages.delete(ada, first.id)
    assert await world.count("messages") == 0
    assert await world.run(GONE) == []


async def test_a_reply_is_not_found_under_a_message_that_is_gone(world, ada, bob, channel) -> None:
    said = await thread(world, channel, ada, bob)
    await world.chat.messages.delete(ada, said[0])
    async with world.storage.read() as tx:
        with pytest.raises(NotFound):
            await sight.reply(tx, ada, said[0], said[1])
