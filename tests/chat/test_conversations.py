"""Conversations: two people, one conversation, and nobody else."""

from __future__ import annotations

import msgspec
import pytest
import trio

from teamchat.chat import Draft, MessageEdit
from teamchat.model.ids import new_id
from teamchat.model.pages import Page


def wire(thing):
    return msgspec.json.decode(msgspec.json.encode(thing))


def pair(*callers):
    return sorted(caller.user.id for caller in callers)


async def test_a_conversation_is_made_once_and_found_by_both(world, ada, bob):
    opened = await world.chat.conversations.open(ada, bob.user.id)
    assert opened.is_new
    conversation = wire(opened.conversation)
    assert conversation == {
        "id": opened.conversation.id,
        "participants": pair(ada, bob),
        "otherUser": {"id": bob.user.id, "userName": "Bob"},
    }
    assert conversation["id"].startswith("dm:")
    again = await world.chat.conversations.open(bob, ada.user.id)
    assert not again.is_new
    assert wire(again.conversation) == conversation | {"otherUser": {"id": ada.user.id, "userName": "Ada"}}


async def test_d35_a_new_conversation_is_told_to_its_participants_alone_and_once(world, ada, bob):
    opened = await world.chat.conversations.open(ada, bob.user.id)
    await world.chat.conversations.open(ada, bob.user.id)
    [(kind, payload, audience)] = await world.events()
    assert (kind, sorted(audience)) == ("NEW_CONVERSATION", pair(ada, bob))
    assert payload.pop("createdAt") > 0
    assert payload == {"id": opened.conversation.id, "participants": pair(ada, bob)}


async def test_of_thirty_who_open_at_once_one_makes_the_conversation(world, ada, bob):
    opened = []

    async def open_one(number):
        caller, other = ((ada, bob), (bob, ada))[number % 2]
        opened.append(await world.chat.conversations.open(caller, other.user.id))

    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(open_one, number)
    assert sum(one.is_new for one in opened) == 1
    assert len({one.conversation.id for one in opened}) == 1
    assert len(await world.events()) == 1


async def test_d29_oneself_is_refused_and_an_unknown_user_is_missing(world, ada, bob, refused):
    async with refused(400):
        await world.chat.conversations.open(ada, ada.user.id)
    for unknown in (new_id(), "nothing", "", "a\x00b", "\ud800"):
        async with refused(404):
            await world.chat.conversations.open(ada, unknown)
    await world.remove_user(bob)
    async with refused(404):
        await world.chat.conversations.open(ada, bob.user.id)


async def test_d22_a_conversation_stays_when_one_of_the_two_is_removed(world, ada, bob, direct):
    message = await world.chat.conversations.post(bob, direct, Draft("so long"))
    await world.remove_user(bob)
    opened = await world.chat.conversations.open(ada, bob.user.id)
    assert (opened.conversation.id, opened.is_new) == (direct, False)
    [listed] = await world.chat.conversations.list(ada)
    assert listed.other_user.user_name == "Bob"
    assert (await world.chat.conversations.page(ada, direct, Page(50))).messages == [message]


async def test_d29_the_list_is_sorted_by_last_activity(world, ada, bob, eve):
    conversations = world.chat.conversations
    with_bob = (await conversations.open(ada, bob.user.id)).conversation.id
    with_eve = (await conversations.open(eve, ada.user.id)).conversation.id
    between = (await conversations.open(eve, bob.user.id)).conversation.id
    for number, id_ in enumerate([with_eve, with_bob, between]):
        await world.run("update rooms set created_at = $2 where id = $1", id_, 1000 + number)
    listed = await conversations.list(ada)
    assert [one.id for one in listed] == [with_bob, with_eve]
    assert [one.last_message_at for one in listed] == [None, None]
    assert wire(listed[0])["lastMessageAt"] is None
    message = await conversations.post(eve, with_eve, Draft("hi"))
    listed = await conversations.list(ada)
    assert [(one.id, one.last_message_at) for one in listed] == [
        (with_eve, message.created_at),
        (with_bob, None),
    ]
    assert listed[0].other_user.id == eve.user.id


async def test_d29_the_last_message_deleted_leaves_the_time_of_the_one_before(world, ada, bob, direct):
    conversations = world.chat.conversations
    posted = [await conversations.post(ada, direct, Draft(str(number))) for number in range(3)]
    for number, message in enumerate(posted):
        await world.run("update messages set created_at = $2 where id = $1", message.id, 1000 + number)
    for left, message in [(1001, posted[2]), (1001, posted[0])]:
        await conversations.delete(ada, direct, message.id)
        assert (await conversations.list(ada))[0].last_message_at == left
    await conversations.delete(ada, direct, posted[1].id)
    assert (await conversations.list(ada))[0].last_message_at is None


async def test_d36_each_change_of_a_direct_message_is_told_to_its_participants_alone(world, ada, bob, direct):
    conversations = world.chat.conversations
    message = await conversations.post(ada, direct, Draft("psst"))
    told = await world.events()
    edited = await conversations.edit(ada, direct, message.id, Draft("hush"))
    told += await world.events()
    await conversations.delete(ada, direct, message.id)
    told += await world.events()
    two = {"participants": pair(ada, bob)}
    assert [(kind, payload) for kind, payload, _ in told] == [
        ("NEW_DM_MESSAGE", wire(message) | two),
        ("UPDATE_DM_MESSAGE", wire(edited) | two),
        (
            "DELETE_DM_MESSAGE",
            {"id": message.id, "conversationId": direct, "authorId": ada.user.id} | two,
        ),
    ]
    assert all(sorted(audience) == pair(ada, bob) for _, _, audience in told)
    assert message.channel_id == direct


async def test_d03_an_outsider_is_told_403_of_a_conversation_that_is_and_404_of_one_that_is_not(
    world, ada, bob, eve, direct, refused
):
    conversations = world.chat.conversations
    message = await conversations.post(bob, direct, Draft("psst"))
    for id_, status in [(direct, 403), ("dm:" + new_id(), 404), (new_id(), 404), ("dm:\x00", 404)]:
        async with refused(status):
            await conversations.page(eve, id_, Page(0, "nothing"))
        async with refused(status):
            await conversations.check_post(eve, id_)
        async with refused(status):
            await conversations.post(eve, id_, Draft(""))
        async with refused(status):
            await conversations.check_edit(eve, id_, message.id)
        async with refused(status):
            await conversations.edit(eve, id_, message.id, Draft(""))
        async with refused(status):
            await conversations.delete(eve, id_, "nothing")


async def test_d03_a_channel_is_no_conversation_and_a_conversation_no_channel(
    world, ada, bob, channel, direct, refused
):
    async with refused(404):
        await world.chat.conversations.page(ada, channel, Page(50))
    async with refused(404):
        await world.chat.messages.page(ada, direct, Page(50))
    async with refused(404):
        await world.chat.messages.post(ada, direct, Draft("x"))
    async with refused(404):
        await world.chat.channels.check_manage(ada, direct)


async def test_d03_a_direct_message_addressed_as_a_message_is_missing_for_outsiders(
    world, ada, bob, eve, direct, refused
):
    root = await world.user("Root", is_admin=True)
    message = await world.chat.conversations.post(bob, direct, Draft("psst"))
    for outsider in (eve, root):
        async with refused(404):
            await world.chat.messages.check_edit(outsider, message.id)
        async with refused(404):
            await world.chat.messages.edit(outsider, message.id, Draft(""))
        async with refused(404):
            await world.chat.messages.delete(outsider, message.id)


async def test_d29_only_the_author_edits_or_deletes_and_an_admin_does_not(world, ada, bob, direct, refused):
    message = await world.chat.conversations.post(bob, direct, Draft("psst"))
    async with refused(403):
        await world.chat.conversations.check_edit(ada, direct, message.id)
    async with refused(403):
        await world.chat.conversations.edit(ada, direct, message.id, Draft("x"))
    async with refused(403):
        await world.chat.conversations.delete(ada, direct, message.id)
    async with refused(403):
        await world.chat.messages.delete(ada, message.id)
    await world.chat.conversations.check_edit(bob, direct, message.id)
    await world.chat.messages.edit(bob, message.id, Draft("hush"))
    await world.chat.messages.delete(bob, message.id)
    told = await world.events()
    assert [kind for kind, _, _ in told] == ["NEW_DM_MESSAGE", "UPDATE_DM_MESSAGE", "DELETE_DM_MESSAGE"]
    assert all(sorted(audience) == pair(ada, bob) for _, _, audience in told)


async def test_a_message_of_elsewhere_is_not_found_in_a_conversation(
    world, ada, bob, eve, channel, direct, refused
):
    other = (await world.chat.conversations.open(ada, eve.user.id)).conversation.id
    elsewhere = await world.chat.conversations.post(ada, other, Draft("x"))
    in_channel = await world.chat.messages.post(ada, channel, Draft("x"))
    for id_ in (elsewhere.id, in_channel.id, new_id(), "nothing"):
        async with refused(404):
            await world.chat.conversations.edit(ada, direct, id_, Draft("y"))
        async with refused(404):
            await world.chat.conversations.delete(ada, direct, id_)


@pytest.mark.parametrize("content", ["", " ", "x" * 101, "\x00"])
async def test_d04_direct_content_that_is_none_is_refused(world, ada, direct, refused, content):
    async with refused(400):
        await world.chat.conversations.post(ada, direct, Draft(content))


async def test_d25_direct_messages_carry_images_of_their_conversation(world, ada, channel, direct, refused):
    image, foreign = await world.image(direct), await world.image(channel)
    message = await world.chat.conversations.post(ada, direct, Draft("", [image]))
    assert (
        ((await world.chat.conversations.page(ada, direct, Page(50))).messages)[0].images
        == [image]
        == message.images
    )
    async with refused(400):
        await world.chat.conversations.post(ada, direct, Draft("", [foreign]))
    await world.chat.conversations.delete(ada, direct, message.id)
    assert await world.run("select key from doomed_images") == [(image,)]


async def test_d42_an_edit_of_a_direct_messages_images_keeps_its_content(world, ada, direct):
    message = await world.chat.conversations.post(ada, direct, Draft("psst"))
    image = await world.image(direct)
    edited = await world.chat.conversations.edit(ada, direct, message.id, MessageEdit(images=[image]))
    assert (edited.content, edited.images) == ("psst", [image])
