"""Mentions in threads: whom they have follow, and where they are read (extensions D-1, D-4)."""

from __future__ import annotations

from typing import Any

import pytest

from teamchat.chat import deletion
from teamchat.chat.channel_drafts import ChannelChange
from tests.mentions.world import mentions


@pytest.mark.parametrize("most", [deletion.PART, 0], ids=["in one transaction", "and removed behind"])
async def test_deleting_a_message_ends_the_counts_of_its_thread_too(
    world: Any, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(deletion, "PART", most)
    async with world() as it:
        for text in ("@bob", "@channel"):
            parent = (await it.say("ada", it.general, text)).message.id
            await it.say("ada", it.general, "@bob?", thread=parent)
            await it.say("eve", it.general, "@channel", thread=parent)
            assert await it.mentions("bob", it.general) > 1
            await it.delete("ada", parent)
            assert await it.mentions("bob", it.general) == 0
            assert not (await it.threads.page(it.callers["bob"], None, 10, None)).threads


async def test_a_mention_in_a_thread_has_one_follow_it(world: Any) -> None:
    async with world() as it:
        parent = (await it.say("ada", it.general, "what now?")).message.id
        await it.say("eve", it.general, "first", thread=parent)
        reply = (await it.say("eve", it.general, "@bob?", thread=parent)).message
        assert mentions(reply) == [it.id("bob")]
        assert await it.mentions("bob", it.general) == 1
        async with it.app.storage.read() as tx:
            rows = await tx.fetch(
                "select is_following from threads_states where user_id = $1 and message_id = $2",
                *(it.id("bob"), parent),
            )
        assert rows == [(1,)]
        # Reading the place reads nothing of a thread that one follows.
        await it.states.read(it.callers["bob"], it.general, reply.id, None)
        assert await it.mentions("bob", it.general) == 1


async def test_d1_in_a_thread_that_one_has_left_a_mention_is_read_there_too(world: Any) -> None:
    async with world() as it:
        bob, parent = it.callers["bob"], (await it.say("ada", it.general, "what now?")).message.id
        first = (await it.say("eve", it.general, "@bob?", thread=parent)).message.id
        await it.threads.read(bob, parent, first, None)
        await it.threads.set_following(bob, parent, following=False)
        assert await it.mentions("bob", it.general) == 0
        reply = (await it.say("eve", it.general, "@bob!", thread=parent)).message.id
        later = (await it.say("ada", it.general, "later")).message.id
        for position in (reply, later):  # It was not shown with its place.
            await it.states.read(bob, it.general, position, None)
            assert await it.mentions("bob", it.general) == 1
        assert (await it.overview("bob")).badge == 1
        state, changed = await it.threads.read(bob, parent, reply, None)
        assert (changed, state.mention_count, await it.mentions("bob", it.general)) == (True, 0, 0)
        assert (await it.overview("bob")).badge == 0
        marked = await it.threads.unread(bob, parent, reply)
        assert (marked.mention_count, await it.mentions("bob", it.general)) == (1, 1)


async def test_d4_who_joins_has_no_mention_unread_in_threads_either(world: Any) -> None:
    async with world() as it:
        bob, eve = it.callers["bob"], it.callers["eve"]
        room, members = await it.public("ada", "elsewhere"), it.app.chat.members
        await members.join(bob, room)
        parent = (await it.say("ada", room, "what now?")).message.id
        reply = (await it.say("ada", room, "@bob?", thread=parent)).message.id
        await it.threads.read(bob, parent, reply, None)
        await members.leave(bob, room)
        await members.join(bob, room)
        assert await it.mentions("bob", room) == 0
        # Who was mentioned before they were a member, and has ended the follow.
        await it.say("ada", room, "@eve?", thread=parent)
        await it.threads.set_following(eve, parent, following=False)
        await members.join(eve, room)
        assert await it.mentions("eve", room) == 0


async def test_d4_who_becomes_a_member_by_default_has_no_mention_unread(world: Any) -> None:
    async with world() as it:
        bob, room = it.callers["bob"], await it.public("ada", "elsewhere")
        parent = (await it.say("ada", room, "what now, @everyone?")).message.id
        await it.say("ada", room, "@bob?", thread=parent)
        await it.threads.set_following(bob, parent, following=False)
        change = ChannelChange(is_default=True)
        await it.app.chat.channels.change(it.callers["ada"], room, change)
        assert await it.mentions("bob", room) == 0
        await it.states.unread(bob, room, parent)
        assert await it.mentions("bob", room) == 0


async def test_reading_a_thread_tells_what_its_place_counts(world: Any) -> None:
    async with world() as it:
        bob, parent = it.callers["bob"], (await it.say("ada", it.general, "what now?")).message.id
        reply = (await it.say("eve", it.general, "@bob?", thread=parent)).message.id
        mark = (await it.overview("bob")).mark
        await it.threads.read(bob, parent, reply, None)
        [(user, signal)] = it.heard.signals
        assert (user, signal.place_id, signal.mention_count) == (it.id("bob"), it.general, 0)
        [state] = (await it.overview("bob", mark)).states
        assert (state.place_id, state.mention_count) == (it.general, 0)
        await it.say("eve", it.general, "and?", thread=parent)
        await it.threads.read(bob, parent, "f" * 32, None)
        assert len(it.heard.signals) == 1  # Of the place nothing has changed.


async def test_everybody_in_a_reply_is_who_follows_the_thread(world: Any) -> None:
    async with world() as it:
        parent = (await it.say("ada", it.general, "what now?")).message.id
        await it.say("bob", it.general, "@everyone", thread=parent)
        assert [await it.mentions(name, it.general) for name in ("ada", "bob", "eve")] == [1, 0, 0]


@pytest.mark.parametrize("is_private", [False, True])
async def test_d4_who_joins_has_no_mention_unread_in_a_reply_either(world: Any, is_private: bool) -> None:
    async with world() as it:
        room = await (it.private("ada") if is_private else it.public("ada", "news"))
        add = it.app.chat.members.add
        await add(it.callers["ada"], room, [it.id("bob")])
        parent = (await it.say("ada", room, "hello")).message.id
        await it.say("ada", room, "what do you say, @bob?", thread=parent)
        assert await it.mentions("bob", room) == 1
        await it.app.chat.members.leave(it.callers["bob"], room)
        await add(it.callers["ada"], room, [it.id("bob")])
        state = await it.state("bob", room)
        assert (state.unread_count, state.mention_count) == (0, 0)
        await it.say("ada", room, "@bob?", thread=parent)
        assert await it.mentions("bob", room) == 1
