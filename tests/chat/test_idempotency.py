"""Idempotency-Key: a retry answers the first message again (decision D-07b)."""

from __future__ import annotations

import pytest
import trio

from teamchat.accounts.idempotency import KEPT_MS, MAX_KEY
from teamchat.chat import Draft


@pytest.fixture(params=["channel", "thread", "conversation"])
async def post(request, world, ada, bob, channel, direct):
    """Post in one of the three kinds of places and return the message."""
    parent = await world.chat.messages.post(ada, channel, Draft("parent"))
    await world.events()

    async def post(caller, draft, key):
        if request.param == "channel":
            return await world.chat.messages.post(caller, channel, draft, key)
        if request.param == "thread":
            return (await world.chat.threads.reply(caller, parent.id, draft, key)).reply
        return await world.chat.conversations.post(caller, direct, draft, key)

    return post


async def test_d07b_a_retry_answers_the_same_message_and_sends_no_event(world, ada, post):
    first = await post(ada, Draft("once"), "key")
    assert await post(ada, Draft("once"), "key") == first
    assert await post(ada, Draft("once", []), "key") == first
    assert len(await world.events()) == 1


async def test_d07b_a_retry_answers_the_message_as_it_is_now(world, ada, bob, post):
    first = await post(ada, Draft("once"), "key")
    await world.chat.messages.edit(ada, first.id, Draft("changed"))
    await world.chat.reactions.add(bob, first.id, "+1")
    again = await post(ada, Draft("once"), "key")
    assert (again.id, again.content, again.reactions) == (first.id, "changed", {"+1": [bob.user.id]})


async def test_d07b_another_body_under_the_same_key_is_refused(world, ada, post, refused):
    await post(ada, Draft("once"), "key")
    async with refused(400):
        await post(ada, Draft("twice"), "key")
    assert len(await world.events()) == 1


async def test_d07b_another_key_and_another_user_make_another_message(world, ada, bob, post):
    made = [
        await post(*how) for how in [(ada, Draft("x"), "a"), (ada, Draft("x"), "b"), (bob, Draft("x"), "a")]
    ]
    made += [await post(ada, Draft("x"), None) for _ in range(2)]
    assert len({message.id for message in made}) == 5


async def test_d07b_a_key_is_forgotten_after_a_day(world, ada, post):
    first = await post(ada, Draft("once"), "key")
    await world.run("update keyed_requests set created_at = created_at - $1", KEPT_MS - 60_000)
    assert (await post(ada, Draft("once"), "key")).id == first.id
    await world.run("update keyed_requests set created_at = created_at - $1", 120_000)
    assert (await post(ada, Draft("twice"), "key")).id != first.id
    assert await world.count("keyed_requests") == 1


async def test_d07b_a_retry_after_the_message_was_deleted_is_refused(world, ada, post, refused):
    first = await post(ada, Draft("once"), "key")
    await world.chat.messages.delete(ada, first.id)
    async with refused(400):
        await post(ada, Draft("once"), "key")


async def test_d07b_what_was_refused_leaves_its_key_free(world, ada, post, refused):
    async with refused(400):
        await post(ada, Draft(""), "key")
    await post(ada, Draft("once"), "key")


async def test_d07b_thirty_retries_at_once_make_one_message(world, ada, post):
    made = set()

    async def retry():
        made.add((await post(ada, Draft("once"), "key")).id)

    async with trio.open_nursery() as nursery:
        for _ in range(30):
            nursery.start_soon(retry)
    assert len(made) == 1
    assert len(await world.events()) == 1


@pytest.mark.parametrize("key", ["", "x" * (MAX_KEY + 1), "a\x00b"])
async def test_d07b_a_key_that_is_none_is_refused(world, ada, post, refused, key):
    async with refused(400):
        await post(ada, Draft("once"), key)


async def test_d07b_the_longest_key_is_taken(ada, post):
    assert await post(ada, Draft("once"), "x" * MAX_KEY) == await post(ada, Draft("once"), "x" * MAX_KEY)


async def test_d07b_the_same_key_in_another_place_is_refused(world, ada, channel, direct, refused):
    other = (await world.chat.channels.create(ada, "Other")).id
    message = await world.chat.messages.post(ada, channel, Draft("once"), "key")
    async with refused(400):
        await world.chat.messages.post(ada, other, Draft("once"), "key")
    async with refused(400):
        await world.chat.conversations.post(ada, direct, Draft("once"), "key")
    async with refused(400):
        await world.chat.threads.reply(ada, message.id, Draft("once"), "key")


async def test_d07b_a_retried_reply_answers_the_threads_figures_of_now(world, ada, bob, channel):
    parent = await world.chat.messages.post(ada, channel, Draft("parent"))
    await world.chat.threads.reply(ada, parent.id, Draft("once"), "key")
    later = await world.chat.threads.reply(bob, parent.id, Draft("later"))
    again = await world.chat.threads.reply(ada, parent.id, Draft("once"), "key")
    assert again.thread_meta == later.thread_meta
