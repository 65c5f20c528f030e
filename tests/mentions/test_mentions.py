"""Whom messages mention, whom that reaches, and what counts (extension E)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from teamchat.accounts import Account
from teamchat.chat import Draft, deletion
from teamchat.chat.channel_drafts import ChannelChange
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import BadRequest, Forbidden
from teamchat.mentions.entities import Entity
from teamchat.model import Message
from teamchat.model.pages import Page
from teamchat.read_state.levels import keywords
from teamchat.testing import exports
from tests.mentions.world import Offered


class TestMentions(Offered):
    """The contract."""


def entities(message: Message) -> list[tuple[str, int, int, str]]:
    found = getattr(message, "entities", UNSET)
    return [] if found is UNSET else [(one.type, one.offset, one.length, one.id) for one in found]


def mentions(message: Message) -> list[str]:
    found = getattr(message, "mentions", UNSET)
    return [] if found is UNSET else list(found)


async def set_keywords(it: Any, name: str, *words: str) -> None:
    async with it.app.storage.write() as tx:
        await keywords.store(tx, it.id(name), keywords.checked(words))


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


async def test_everybody_is_one_row_and_counts_for_all_but_the_author(world: Any) -> None:
    async with world() as it:
        message = (await it.say("bob", it.general, "@everyone and @here")).message
        assert mentions(message) == ["@channel", "@here"]
        assert [await it.mentions(name, it.general) for name in ("ada", "bob", "eve")] == [1, 0, 1]
        async with it.app.storage.read() as tx:
            assert len(await tx.fetch("select 1 from read_state_wide")) == 1
            assert await tx.fetch("select 1 from read_state_mentions") == []


async def test_who_is_online_is_mentioned_without_a_count(world: Any) -> None:
    async with world() as it:
        assert mentions((await it.say("bob", it.general, "@here")).message) == ["@here"]
        assert await it.mentions("eve", it.general) == 0


async def test_one_message_counts_once_however_often_it_mentions_one(world: Any) -> None:
    async with world() as it:
        await it.say("ada", it.general, "@bob @bob @everyone")
        assert await it.mentions("bob", it.general) == 1


async def test_who_ignores_mentions_of_the_channel_is_not_counted(world: Any) -> None:
    async with world() as it:
        async with it.app.storage.write() as tx:
            await tx.fetch(
                """insert into notification_levels (user_id, room_id, level, is_muted, ignores_wide, changed)
                values ($1, $2, 'default', 0, 1, 1)""",
                *(it.id("eve"), it.general),
            )
        await it.say("bob", it.general, "@everyone")
        assert await it.mentions("eve", it.general) == 0
        assert await it.mentions("ada", it.general) == 1


async def test_a_change_of_the_text_keeps_whom_it_still_names(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@Robert hi", [it.user("bob", 0, 7)])).message
        edited = (await it.edit("ada", message.id, "hi, @Robert and @eve")).message
        assert entities(edited) == [("user", 4, 7, it.id("bob")), ("user", 16, 4, it.id("eve"))]
        gone = (await it.edit("ada", message.id, "hi, @Roberta")).message
        assert entities(gone) == []
        assert await it.mentions("bob", it.general) == 0


async def test_a_name_that_somebody_else_takes_later_changes_nothing(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob hi")).message
        await it.app.accounts.users.rename(it.callers["bob"], "Robert")
        await it.app.accounts.users.rename(it.callers["eve"], "bob")
        edited = (await it.edit("ada", message.id, "@bob hi there")).message
        assert mentions(edited) == [it.id("bob")]


async def test_a_mention_that_goes_and_comes_back_is_reached_once(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob")).message
        await it.edit("ada", message.id, "nobody")
        assert await it.mentions("bob", it.general) == 0
        await it.edit("ada", message.id, "@bob again")
        assert await it.mentions("bob", it.general) == 1
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select reached from read_state_mentions") == [(message.id,)]


async def test_a_filter_that_changes_the_text_moves_given_entities(world: Any) -> None:
    class Shouting:
        name = "shouting"

        async def filter(self, posting: Any) -> str:
            return f"NOTE: {posting.content}"

    async with world() as it:
        it.app.chat.filters.use([Shouting()])
        message = (await it.say("ada", it.general, "@Robert", [it.user("bob", 0, 7)])).message
        assert entities(message) == [("user", 6, 7, it.id("bob"))]


async def test_keywords_count_from_when_they_were_set(world: Any) -> None:
    async with world() as it:
        await it.say("ada", it.general, "the deploy is on")
        await set_keywords(it, "bob", "Deploy")
        assert await it.mentions("bob", it.general) == 0
        message = (await it.say("ada", it.general, "DEPLOY again")).message
        assert mentions(message) == []
        assert await it.mentions("bob", it.general) == 1
        await it.say("bob", it.general, "deploy, I say")
        assert await it.mentions("bob", it.general) == 1
        await it.edit("ada", message.id, "DEPLOY once more")
        assert await it.mentions("bob", it.general) == 1
        await it.edit("ada", message.id, "never")
        assert await it.mentions("bob", it.general) == 0


async def test_a_keyword_that_an_edit_adds_reaches_where_another_stood_unheard(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "soon release")).message
        await set_keywords(it, "bob", "deploy", "release")
        await it.edit("ada", message.id, "soon release!")
        assert await it.mentions("bob", it.general) == 0
        await it.edit("ada", message.id, "soon release deploy")
        assert await it.mentions("bob", it.general) == 1


@pytest.mark.parametrize("first", ["@bob, the deploy is on", "@bob", "deploy"])
async def test_who_is_named_and_listens_is_mentioned_until_neither_is_there(world: Any, first: str) -> None:
    async with world() as it:
        await set_keywords(it, "bob", "deploy")
        message = (await it.say("ada", it.general, first)).message
        for text, count in (
            ("@bob, the deploy is on", 1),
            ("the deploy is on", 1),  # Named no longer, and it stands there still.
            ("the deploy, @bob", 1),
            ("@bob", 1),
            ("nothing", 0),
            ("a deploy", 1),
        ):
            await it.edit("ada", message.id, text)
            assert await it.mentions("bob", it.general) == count, text
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select reached from read_state_mentions") == [(message.id,)]


async def test_keywords_tell_nothing_of_where_one_is_not(world: Any) -> None:
    async with world() as it:
        await set_keywords(it, "eve", "deploy")
        room = await it.private("ada", "bob")
        await it.say("ada", room, "deploy")
        public = await it.public("ada", "elsewhere")
        await it.say("ada", public, "deploy")
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select 1 from read_state_mentions") == []


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


async def test_what_was_mentioned_is_not_left_in_the_log_after_an_edit(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob")).message
        await it.edit("ada", message.id, "nobody")
        async with it.app.storage.read() as tx:
            rows = await tx.fetch("select payload from events where type = 'NEW_MESSAGE'")
        assert not [payload for (payload,) in rows if it.id("bob") in payload]


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


async def test_who_joins_later_has_no_mention_of_everybody_before(world: Any) -> None:
    async with world() as it:
        room = await it.public("ada", "elsewhere")
        members, bob = it.app.chat.members, it.callers["bob"]
        first = (await it.say("ada", room, "@everyone")).message.id
        await members.join(bob, room)
        assert await it.mentions("bob", room) == 0
        # Marked as unread it is no mention of theirs either.
        assert (await it.states.unread(bob, room, first)).mention_count == 0
        await it.say("ada", room, "@everyone again")
        assert await it.mentions("bob", room) == 1
        await members.leave(bob, room)
        await members.join(bob, room)
        assert (await it.states.unread(bob, room, first)).mention_count == 0


async def test_who_was_in_a_channel_by_default_keeps_what_everybody_was_told(world: Any) -> None:
    async with world() as it:
        await it.say("ada", it.general, "@everyone")
        change = PrivacyChange(True, members=[it.id("bob"), it.id("eve")])
        await it.app.chat.privacy.change(it.callers["ada"], it.general, change)
        assert await it.mentions("bob", it.general) == 1


async def test_a_webhook_mentions_users_and_the_channel_only_if_it_may(world: Any) -> None:
    async with world() as it:
        hooks, ada = it.app.chat.webhooks, it.callers["ada"]
        plain = await hooks.create(ada, "CI", it.general)
        wide = await hooks.create(ada, "Alarm", it.general, may_mention_all=True)
        stored = await hooks.submit(plain.id, plain.token, Draft("@bob @everyone"))
        assert mentions(stored.message) == [it.id("bob")]
        with pytest.raises(Forbidden):
            await hooks.submit(plain.id, plain.token, it.draft("@all", [Entity("wide", 0, 4, "channel")]))
        stored = await hooks.submit(wide.id, wide.token, Draft("@everyone"))
        assert mentions(stored.message) == ["@channel"]
        assert await it.mentions("bob", it.general) == 2
        assert {one.name: one.may_mention_all for one in await hooks.list(ada)} == {
            "CI": UNSET,
            "Alarm": True,
        }


async def test_a_message_without_a_sign_changes_nothing(world: Any) -> None:
    async with world() as it:
        stored = await it.say("ada", it.general, "hello")
        assert type(stored.message) is Message
        assert stored.beside == {}


@pytest.mark.parametrize(
    ("by", "limit", "allowed"),
    [
        ("everyone", 50, ["ada", "bob", "max"]),
        ("everyone", 3, ["ada", "bob"]),
        ("managers", 50, ["ada", "bob"]),
        ("nobody", 50, []),
    ],
)
async def test_e5_who_may_mention_everybody_is_as_the_server_was_told(
    world: Any, by: str, limit: int, allowed: list[str]
) -> None:
    """``chat.wideMentions`` and ``chat.wideLimit``: bob manages the channel of four, ada is an admin."""
    async with world(wide_mentions=by, wide_limit=limit) as it:
        room = await it.private("bob", "ada", "eve", "max")
        for name in ("ada", "bob", "max"):
            # In plain text it stays text where it is not allowed, and explicitly it is refused.
            written = (await it.say(name, room, "@channel")).message
            assert bool(entities(written)) == (name in allowed)
            given = [Entity("wide", 0, 8, "channel")]
            if name in allowed:
                assert mentions((await it.say(name, room, "@channel", given)).message) == ["@channel"]
            else:
                with pytest.raises(Forbidden):
                    await it.say(name, room, "@channel", given)
        assert await it.mentions("eve", room) == 2 * len(allowed)


@pytest.mark.parametrize(
    ("by", "allowed"), [("everyone", ["ada", "bob"]), ("managers", ["ada"]), ("nobody", [])]
)
async def test_e5_me_says_who_may_mention_everybody_where_they_manage_nothing(
    world: Any, by: str, allowed: list[str]
) -> None:
    async with world(wide_mentions=by) as it, it.app.storage.read() as tx:
        may = {name: await it.app.capabilities.may(tx, it.callers[name]) for name in ("ada", "bob")}
        assert [name for name, rights in may.items() if "mention-channel" in rights] == allowed


async def test_e1_a_rename_changes_nothing_of_what_was_said(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob?")).message
        await it.app.accounts.users.rename(it.callers["bob"], "Robert")
        await it.app.accounts.users.rename(it.callers["eve"], "bob")
        edited = (await it.edit("ada", message.id, "and now, @bob?")).message
        assert entities(edited) == [("user", 9, 4, it.id("bob"))]
        assert await it.mentions("bob", it.general) == 1
        assert await it.mentions("eve", it.general) == 0


async def test_e1_what_an_edit_has_taken_away_does_not_come_back_by_an_import(
    world: Any, tmp_path: Path
) -> None:
    async with world() as it:
        text, channel = "see #General", Entity("channel", 4, 8, it.general)
        message = (await it.say("ada", it.general, text, [channel])).message
        await exports.export(it.app, tmp_path / "out")
        await it.edit("ada", message.id, "see for yourself", [])
        await exports.bring_in(it.app, tmp_path / "out")
        async with it.app.storage.read() as tx:
            [read] = await it.app.chat.messages.seen(tx, it.callers["bob"], [message.id])
        assert entities(read) == []


@pytest.mark.parametrize("before", ["", "\N{GRINNING FACE} "])
async def test_e2_a_filter_that_takes_a_name_away_drops_its_entity(world: Any, before: str) -> None:
    class Hiding:
        name = "hiding"

        async def filter(self, posting: Any) -> str:
            return str(posting.content).replace("@Robert", "***").replace(before, before * 2)

    async with world() as it:
        it.app.chat.filters.use([Hiding()])
        at = len(before)
        given = [it.user("bob", at, 7), it.user("eve", at + 8, 4)]
        message = (await it.say("ada", it.general, f"{before}@Robert @Eve", given)).message
        assert entities(message) == [("user", message.content.index("@Eve"), 4, it.id("eve"))]
        assert await it.mentions("bob", it.general) == 0
        assert await it.mentions("eve", it.general) == 1


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
