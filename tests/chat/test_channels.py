"""Channels: names, permissions, events, and what goes when one goes."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat.chat import Draft
from teamchat.errors import BadRequest, NotFound
from teamchat.model.ids import new_id
from teamchat.model.pages import Page


async def test_d23_the_first_start_makes_general_and_the_second_makes_nothing(world, ada):
    await world.chat.channels.ensure_first()
    [general] = await world.chat.channels.list(ada)
    assert (general.name, general.created_by) == ("General", ada.user.id)
    await world.chat.channels.ensure_first()
    assert len(await world.chat.channels.list(ada)) == 1


async def test_d23_a_deleted_general_stays_deleted(world, ada):
    await world.chat.channels.ensure_first()
    [general] = await world.chat.channels.list(ada)
    await world.chat.channels.delete(ada, general.id)
    await world.chat.channels.ensure_first()
    assert await world.chat.channels.list(ada) == []


async def test_a_channel_has_its_creator_and_no_update_until_renamed(world, ada):
    made = await world.chat.channels.create(ada, "  Plans ")
    assert (made.name, made.created_by) == ("Plans", ada.user.id)
    assert await world.chat.channels.list(ada) == [made]
    renamed = await world.chat.channels.change(ada, made.id, "Old plans")
    assert renamed.name == "Old plans"
    assert renamed.updated_at >= made.created_at
    assert await world.chat.channels.list(ada) == [renamed]


@pytest.mark.parametrize("name", ["General Talk", "GENERAL TALK", " general talk "])
async def test_d24_a_name_taken_in_any_case_is_refused(world, ada, channel, refused, name):
    async with refused(400):
        await world.chat.channels.create(ada, name)
    other = await world.chat.channels.create(ada, "Other")
    async with refused(400):
        await world.chat.channels.change(ada, other.id, name)


async def test_d24_a_channel_may_change_the_case_of_its_own_name(world, ada, channel):
    renamed = await world.chat.channels.change(ada, channel, "GENERAL TALK")
    assert renamed.name == "GENERAL TALK"


async def test_d24_a_name_is_free_again_after_deletion(world, ada, channel):
    await world.chat.channels.delete(ada, channel)
    await world.chat.channels.create(ada, "General talk")


async def test_d24_of_thirty_who_take_one_name_at_once_one_gets_it(world, ada):
    made = []

    async def create(name):
        with suppress(BadRequest):
            made.append(await world.chat.channels.create(ada, name))

    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(create, "Plans" if number % 2 else "PLANS")
    assert len(made) == 1
    assert await world.chat.channels.list(ada) == made
    assert [kind for kind, _, _ in await world.events()] == ["NEW_CHANNEL"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\x00b", "a\u202eb", "\ud800"])
async def test_d04_a_name_that_is_none_is_refused(world, ada, channel, refused, name):
    async with refused(400):
        await world.chat.channels.create(ada, name)
    async with refused(400):
        await world.chat.channels.change(ada, channel, name)


async def test_d03_a_missing_channel_is_told_before_a_missing_right(world, ada, bob, channel, refused):
    channels = world.chat.channels
    for missing in (new_id(), "nothing", "a\x00b", "dm:" + new_id()):
        async with refused(404):
            await channels.check_manage(bob, missing)
        async with refused(404):
            await channels.change(bob, missing, "")
        async with refused(404):
            await channels.delete(bob, missing)
    async with refused(403):
        await channels.check_manage(bob, channel)
    async with refused(403):
        await channels.change(bob, channel, "")
    async with refused(403):
        await channels.delete(bob, channel)
    async with refused(403):
        await channels.check_create(bob)
    async with refused(403):
        await channels.create(bob, "")
    await channels.check_create(ada)
    await channels.check_manage(ada, channel)


async def test_d36_each_change_of_a_channel_is_told_to_everyone(world, ada):
    made = await world.chat.channels.create(ada, "Plans")
    renamed = await world.chat.channels.change(ada, made.id, "Old plans")
    await world.chat.channels.delete(ada, made.id)
    creator = ada.user.id
    same = {
        "id": made.id,
        "createdBy": creator,
        "isPrivate": False,
        "topic": "",
        "description": "",
        "isDefault": True,
        "isArchived": False,
        "postPolicy": "everyone",
        "invitePolicy": "members",
        "historyFor": "all",
        "memberCount": 1,
    }
    assert await world.events() == [
        ("NEW_CHANNEL", same | {"name": "Plans", "createdAt": made.created_at}, None),
        ("UPDATE_CHANNEL", same | {"name": "Old plans", "updatedAt": renamed.updated_at}, None),
        ("DELETE_CHANNEL", {"id": made.id, "name": "Old plans", "createdBy": creator}, None),
    ]


async def test_a_deleted_channel_takes_all_that_is_in_it_and_nothing_else(world, ada, bob, channel):
    other = (await world.chat.channels.create(ada, "Other")).id
    for place in (channel, other):
        image, loose = await world.image(place, thumbnail=True), await world.image(place)
        parent = await world.chat.messages.post(bob, place, Draft("parent", [image]))
        replied = await world.chat.threads.reply(ada, parent.id, Draft("reply"))
        await world.chat.reactions.add(ada, parent.id, "+1")
        await world.chat.reactions.add(ada, replied.reply.id, "+1")
        await world.chat.webhooks.create(ada, "Bot", place)
        if place == channel:
            gone = {image, f"thumb-{image}", loose}
    await world.events()
    await world.chat.channels.delete(ada, channel)

    left = {"rooms": 1, "messages": 2, "threads": 1, "reactions": 2, "webhooks": 1, "message_images": 1}
    assert {table: await world.count(table) for table in left} == left
    assert {key for (key,) in await world.run("select key from doomed_images")} == gone
    assert [kind for kind, _, _ in await world.events()] == ["DELETE_CHANNEL"]
    [message] = (await world.chat.messages.page(bob, other, Page(50))).messages
    assert message.thread_meta.reply_count == 1


async def test_posts_and_the_deletion_of_their_channel_at_once_leave_no_orphans(
    world, ada, bob, channel, refused
):
    async def post(number):
        with suppress(NotFound):
            message = await world.chat.messages.post(bob, channel, Draft(f"number {number}"))
            await world.chat.threads.reply(ada, message.id, Draft("reply"))

    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(post, number)
            if number == 15:
                nursery.start_soon(world.chat.channels.delete, ada, channel)
    await world.chat.deletion.sweep()  # of a channel with more than a part of them
    assert await world.count("messages") == 0
    assert await world.count("threads") == 0


@pytest.mark.slow
@given(names=st.lists(st.sampled_from(["a", "A", "b", "straße", "STRASSE", "é", "e\u0301"]), max_size=8))
async def test_d24_no_two_channels_ever_have_names_alike(fresh_world, names):
    async with fresh_world() as world:
        ada = await world.user("Ada", is_admin=True)
        taken = set()
        for name in names:
            key = {"A": "a", "STRASSE": "straße", "e\u0301": "é"}.get(name, name)
            if key in taken:
                with pytest.raises(BadRequest):
                    await world.chat.channels.create(ada, name)
            else:
                await world.chat.channels.create(ada, name)
            taken.add(key)
        assert len(await world.chat.channels.list(ada)) == len(taken)
