"""Reactions: idempotent both ways, in order, and told to those who may know."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio

from teamchat.chat import Draft
from teamchat.chat.reactions import MAX_DIFFERENT
from teamchat.errors import NotFound
from teamchat.model.ids import new_id
from teamchat.model.pages import Page


@pytest.fixture
async def message(world, bob, channel):
    posted = await world.chat.messages.post(bob, channel, Draft("hello"))
    await world.events()
    return posted.id


async def test_d27_reactions_are_idempotent_both_ways(world, ada, message):
    reactions, user = world.chat.reactions, ada.user.id
    for _ in range(2):
        reacted = await reactions.add(ada, message, "+1")
        assert (reacted.id, reacted.reactions) == (message, {"+1": [user]})
    for _ in range(2):
        assert (await reactions.remove(ada, message, "+1")).reactions == {}
    payload = {"messageId": message, "userId": user, "reaction": "+1"}
    assert await world.events() == [("NEW_REACTION", payload, None), ("DELETE_REACTION", payload, None)]


async def test_d27_thirty_equal_reactions_at_once_are_one(world, ada, message):
    async with trio.open_nursery() as nursery:
        for _ in range(30):
            nursery.start_soon(world.chat.reactions.add, ada, message, "+1")
    assert await world.count("reactions") == 1
    assert len(await world.events()) == 1


async def test_reactions_stand_in_the_order_in_which_they_came(world, ada, bob, eve, channel, message):
    for caller, reaction in [(eve, "b"), (ada, "a"), (bob, "b"), (ada, "b")]:
        await world.chat.reactions.add(caller, message, reaction)
    [read] = (await world.chat.messages.page(bob, channel, Page(50))).messages
    expected = {"b": [eve.user.id, bob.user.id, ada.user.id], "a": [ada.user.id]}
    assert read.reactions == expected
    assert list(read.reactions) == ["b", "a"]
    reacted = await world.chat.reactions.remove(eve, message, "b")
    assert reacted.reactions == {"a": [ada.user.id], "b": [bob.user.id, ada.user.id]}


async def test_d27_a_message_has_at_most_fifty_different_reactions(world, ada, bob, message, refused):
    async with trio.open_nursery() as nursery:
        for number in range(MAX_DIFFERENT):
            nursery.start_soon(world.chat.reactions.add, ada, message, str(number))
    async with refused(400):
        await world.chat.reactions.add(bob, message, "one more")
    await world.chat.reactions.add(bob, message, "7")
    await world.chat.reactions.remove(ada, message, "3")
    await world.chat.reactions.add(bob, message, "one more")


async def test_d27_replies_take_reactions(world, ada, message):
    reply = (await world.chat.threads.reply(ada, message, Draft("reply"))).reply
    await world.chat.reactions.add(ada, reply.id, "+1")
    [read] = (await world.chat.threads.page(ada, message, Page(50))).messages
    assert read.reactions == {"+1": [ada.user.id]}


async def test_d35_reactions_to_a_direct_message_are_told_to_its_participants_alone(
    world, ada, bob, eve, direct, refused
):
    message = await world.chat.conversations.post(ada, direct, Draft("psst"))
    await world.events()
    await world.chat.reactions.add(bob, message.id, "+1")
    await world.chat.reactions.remove(bob, message.id, "+1")
    told = await world.events()
    assert [kind for kind, _, _ in told] == ["NEW_REACTION", "DELETE_REACTION"]
    assert {frozenset(audience) for _, _, audience in told} == {frozenset({ada.user.id, bob.user.id})}
    for attempt in (world.chat.reactions.add, world.chat.reactions.remove):
        async with refused(404):
            await attempt(eve, message.id, "+1")
    async with refused(404):
        await world.chat.reactions.check(eve, message.id)


@pytest.mark.parametrize("reaction", ["", "  ", "x" * 65, "a\x00", "\udfff"])
async def test_d04_a_reaction_that_is_none_is_refused(world, ada, message, refused, reaction):
    for attempt in (world.chat.reactions.add, world.chat.reactions.remove):
        async with refused(400):
            await attempt(ada, message, reaction)


async def test_d03_a_missing_message_is_told_before_a_bad_reaction(world, ada, message, refused):
    async with refused(404):
        await world.chat.reactions.add(ada, new_id(), "")
    async with refused(404):
        await world.chat.reactions.remove(ada, "nothing", "")
    async with refused(404):
        await world.chat.reactions.check(ada, "nothing")
    await world.chat.reactions.check(ada, message)


async def test_nobody_takes_back_the_reaction_of_another(world, ada, bob, message):
    await world.chat.reactions.add(ada, message, "+1")
    assert (await world.chat.reactions.remove(bob, message, "+1")).reactions == {"+1": [ada.user.id]}


async def test_reactions_and_the_deletion_of_their_message_at_once_leave_none(world, bob, message):
    async def react(number):
        with suppress(NotFound):
            await world.chat.reactions.add(bob, message, str(number))

    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(react, number)
            if number == 15:
                nursery.start_soon(world.chat.messages.delete, bob, message)
    assert await world.count("reactions") == 0
