"""Channel messages: content, pages, permissions, images, events."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import trio

from teamchat.chat import Draft, MessageEdit
from teamchat.chat.records import chunks
from teamchat.model.ids import new_id
from teamchat.model.pages import PAGE_MOST, Page
from tests.chat.conftest import MAX_LENGTH
from tests.storages import sqlite_only


def wire(message):
    return msgspec.json.decode(msgspec.json.encode(message))


async def test_d26_a_posted_message_comes_back_whole(world, bob, channel):
    message = await world.chat.messages.post(bob, channel, Draft("hello"))
    assert wire(message) == {
        "id": message.id,
        "channelId": channel,
        "author": {"id": bob.user.id, "userName": "Bob"},
        "content": "hello",
        "createdAt": message.created_at,
        "updatedAt": None,
        "reactions": {},
    }
    assert (await world.chat.messages.page(bob, channel, Page(50))).messages == [message]


async def test_d26_editing_sets_updated_at_and_reactions_and_replies_do_not(world, ada, bob, channel):
    message = await world.chat.messages.post(bob, channel, Draft("hello"))
    await world.chat.reactions.add(ada, message.id, "+1")
    await world.chat.threads.reply(ada, message.id, Draft("reply"))
    [read] = (await world.chat.messages.page(bob, channel, Page(50))).messages
    assert read.updated_at is None
    edited = await world.chat.messages.edit(bob, message.id, Draft("goodbye"))
    assert edited.content == "goodbye"
    assert edited.updated_at >= message.created_at
    assert edited.reactions == {"+1": [ada.user.id]}
    assert edited.thread_meta.reply_count == 1
    assert (await world.chat.messages.page(bob, channel, Page(50))).messages == [edited]


async def test_d36_each_change_of_a_message_is_told_to_everyone(world, bob, channel):
    message = await world.chat.messages.post(bob, channel, Draft("hello"))
    told = await world.events()
    edited = await world.chat.messages.edit(bob, message.id, Draft("goodbye"))
    told += await world.events()
    await world.chat.messages.delete(bob, message.id)
    assert told + await world.events() == [
        ("NEW_MESSAGE", wire(message), None),
        ("UPDATE_MESSAGE", wire(edited), None),
        ("DELETE_MESSAGE", {"id": message.id, "channelId": channel, "authorId": bob.user.id}, None),
    ]


async def test_d35_what_is_refused_sends_no_event_and_changes_nothing(world, ada, bob, channel, refused):
    message = await world.chat.messages.post(bob, channel, Draft("hello"))
    await world.events()
    async with refused(400):
        await world.chat.messages.post(bob, channel, Draft("x", ["1-" + "0" * 32 + ".png"]))
    async with refused(400):
        await world.chat.messages.edit(bob, message.id, Draft("x", ["1-" + "0" * 32 + ".png"]))
    async with refused(403):
        await world.chat.messages.edit(ada, message.id, Draft("x"))
    assert await world.events() == []
    assert (await world.chat.messages.page(bob, channel, Page(50))).messages == [message]


@pytest.mark.parametrize("content", ["", " \n\t", "x" * 101, "a\x00b", "a\ud800b"])
async def test_d04_content_that_is_none_is_refused(world, bob, channel, refused, content):
    message = await world.chat.messages.post(bob, channel, Draft("hello"))
    async with refused(400):
        await world.chat.messages.post(bob, channel, Draft(content))
    async with refused(400):
        await world.chat.messages.edit(bob, message.id, Draft(content))
    async with refused(400):
        await world.chat.threads.reply(bob, message.id, Draft(content))


@pytest.mark.parametrize("content", ["x", "x" * 100, "  spaced \n", "👩‍👩‍👧 \u202eabc", "e\u0301"])
async def test_d04_content_comes_back_unchanged(world, bob, channel, content):
    message = await world.chat.messages.post(bob, channel, Draft(content))
    [read] = (await world.chat.messages.page(bob, channel, Page(50))).messages
    assert message.content == read.content == content


async def test_d04_blank_content_is_accepted_beside_images_alone(world, bob, channel, refused):
    image = await world.image(channel)
    message = await world.chat.messages.post(bob, channel, Draft("", [image]))
    assert message.images == [image]
    await world.chat.messages.edit(bob, message.id, Draft(" "))
    async with refused(400):
        await world.chat.messages.edit(bob, message.id, Draft("", []))
    plain = await world.chat.messages.post(bob, channel, Draft("hello"))
    edited = await world.chat.messages.edit(bob, plain.id, Draft("", [image]))
    assert edited.images == [image]


async def test_d25_images_stay_when_an_edit_does_not_name_them(world, bob, channel):
    first, second = await world.image(channel), await world.image(channel)
    message = await world.chat.messages.post(bob, channel, Draft("look", [second, first]))
    assert (await world.chat.messages.edit(bob, message.id, Draft("see"))).images == [second, first]
    assert (await world.chat.messages.edit(bob, message.id, Draft("see", [first]))).images == [first]
    bare = await world.chat.messages.edit(bob, message.id, Draft("see", []))
    assert "images" not in wire(bare)


async def test_d42_an_edit_of_images_alone_keeps_the_content(world, bob, channel, refused):
    image = await world.image(channel)
    message = await world.chat.messages.post(bob, channel, Draft("look"))
    edited = await world.chat.messages.edit(bob, message.id, MessageEdit(images=[image]))
    assert (edited.content, edited.images) == ("look", [image])
    assert edited.updated_at is not None
    bare = await world.chat.messages.edit(bob, message.id, MessageEdit(images=[]))
    assert (bare.content, "images" in wire(bare)) == ("look", False)
    async with refused(400):
        await world.chat.messages.edit(bob, message.id, MessageEdit())


async def test_d42_a_message_that_is_an_image_does_not_lose_its_last_one(world, bob, channel, refused):
    message = await world.chat.messages.post(bob, channel, Draft("", [await world.image(channel)]))
    async with refused(400):
        await world.chat.messages.edit(bob, message.id, MessageEdit(images=[]))


async def test_d42_what_is_longer_than_may_be_written_today_is_kept(world, bob, channel):
    message = await world.chat.messages.post(bob, channel, Draft("x"))
    long = "y" * (MAX_LENGTH + 1)
    async with world.storage.write() as tx:
        await tx.fetch("update messages set content = $2 where id = $1", message.id, long)
    image = await world.image(channel)
    assert (await world.chat.messages.edit(bob, message.id, MessageEdit(images=[image]))).content == long


async def test_d25_an_image_of_elsewhere_and_more_than_ten_are_refused(world, ada, bob, channel, refused):
    other = (await world.chat.channels.create(ada, "Other")).id
    foreign = await world.image(other)
    own = [await world.image(channel) for _ in range(11)]
    for images in ([foreign], ["nothing"], own):
        async with refused(400):
            await world.chat.messages.post(bob, channel, Draft("look", images))
    message = await world.chat.messages.post(bob, channel, Draft("look", own[:10]))
    assert message.images == own[:10]


async def test_d25_a_deleted_message_dooms_its_images_and_those_of_its_thread(world, bob, channel):
    image, in_thread = await world.image(channel, thumbnail=True), await world.image(channel)
    message = await world.chat.messages.post(bob, channel, Draft("look", [image]))
    await world.chat.threads.reply(bob, message.id, Draft("", [in_thread]))
    await world.chat.messages.delete(bob, message.id)
    doomed = {key for (key,) in await world.run("select key from doomed_images")}
    assert doomed == {image, f"thumb-{image}", in_thread}
    assert await world.count("images") == 0


async def test_d03_a_missing_message_is_told_before_a_missing_right(world, ada, bob, channel, refused):
    messages = world.chat.messages
    message = await messages.post(bob, channel, Draft("hello"))
    for missing in (new_id(), "nothing", "a\x00b", channel):
        async with refused(404):
            await messages.check_edit(bob, missing)
        async with refused(404):
            await messages.edit(bob, missing, Draft(""))
        async with refused(404):
            await messages.delete(bob, missing)
    async with refused(403):
        await messages.check_edit(ada, message.id)
    async with refused(403):
        await messages.edit(ada, message.id, Draft(""))
    await messages.check_edit(bob, message.id)


async def test_d03_a_missing_channel_is_told_before_a_bad_body(world, bob, channel, refused):
    for missing in (new_id(), "nothing", "a\x00b", "dm:" + new_id()):
        async with refused(404):
            await world.chat.messages.check_post(bob, missing)
        async with refused(404):
            await world.chat.messages.post(bob, missing, Draft(""))
        async with refused(404):
            await world.chat.messages.page(bob, missing, Page(0, "nothing"))
    await world.chat.messages.check_post(bob, channel)


async def test_a_message_is_deleted_by_its_author_or_an_admin(world, ada, bob, eve, channel, refused):
    first = await world.chat.messages.post(bob, channel, Draft("one"))
    second = await world.chat.messages.post(bob, channel, Draft("two"))
    async with refused(403):
        await world.chat.messages.delete(eve, first.id)
    await world.chat.messages.delete(bob, first.id)
    await world.chat.messages.delete(ada, second.id)
    async with refused(404):
        await world.chat.messages.delete(ada, second.id)


async def test_a_bots_message_is_edited_by_nobody_and_deleted_by_admins(world, ada, bob, channel, refused):
    webhook = await world.chat.webhooks.create(ada, "Bot", channel)
    posted = await world.chat.webhooks.post(webhook.id, webhook.token, Draft("beep"))
    [read] = (await world.chat.messages.page(bob, channel, Page(50))).messages
    assert read == posted
    assert wire(read)["author"] == {"id": f"webhook:{webhook.id}", "userName": "Bot", "isBot": True}
    for caller in (ada, bob):
        async with refused(403):
            await world.chat.messages.edit(caller, posted.id, Draft("x"))
    async with refused(403):
        await world.chat.messages.delete(bob, posted.id)
    await world.chat.messages.delete(ada, posted.id)


async def test_d22_messages_stay_with_the_last_name_of_a_removed_author(world, bob, eve, channel):
    await world.chat.messages.post(bob, channel, Draft("hello"))
    parent = await world.chat.messages.post(eve, channel, Draft("parent"))
    await world.chat.threads.reply(bob, parent.id, Draft("reply"))
    await world.run("update users set user_name = 'Robert' where id = $1", bob.user.id)
    await world.remove_user(bob)
    hello, parent = (await world.chat.messages.page(eve, channel, Page(50))).messages
    assert hello.author.user_name == "Robert"
    assert parent.thread_meta.last_reply_by.user_name == "Robert"


async def test_d22_who_was_removed_since_they_signed_in_posts_nothing(world, bob, channel, direct, refused):
    await world.remove_user(bob)
    async with refused(401):
        await world.chat.messages.post(bob, channel, Draft("ghost"))
    async with refused(401):
        await world.chat.conversations.post(bob, direct, Draft("ghost"))
    assert await world.events() == []


async def test_d08_a_page_holds_the_newest_older_than_before_oldest_first(world, bob, channel):
    posted = [await world.chat.messages.post(bob, channel, Draft(str(n))) for n in range(5)]

    async def page(before: str | None) -> list[Any]:
        return list((await world.chat.messages.page(bob, channel, Page(2, before))).messages)

    assert await page(None) == posted[3:]
    assert await page(posted[3].id) == posted[1:3]
    assert await page(posted[0].id) == []
    await world.chat.messages.delete(bob, posted[3].id)
    assert await page(posted[3].id) == posted[1:3]


@pytest.mark.parametrize("before", ["", "nothing", "0" * 31, "F" * 32, "0" * 32 + "\n", "dm:" + "0" * 32])
async def test_d08_a_cursor_that_cannot_be_an_id_is_refused(world, bob, channel, direct, refused, before):
    message = await world.chat.messages.post(bob, channel, Draft("hello"))
    async with refused(400):
        await world.chat.messages.page(bob, channel, Page(50, before))
    async with refused(400):
        await world.chat.threads.page(bob, message.id, Page(50, before))
    async with refused(400):
        await world.chat.conversations.page(bob, direct, Page(50, before))


@pytest.mark.parametrize("limit", [0, -1, -(10**30)])
async def test_d08_a_limit_below_one_is_refused(world, bob, channel, refused, limit):
    async with refused(400):
        await world.chat.messages.page(bob, channel, Page(limit))


async def test_d08_a_limit_above_two_hundred_means_two_hundred(world, bob, channel):
    async with trio.open_nursery() as nursery:
        for number in range(PAGE_MOST + 5):
            nursery.start_soon(world.chat.messages.post, bob, channel, Draft(str(number)))
    assert len((await world.chat.messages.page(bob, channel, Page(10**30))).messages) == PAGE_MOST


async def test_d08_replies_never_stand_in_the_channels_list(world, bob, channel):
    parent = await world.chat.messages.post(bob, channel, Draft("parent"))
    await world.chat.threads.reply(bob, parent.id, Draft("reply"))
    assert [m.id for m in (await world.chat.messages.page(bob, channel, Page(50))).messages] == [parent.id]


async def test_messages_posted_at_once_stand_in_the_order_of_their_events(world, bob, channel):
    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(world.chat.messages.post, bob, channel, Draft(str(number)))
    told = [payload["id"] for _, payload, _ in await world.events()]
    read = [message.id for message in (await world.chat.messages.page(bob, channel, Page(50))).messages]
    assert told == read == sorted(read)


@sqlite_only("it looks into SQLite's query plans")
async def test_a_page_takes_five_statements_each_answered_from_an_index(world, ada, bob, channel):
    image = await world.image(channel)
    parents = [await world.chat.messages.post(bob, channel, Draft(str(n), [image])) for n in range(20)]
    for parent in parents:
        await world.chat.threads.reply(ada, parent.id, Draft("reply"))
        await world.chat.reactions.add(ada, parent.id, "+1")
    statements = []
    async with world.storage.read() as tx:
        spied = type(tx).fetch

        async def fetch(self, sql, *params):
            statements.append((sql, params))
            return await spied(self, sql, *params)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(tx), "fetch", fetch)
            page = (await world.chat.messages.page(bob, channel, Page(50))).messages
        assert len(page) == 20
        assert len(statements) == 5
        for sql, params in statements:
            plan = [row[3] for row in await tx.fetch(f"explain query plan {sql}", *params)]
            # A subquery's rows are few, and were found by an index themselves.
            found = {step.replace("CO-ROUTINE", "SCAN") for step in plan if step.startswith("CO-ROUTINE")}
            # The end of the log is read off the end of its key.
            found |= {"SEARCH events"} if sql == "select max(seq) from events" else set()
            assert not [step for step in plan if step.startswith("SCAN") and step not in found], plan


@pytest.mark.parametrize("count", [1, 2, 3, 200, 256, 257, 600])
def test_chunks_hold_every_id_in_few_shapes(count):
    ids = [str(n) for n in range(count)]
    pieces = list(chunks(ids))
    assert [id_ for _, piece in pieces for id_ in dict.fromkeys(piece)] == ids
    assert all(len(piece) == len(marks.split(", ")) <= 256 for marks, piece in pieces)
    assert all(len(piece).bit_count() == 1 for _, piece in pieces)


def test_chunks_of_nothing_are_none():
    assert list(chunks([])) == []
