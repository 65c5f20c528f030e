"""Retention goes through private channels, groups and notes as through all else, and tells who is in them."""

from __future__ import annotations

from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.chat.retention import Retention
from teamchat.model.pages import Page
from teamchat.stream.rooms import Rooms
from tests.chat.test_members import log_end, told
from tests.chat.test_retention import DAY, ids, written


async def test_what_is_older_goes_in_every_private_room_and_its_members_alone_are_told(
    world, ada, bob, eve
) -> None:
    secret = NewPrivateChannel("Secret", members=[eve.user.id])
    rooms = {
        "private": (await world.chat.channels.create(bob, secret)).id,
        "group": (await world.chat.groups.open(bob, GroupOf([ada.user.id, eve.user.id])))[0].id,
        "notes": (await world.chat.groups.notes(bob))[0].id,
    }
    archived = (await world.chat.channels.create(bob, NewPrivateChannel("Closed"))).id
    await world.chat.members.leave(bob, archived)
    kept = []
    for room in (*rooms.values(), archived):
        old = await written(world, room, bob.user.id, 31 * DAY)
        await written(world, room, bob.user.id, 31 * DAY - 1, old)
        kept.append(await written(world, room, bob.user.id, 29 * DAY))
    end = await log_end(world)
    assert await Retention(world.storage, 30).sweep() == 4
    assert await ids(world) == sorted(kept)

    async with world.storage.read() as tx:
        sight = await Rooms.read(tx)
    events = await told(world, after=end)
    heard = {
        one.user.user_name: sorted(to.room_id for _, to in events if sight.sees(one.user.id, to))
        for one in (ada, bob, eve)
    }
    assert {kind for kind, _ in events} == {"DELETE_MESSAGE"}
    assert heard == {
        "Ada": [rooms["group"]],
        "Bob": sorted(rooms.values()),
        "Eve": sorted([rooms["private"], rooms["group"]]),
    }, "an admin is told of nothing that they are not in"


async def test_a_bound_stays_where_it_is_when_all_that_was_before_it_has_gone(world, ada, bob, eve) -> None:
    draft = NewPrivateChannel("Secret", history_for="joiners")
    room = (await world.chat.channels.create(bob, draft)).id
    await written(world, room, bob.user.id, 31 * DAY)
    before = await world.chat.messages.post(bob, room, Draft("before Eve"))
    await world.chat.members.add(bob, room, [eve.user.id])
    await Retention(world.storage, 30).sweep()
    await world.chat.messages.delete(bob, before.id)
    after = await world.chat.messages.post(bob, room, Draft("after Eve"))
    page = (await world.chat.messages.page(eve, room, Page(50))).messages
    assert [one.id for one in page] == [after.id]
