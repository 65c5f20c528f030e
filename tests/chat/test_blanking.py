"""What was said in a message that was deleted or edited is gone from the event log (X-15)."""

from __future__ import annotations

import json

import pytest
from msgspec import UNSET

from teamchat.chat import Draft
from teamchat.chat.retention import Retention
from teamchat.storage.log import logged_in

SECRET = "what nobody shall read"
LATER = "what stands there now"


async def log(world) -> list[tuple[int, str, str]]:
    async with world.storage.read() as tx:
        return [(one.seq, one.type, one.payload) for one in await logged_in(tx, 0, 10_000)]


async def check_gone(world, before, *, ends_with: str) -> None:
    """Nothing was left of the secret, and every event that was there still is, with its ids."""
    after = await log(world)
    assert [row[:2] for row in after[: len(before)]] == [row[:2] for row in before]
    assert after[-1][1] == ends_with
    assert not [row for row in after if SECRET in row[2] or ".png" in row[2] or "👍" in row[2]]
    for (_, kind, old), (_, _, new) in zip(before, after, strict=False):
        if SECRET in old:
            assert kind.startswith(("NEW_", "UPDATE_"))
            old_fields, new_fields = json.loads(old), json.loads(new)
            old_said, new_said = (fields.get("reply", fields) for fields in (old_fields, new_fields))
            assert new_said["content"] == ""
            for name in ("id", "channelId", "author", "createdAt"):
                assert new_said[name] == old_said[name]


@pytest.fixture
async def message(world, bob, channel):
    """A message with an image, a reaction that an edit tells of, and an edit."""
    image = await world.image(channel)
    message = await world.chat.messages.post(bob, channel, Draft(SECRET, [image]))
    await world.chat.messages.edit(bob, message.id, Draft(f"{SECRET}, edited"))
    return message


async def test_a_deleted_messages_text_leaves_the_log(world, ada, bob, channel, message) -> None:
    await world.chat.messages.post(ada, channel, Draft("another"))
    before = await log(world)
    await world.chat.messages.delete(bob, message.id)
    await check_gone(world, before, ends_with="DELETE_MESSAGE")
    assert "another" in "".join(payload for _, _, payload in await log(world))


async def test_a_deleted_messages_thread_leaves_the_log_with_it(world, ada, bob, channel) -> None:
    parent = await world.chat.messages.post(bob, channel, Draft(SECRET))
    for number in range(3):
        replied = await world.chat.threads.reply(ada, parent.id, Draft(f"{SECRET} {number}"))
        await world.chat.threads.edit(ada, parent.id, replied.reply.id, Draft(f"{SECRET} again"))
    await world.chat.messages.edit(bob, parent.id, Draft(SECRET))
    before = await log(world)
    await world.chat.messages.delete(bob, parent.id)
    await check_gone(world, before, ends_with="DELETE_MESSAGE")


async def test_a_deleted_replys_text_leaves_the_log(world, bob, message) -> None:
    reply = (await world.chat.threads.reply(bob, message.id, Draft(SECRET))).reply
    await world.chat.messages.edit(bob, message.id, Draft(LATER, []))
    await world.chat.threads.edit(bob, message.id, reply.id, Draft(f"{SECRET} again"))
    before = await log(world)
    await world.chat.threads.delete(bob, message.id, reply.id)
    await check_gone(world, before, ends_with="DELETE_THREAD_REPLY")
    assert LATER in "".join(payload for _, _, payload in await log(world))


async def test_a_deleted_direct_messages_text_leaves_the_log(world, ada, direct) -> None:
    message = await world.chat.conversations.post(ada, direct, Draft(SECRET))
    await world.chat.conversations.edit(ada, direct, message.id, Draft(f"{SECRET} again"))
    before = await log(world)
    await world.chat.conversations.delete(ada, direct, message.id)
    await check_gone(world, before, ends_with="DELETE_DM_MESSAGE")


async def test_a_deleted_channels_texts_leave_the_log(world, ada, bob, channel, message, direct) -> None:
    reply = (await world.chat.threads.reply(bob, message.id, Draft(SECRET))).reply
    await world.chat.threads.edit(bob, message.id, reply.id, Draft(f"{SECRET} again"))
    for number in range(300):
        await world.chat.messages.post(bob, channel, Draft(f"{SECRET} {number}"))
    await world.chat.conversations.post(ada, direct, Draft("elsewhere"))
    before = await log(world)
    await world.chat.channels.delete(ada, channel)
    await check_gone(world, before, ends_with="DELETE_CHANNEL")
    assert "elsewhere" in "".join(payload for _, _, payload in await log(world))
    await world.chat.deletion.sweep()
    assert await world.run("select seq from events where payload like $1", f"%{SECRET}%") == []
    await check_gone(world, before, ends_with="DELETE_CHANNEL")


async def test_what_was_posted_by_a_webhook_leaves_the_log(world, ada, channel) -> None:
    webhook = await world.chat.webhooks.create(ada, "Bot", channel)
    assert webhook.token is not UNSET
    message = await world.chat.webhooks.post(webhook.id, webhook.token, Draft(SECRET))
    before = await log(world)
    await world.chat.messages.delete(ada, message.id)
    await check_gone(world, before, ends_with="DELETE_MESSAGE")


async def test_what_was_kept_for_its_time_leaves_the_log(world, bob, message, direct) -> None:
    await world.chat.threads.reply(bob, message.id, Draft(SECRET))
    await world.chat.conversations.post(bob, direct, Draft(SECRET))
    await world.run("update messages set created_at = 1")
    before = await log(world)
    assert await Retention(world.storage, 0).sweep() == 2
    await check_gone(world, before, ends_with="DELETE_DM_MESSAGE")


@pytest.mark.parametrize("kind", ["message", "reply", "direct message"])
async def test_what_stood_before_an_edit_leaves_the_log(world, ada, channel, direct, kind) -> None:
    if kind == "direct message":
        message = await world.chat.conversations.post(ada, direct, Draft(SECRET))
    else:
        message = await world.chat.messages.post(ada, channel, Draft("parent" if kind == "reply" else SECRET))
    if kind == "reply":
        message = (await world.chat.threads.reply(ada, message.id, Draft(SECRET))).reply
    await world.chat.messages.edit(ada, message.id, Draft(f"{SECRET} again"))
    before = await log(world)
    edited = await world.chat.messages.edit(ada, message.id, Draft(LATER))
    types = {"message": "UPDATE_MESSAGE", "reply": "UPDATE_THREAD_REPLY"}
    await check_gone(world, before, ends_with=types.get(kind, "UPDATE_DM_MESSAGE"))
    assert json.loads((await log(world))[-1][2])["content"] == edited.content == LATER


async def test_a_message_that_is_edited_often_is_found_at_once(world, ada, channel) -> None:
    """What was blanked is not looked at again: an edit costs the same however many there were."""
    message = await world.chat.messages.post(ada, channel, Draft("0"))
    for number in range(20):
        await world.chat.messages.edit(ada, message.id, Draft(str(number)))
    assert await world.run("select text_message from events where text_room = $1", channel) == [(message.id,)]


async def test_an_edit_that_is_refused_leaves_the_log_as_it_was(world, bob, message, refused) -> None:
    before = await log(world)
    async with refused(400):
        await world.chat.messages.edit(bob, message.id, Draft(LATER, ["elsewhere.png"]))
    assert await log(world) == before


async def test_no_retried_request_tells_what_was_deleted(world, bob, channel, refused) -> None:
    message = await world.chat.messages.post(bob, channel, Draft(SECRET), "key")
    await world.chat.messages.delete(bob, message.id)
    async with refused(400):
        await world.chat.messages.post(bob, channel, Draft(SECRET), "key")
    kept = await world.run("select * from keyed_requests")
    assert SECRET not in str(kept)
