from __future__ import annotations

import re
from hashlib import sha256

import pytest

from teamchat.chat import Draft
from teamchat.model.pages import Page

UNKNOWN = "0" * 32


@pytest.fixture
async def webhook(world, ada, channel):
    webhook = await world.chat.webhooks.create(ada, " Build bot ", channel)
    await world.events()
    return webhook


async def test_a_webhook_is_made_with_a_token_that_is_shown_once(world, ada, channel) -> None:
    webhook = await world.chat.webhooks.create(ada, " Build bot ", channel)
    assert re.fullmatch("[0-9a-f]{64}", webhook.token)
    assert (webhook.name, webhook.channel_id, webhook.created_by) == ("Build bot", channel, ada.user.id)
    [listed] = await world.chat.webhooks.list(ada)
    assert not listed.token
    assert listed.id == webhook.id


async def test_d32_only_a_hash_of_the_token_is_stored(world, webhook) -> None:
    [row] = await world.run("select * from webhooks")
    assert webhook.token not in row
    assert sha256(webhook.token.encode()).hexdigest() in row


async def test_d36_making_and_deleting_a_webhook_is_told_to_everyone(world, ada, channel) -> None:
    webhook = await world.chat.webhooks.create(ada, "Bot", channel)
    await world.chat.webhooks.delete(ada, webhook.id)
    about = {"id": webhook.id, "channelId": channel}
    assert await world.events() == [
        ("NEW_WEBHOOK", about | {"name": "Bot"}, None),
        ("DELETE_WEBHOOK", about, None),
    ]


async def test_x3_webhooks_are_for_admins_and_nobody_else_is_told_which_there_are(
    world, ada, bob, channel, webhook, refused
) -> None:
    for attempt in (
        world.chat.webhooks.check_manage(bob),
        world.chat.webhooks.list(bob),
        world.chat.webhooks.create(bob, "Bot", channel),
        *(
            world.chat.webhooks.delete(bob, webhook_id)
            for webhook_id in (webhook.id, UNKNOWN, "no id", "\ud800")
        ),
    ):
        async with refused(403):
            await attempt
    for webhook_id in (UNKNOWN, "no id", "\ud800"):
        async with refused(404):
            await world.chat.webhooks.delete(ada, webhook_id)


async def test_a_webhook_of_no_channel_or_no_name_is_refused(world, ada, channel, direct, refused) -> None:
    for place in (UNKNOWN, direct, "\ud800"):
        async with refused(404):
            await world.chat.webhooks.create(ada, "Bot", place)
    for name in (" ", "x" * 81):
        async with refused(400):
            await world.chat.webhooks.create(ada, name, channel)
    async with refused(400):
        await world.chat.webhooks.create(ada, "Bot", "")
    assert await world.chat.webhooks.list(ada) == []


async def test_a_post_is_a_message_of_a_bot(world, ada, channel, webhook) -> None:
    message = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("done"))
    author = message.author
    assert (author.id, author.user_name, author.is_bot) == (f"webhook:{webhook.id}", "Build bot", True)
    assert (await world.chat.messages.page(ada, channel, Page(50))).messages == [message]
    [(kind, payload, audience)] = await world.events()
    assert (kind, payload["id"], audience) == ("NEW_MESSAGE", message.id, None)
    assert payload["author"]["isBot"] is True


async def test_d32_a_wrong_token_is_401_whether_or_not_the_webhook_exists(world, webhook, refused) -> None:
    for token in ("", "0" * 64, webhook.token.upper(), webhook.token + "0", "Zürich 🦊", "\ud800", "\0"):
        for webhook_id in (webhook.id, UNKNOWN, "\ud800"):
            async with refused(401):
                await world.chat.webhooks.check_post(webhook_id, token)
            async with refused(401):
                await world.chat.webhooks.post(webhook_id, token, Draft("x"))


async def test_d32_a_valid_token_is_403_on_anothers_path_and_404_on_nobodys(
    world, ada, channel, webhook, refused
) -> None:
    other = await world.chat.webhooks.create(ada, "Other", channel)
    async with refused(403):
        await world.chat.webhooks.post(other.id, webhook.token, Draft("x"))
    for webhook_id in (UNKNOWN, "no id", "\ud800"):
        async with refused(404):
            await world.chat.webhooks.post(webhook_id, webhook.token, Draft("x"))


async def test_a_deleted_webhook_posts_no_more_and_its_messages_stay(
    world, ada, channel, webhook, refused
) -> None:
    message = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("x"))
    await world.chat.webhooks.delete(ada, webhook.id)
    async with refused(401):
        await world.chat.webhooks.post(webhook.id, webhook.token, Draft("y"))
    assert (await world.chat.messages.page(ada, channel, Page(50))).messages == [message]


async def test_the_webhooks_of_a_deleted_channel_are_gone(world, ada, channel, webhook, refused) -> None:
    await world.chat.channels.delete(ada, channel)
    assert await world.chat.webhooks.list(ada) == []
    async with refused(401):
        await world.chat.webhooks.check_post(webhook.id, webhook.token)


async def test_d04_the_content_of_a_post_has_the_bounds_of_every_message(world, webhook, refused) -> None:
    for content in ("", " ", "x" * 101, "\0"):
        async with refused(400):
            await world.chat.webhooks.post(webhook.id, webhook.token, Draft(content))
    assert await world.events() == []


async def test_d25_a_webhook_may_post_images_of_its_channel(world, channel, direct, webhook, refused) -> None:
    name = await world.image(channel)
    message = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("", [name]))
    assert message.images == [name]
    async with refused(400):
        await world.chat.webhooks.post(webhook.id, webhook.token, Draft("", [await world.image(direct)]))


async def test_d07b_a_repeated_key_answers_the_same_message(world, webhook, refused) -> None:
    first = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("x"), "key")
    again = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("x"), "key")
    assert again == first
    assert len(await world.events()) == 1
    async with refused(400):
        await world.chat.webhooks.post(webhook.id, webhook.token, Draft("y"), "key")


async def test_x2_a_repeated_key_tells_a_webhook_nothing_of_what_others_made_of_its_message(
    world, ada, webhook
) -> None:
    first = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("x"), "key")
    await world.chat.reactions.add(ada, first.id, "👍")
    await world.chat.threads.reply(ada, first.id, Draft("not for who has the token alone"))
    assert await world.chat.webhooks.post(webhook.id, webhook.token, Draft("x"), "key") == first


async def test_nobody_edits_a_webhooks_message_and_an_admin_deletes_it(
    world, ada, bob, webhook, refused
) -> None:
    message = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("x"))
    async with refused(403):
        await world.chat.messages.edit(ada, message.id, Draft("y"))
    async with refused(403):
        await world.chat.messages.delete(bob, message.id)
    await world.chat.messages.delete(ada, message.id)
