"""Whom messages mention by their names, whom that reaches, and what counts (extension E)."""

from __future__ import annotations

from typing import Any

import pytest

from teamchat.accounts import Account
from teamchat.chat import Draft
from teamchat.errors import BadRequest
from teamchat.mentions.entities import Entity
from teamchat.model import Message
from teamchat.model.pages import Page
from tests.mentions.world import Offered, entities, mentions


class TestMentions(Offered):
    """The contract."""


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "😀 ", "👩‍👩‍👧‍👦 ", "🇩🇪 "])
async def test_a_name_is_found_and_counted_in_code_points(world: Any, before: str) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, f"{before}hello @Bob!")).message
        assert entities(message) == [("user", len(before) + 6, 4, it.id("bob"))]
        assert mentions(message) == [it.id("bob")]
        assert await it.mentions("bob", it.general) == 1
        assert await it.mentions("eve", it.general) == 0


async def test_the_longest_name_counts(world: Any) -> None:
    async with world() as it:
        await it.app.accounts.users.rename(it.callers["eve"], "Bob Ross")
        message = (await it.say("ada", it.general, "@bob ross and @bob, @bobby")).message
        assert mentions(message) == [it.id("eve"), it.id("bob")]


async def test_a_name_ends_where_its_word_does(world: Any) -> None:
    async with world() as it:
        await it.app.accounts.users.rename(it.callers["bob"], "हिन्द")
        message = (await it.say("ada", it.general, "@हिन्दी @हिन्द❤️")).message
        assert entities(message) == [("user", 8, 6, it.id("bob"))]
        changed = (await it.edit("ada", message.id, "@हिन्दी")).message
        assert not entities(changed)


async def test_nothing_is_made_where_nothing_is_wanted(world: Any) -> None:
    async with world() as it:
        assert not entities((await it.say("ada", it.general, "`@bob` x@bob")).message)
        assert not entities((await it.say("ada", it.general, "@bob", parse=False)).message)
        assert not entities((await it.say("ada", it.general, "@bob", [])).message)
        assert await it.mentions("bob", it.general) == 0


async def test_given_entities_name_whom_they_name_whatever_the_text_says(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@Robert, look", [it.user("bob", 0, 7)])).message
        assert mentions(message) == [it.id("bob")]
        [shown] = (await it.app.chat.messages.page(it.callers["eve"], it.general, Page(1))).messages
        assert entities(shown) == entities(message)


async def test_e6_an_entity_of_who_is_deactivated_stays_and_reaches_nobody(world: Any) -> None:
    async with world() as it:
        account = Account(it.callers["bob"].user, is_deactivated=False)
        async with it.app.storage.write() as tx:
            await it.app.accounts.users.deactivate_in(tx, account)
        stored = await it.say("ada", it.general, "@Bob, look", [it.user("bob", 0, 4)])
        assert mentions(stored.message) == [it.id("bob")]
        assert stored.beside == {"unreached": [it.id("bob")]}
        assert await it.mentions("bob", it.general) == 0
        assert not entities((await it.say("ada", it.general, "@Bob, look")).message), "in a text it is text"


@pytest.mark.parametrize(
    "wrong",
    [
        [Entity("user", 0, 50, "")],
        [Entity("user", 0, 4, ""), Entity("user", 3, 2, "")],
        [Entity("user", 1, 3, "")],
        [Entity("channel", 0, 4, "")],
        [Entity("group", 0, 4, "")],
        [Entity("wide", 0, 4, "all")],
        [Entity("user", 0, 4, "f" * 32)],
        [Entity("user", 0, 4, "no id")],
    ],
)
async def test_entities_that_do_not_fit_are_refused(world: Any, wrong: list[Entity]) -> None:
    async with world() as it:
        filled = [Entity(one.type, one.offset, one.length, one.id or it.id("bob")) for one in wrong]
        with pytest.raises(BadRequest):
            await it.say("ada", it.general, "@bob hello", filled)
        assert (await it.app.chat.messages.page(it.callers["ada"], it.general, Page(9))).messages == []


async def test_a_channel_that_the_author_does_not_see_is_none(world: Any) -> None:
    async with world() as it:
        hidden = await it.private("ada")
        with pytest.raises(BadRequest):
            await it.say("bob", it.general, "#secret", [Entity("channel", 0, 7, hidden)])
        message = (await it.say("ada", it.general, "#secret", [Entity("channel", 0, 7, hidden)])).message
        assert entities(message) == [("channel", 0, 7, hidden)]
        assert mentions(message) == []


async def test_who_does_not_see_a_message_is_not_reached_and_the_author_knows(world: Any) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        stored = await it.say("ada", room, "@bob and @eve")
        assert stored.beside == {"unreached": [it.id("eve")]}
        assert mentions(stored.message) == [it.id("bob"), it.id("eve")]
        async with it.app.storage.read() as tx:
            rows = await tx.fetch("select user_id from read_state_mentions")
        assert rows == [(it.id("bob"),)]
        assert await it.mentions("bob", room) == 1
        # A webhook's token goes from hand to hand, and tells nobody who is in the room.
        hook = await it.app.chat.webhooks.create(it.callers["ada"], "CI", room)
        assert (await it.app.chat.webhooks.submit(hook.id, hook.token, Draft("@bob and @eve"))).beside == {}


async def test_one_does_not_mention_oneself(world: Any) -> None:
    async with world() as it:
        stored = await it.say("bob", it.general, "I am @bob")
        assert mentions(stored.message) == [it.id("bob")]
        assert stored.beside == {}
        assert await it.mentions("bob", it.general) == 0


async def test_reading_and_deleting_end_a_count(world: Any) -> None:
    async with world() as it:
        first = (await it.say("ada", it.general, "@bob one")).message
        second = (await it.say("ada", it.general, "@bob two")).message
        assert await it.mentions("bob", it.general) == 2
        await it.delete("ada", second.id)
        assert await it.mentions("bob", it.general) == 1
        await it.states.read(it.callers["bob"], it.general, first.id, None)
        assert await it.mentions("bob", it.general) == 0


async def test_a_direct_message_mentions_too(world: Any) -> None:
    async with world() as it:
        room = await it.direct("ada", "bob")
        stored = await it.say("ada", room, "@bob, and @eve")
        assert stored.beside == {"unreached": [it.id("eve")]}
        assert await it.mentions("bob", room) == 1


async def test_one_message_counts_once_however_often_it_mentions_one(world: Any) -> None:
    async with world() as it:
        await it.say("ada", it.general, "@bob @bob @everyone")
        assert await it.mentions("bob", it.general) == 1


async def test_a_removed_user_is_text(world: Any) -> None:
    async with world() as it:
        await it.app.accounts.users.remove(it.callers["ada"], it.id("bob"))
        assert entities((await it.say("ada", it.general, "@bob")).message) == []
        stored = await it.say("ada", it.general, "@bob", [it.user("bob", 0)])
        assert stored.beside == {"unreached": [it.id("bob")]}


async def test_nobody_newly_takes_a_word_as_their_name(world: Any) -> None:
    async with world() as it:
        for taken in ("all", "Here", "CHANNEL", "everyone", "аll"):
            with pytest.raises(BadRequest):
                await it.app.accounts.users.rename(it.callers["bob"], taken)
        user_id = await it.app.accounts.users.add(it.callers["ada"], "all@example.org")
        names = {one.id: one.user_name for one in await it.app.accounts.users.list()}
        assert names[user_id] != "all"


async def test_a_user_who_is_gone_leaves_no_row(world: Any) -> None:
    async with world() as it:
        await it.say("ada", it.general, "@bob")
        await it.app.accounts.users.remove(it.callers["ada"], it.id("bob"))
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select 1 from read_state_mentions") == []


async def test_a_retry_answers_what_was_made(world: Any) -> None:
    async with world() as it:
        draft, caller = it.draft("@bob"), it.callers["ada"]
        first = await it.app.chat.messages.submit(caller, it.general, draft, "key")
        again = await it.app.chat.messages.submit(caller, it.general, draft, "key")
        assert again.message == first.message
        with pytest.raises(BadRequest):
            await it.app.chat.messages.submit(caller, it.general, it.draft("@bob", []), "key")


async def test_a_retry_is_answered_whom_the_message_did_not_reach(world: Any) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        draft, caller = it.draft("@eve and @bob"), it.callers["ada"]
        first = await it.app.chat.messages.submit(caller, room, draft, "key")
        await it.app.chat.members.add(caller, room, [it.id("eve")])
        again = await it.app.chat.messages.submit(caller, room, draft, "key")
        assert again == first
        assert again.beside == {"unreached": [it.id("eve")]}


async def test_a_message_without_a_sign_changes_nothing(world: Any) -> None:
    async with world() as it:
        stored = await it.say("ada", it.general, "hello")
        assert type(stored.message) is Message
        assert stored.beside == {}
