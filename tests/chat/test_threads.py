"""Threads: replies, the figures of the parent, permissions, events."""

from __future__ import annotations

import msgspec
import pytest
import trio

from teamchat.chat import Draft, MessageEdit
from teamchat.model.ids import new_id
from teamchat.model.pages import Page


def wire(thing):
    return msgspec.json.decode(msgspec.json.encode(thing))


@pytest.fixture
async def parent(world, bob, channel):
    message = await world.chat.messages.post(bob, channel, Draft("parent"))
    await world.events()
    return message


async def meta(world, caller, channel):
    [message] = (await world.chat.messages.page(caller, channel, Page(50))).messages
    return wire(message).get("threadMeta")


async def test_a_reply_comes_back_with_its_threads_figures(world, ada, channel, parent):
    replied = await world.chat.threads.reply(ada, parent.id, Draft("reply"))
    assert wire(replied.reply) == {
        "id": replied.reply.id,
        "threadId": parent.id,
        "channelId": channel,
        "author": {"id": ada.user.id, "userName": "Ada"},
        "content": "reply",
        "createdAt": replied.reply.created_at,
        "updatedAt": None,
        "reactions": {},
    }
    assert wire(replied.thread_meta) == {
        "replyCount": 1,
        "lastReplyAt": replied.reply.created_at,
        "lastReplyBy": {"id": ada.user.id, "userName": "Ada"},
        "participants": [ada.user.id],
    }
    assert await meta(world, ada, channel) == wire(replied.thread_meta)
    assert (await world.chat.threads.page(ada, parent.id, Page(50))).messages == [replied.reply]


async def test_d28_participants_stand_in_order_of_first_reply(world, ada, bob, eve, channel, parent):
    replies = [
        (await world.chat.threads.reply(caller, parent.id, Draft("x"))).reply
        for caller in (eve, ada, eve, bob)
    ]
    assert (await meta(world, ada, channel))["participants"] == [c.user.id for c in (eve, ada, bob)]
    await world.chat.threads.delete(bob, parent.id, replies[3].id)
    figures = await meta(world, ada, channel)
    assert figures["participants"] == [eve.user.id, ada.user.id]
    assert figures["replyCount"] == 3
    assert figures["lastReplyBy"] == {"id": eve.user.id, "userName": "Eve"}
    assert figures["lastReplyAt"] == replies[2].created_at
    await world.chat.threads.delete(eve, parent.id, replies[0].id)
    assert (await meta(world, ada, channel))["participants"] == [ada.user.id, eve.user.id]


async def test_d28_a_parent_without_replies_has_no_thread_meta(world, ada, channel, parent):
    assert await meta(world, ada, channel) is None
    replied = await world.chat.threads.reply(ada, parent.id, Draft("reply"))
    await world.chat.threads.delete(ada, parent.id, replied.reply.id)
    assert await meta(world, ada, channel) is None
    [_, (kind, payload, audience)] = await world.events()
    assert (kind, audience) == ("DELETE_THREAD_REPLY", None)
    assert payload == {
        "id": replied.reply.id,
        "threadId": parent.id,
        "channelId": channel,
        "threadMeta": None,
        "authorId": ada.user.id,
    }


async def test_d28_deleting_a_parent_deletes_its_thread(world, ada, bob, parent, refused):
    replied = await world.chat.threads.reply(ada, parent.id, Draft("reply"))
    await world.chat.reactions.add(bob, replied.reply.id, "+1")
    await world.chat.messages.delete(bob, parent.id)
    for table in ("messages", "threads", "reactions"):
        assert await world.count(table) == 0
    async with refused(404):
        await world.chat.threads.page(ada, parent.id, Page(50))
    assert [kind for kind, _, _ in await world.events()][-1] == "DELETE_MESSAGE"


async def test_a_thread_longer_than_one_statement_is_deleted_whole(world, bob, parent):
    async with trio.open_nursery() as nursery:
        for number in range(300):
            nursery.start_soon(world.chat.threads.reply, bob, parent.id, Draft(str(number)))
    await world.chat.messages.delete(bob, parent.id)
    await world.chat.deletion.sweep()
    assert await world.count("messages") == 0


async def test_d36_each_change_of_a_reply_is_told_to_everyone(world, ada, channel, parent):
    replied = await world.chat.threads.reply(ada, parent.id, Draft("reply"))
    [new] = await world.events()
    edited = await world.chat.threads.edit(ada, parent.id, replied.reply.id, Draft("better"))
    [update] = await world.events()
    kept = await world.chat.threads.reply(ada, parent.id, Draft("second"))
    await world.chat.threads.delete(ada, parent.id, replied.reply.id)
    _, delete = await world.events()
    assert new == (
        "NEW_THREAD_REPLY",
        {
            "parentMessageId": parent.id,
            "channelId": channel,
            "reply": wire(replied.reply),
            "threadMeta": wire(replied.thread_meta),
            "parentAuthorId": parent.author.id,
        },
        None,
    )
    assert update == ("UPDATE_THREAD_REPLY", wire(edited), None)
    assert edited.updated_at is not None
    assert delete[1]["threadMeta"] == wire(kept.thread_meta) | {"replyCount": 1}


async def test_d45_a_reply_tells_whose_message_it_answers_a_persons_or_a_bots(
    world, ada, bob, channel, parent
):
    webhook = await world.chat.webhooks.create(ada, "Deploys", channel)
    posted = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("done"))
    await world.events()
    await world.chat.threads.reply(ada, parent.id, Draft("to a person"))
    await world.chat.threads.reply(ada, posted.id, Draft("to a bot"))
    told = [payload["parentAuthorId"] for _, payload, _ in await world.events()]
    assert told == [bob.user.id, f"webhook:{webhook.id}"]


async def test_d36_a_reply_addressed_as_a_message_behaves_as_a_reply(world, ada, channel, parent):
    replied = await world.chat.threads.reply(ada, parent.id, Draft("reply"))
    await world.chat.messages.edit(ada, replied.reply.id, Draft("better"))
    await world.chat.messages.delete(ada, replied.reply.id)
    kinds = [kind for kind, _, _ in await world.events()]
    assert kinds == ["NEW_THREAD_REPLY", "UPDATE_THREAD_REPLY", "DELETE_THREAD_REPLY"]
    assert await meta(world, ada, channel) is None


async def test_d03_existence_comes_before_permission_in_threads(
    world, ada, bob, eve, channel, parent, refused
):
    threads = world.chat.threads
    reply = (await threads.reply(bob, parent.id, Draft("reply"))).reply
    other = await world.chat.messages.post(bob, channel, Draft("other"))
    for thread, missing in [
        (other.id, reply.id),
        (parent.id, other.id),
        (parent.id, new_id()),
        ("x", reply.id),
    ]:
        async with refused(404):
            await threads.check_edit(bob, thread, missing)
        async with refused(404):
            await threads.edit(bob, thread, missing, Draft(""))
        async with refused(404):
            await threads.delete(bob, thread, missing)
    async with refused(403):
        await threads.check_edit(ada, parent.id, reply.id)
    async with refused(403):
        await threads.edit(ada, parent.id, reply.id, Draft(""))
    async with refused(403):
        await threads.delete(eve, parent.id, reply.id)
    await threads.check_edit(bob, parent.id, reply.id)
    await threads.delete(ada, parent.id, reply.id)
    for missing in (new_id(), "nothing"):
        async with refused(404):
            await threads.check_reply(bob, missing)
        async with refused(404):
            await threads.reply(bob, missing, Draft(""))
        async with refused(404):
            await threads.page(bob, missing, Page(50))
    await threads.check_reply(bob, parent.id)


async def test_a_reply_has_no_thread_of_its_own(world, ada, parent, refused):
    reply = (await world.chat.threads.reply(ada, parent.id, Draft("reply"))).reply
    async with refused(400):
        await world.chat.threads.reply(ada, reply.id, Draft("deeper"))
    assert (await world.chat.threads.page(ada, reply.id, Page(50))).messages == []


async def test_a_direct_message_has_no_thread(world, ada, bob, eve, direct, refused):
    message = await world.chat.conversations.post(ada, direct, Draft("psst"))
    async with refused(400):
        await world.chat.threads.reply(bob, message.id, Draft("deeper"))
    async with refused(404):
        await world.chat.threads.reply(eve, message.id, Draft("deeper"))
    async with refused(404):
        await world.chat.threads.check_reply(eve, message.id)
    async with refused(404):
        await world.chat.threads.page(eve, message.id, Page(50))
    assert (await world.chat.threads.page(bob, message.id, Page(50))).messages == []


async def test_d25_a_reply_carries_images_of_its_channel(world, ada, channel, parent):
    image = await world.image(channel)
    replied = await world.chat.threads.reply(ada, parent.id, Draft("", [image]))
    assert replied.reply.images == [image]
    assert (await world.chat.threads.page(ada, parent.id, Page(50))).messages == [replied.reply]


async def test_thirty_replies_and_fifteen_deletions_at_once_are_counted_right(
    world, ada, bob, channel, parent
):
    async def reply(number):
        caller = (ada, bob)[number % 2]
        replied = await world.chat.threads.reply(caller, parent.id, Draft(str(number)))
        if number < 15:
            await world.chat.threads.delete(caller, parent.id, replied.reply.id)

    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(reply, number)
    replies = (await world.chat.threads.page(ada, parent.id, Page(50))).messages
    figures = await meta(world, ada, channel)
    assert figures["replyCount"] == len(replies) == 15
    assert figures["lastReplyAt"] == replies[-1].created_at
    assert figures["participants"] == list(dict.fromkeys(reply.author.id for reply in replies))
    counts = [payload["threadMeta"]["replyCount"] for _, payload, _ in await world.events()]
    steps = {after - before for before, after in zip([0, *counts], counts, strict=False)}
    assert steps <= {1, -1}


async def test_d42_an_edit_of_a_replys_images_keeps_its_content(world, ada, channel, parent):
    reply = (await world.chat.threads.reply(ada, parent.id, Draft("reply"))).reply
    image = await world.image(channel)
    edited = await world.chat.threads.edit(ada, parent.id, reply.id, MessageEdit(images=[image]))
    assert (edited.content, edited.images) == ("reply", [image])
