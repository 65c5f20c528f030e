"""What concerns one, as the feed tells it (extensions E-9, E-10)."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from teamchat import Capability
from teamchat.application import Application
from teamchat.chat.channel_drafts import ChannelChange
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import BadRequest
from teamchat.mentions import MENTIONS
from teamchat.mentions.activity import feed as feeds
from teamchat.mentions.activity.offer import ACTIVITY, Upkeep
from teamchat.mentions.activity.service import Feed
from teamchat.mentions.activity.tables import KEPT_MS
from teamchat.mentions.entities import Entity
from teamchat.model import Caller, Message, now_ms
from teamchat.model.ids import id_at
from teamchat.read_state import READ_STATE, going
from teamchat.read_state.levels import keywords
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.threads.offer import THREADS
from teamchat.storage.log import logged_in
from teamchat.stream.rooms import Rooms
from tests.harness import running
from tests.mentions.world import Offered


class TestActivity(Offered):
    """The contract."""

    def capability(self) -> Capability:
        return ACTIVITY

    def beside(self) -> Sequence[Capability]:
        return [READ_STATE, THREADS, LEVELS, MENTIONS]

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await app.chat.reactions.add(await self.other(app), message.id, "👍")


async def items(it: Any, name: str, **asked: Any) -> list[tuple[str, str | None]]:
    """Return the kinds of a feed's items, each with the message."""
    return [(one.kind, one.message_id) for one in (await feed(it, name, **asked)).items]


async def feed(
    it: Any,
    name: str,
    kinds: str | None = None,
    before: str | None = None,
    limit: int = 50,
    unread: bool = False,
) -> Any:
    return await Feed(it.app).page(it.callers[name], kinds, before, limit, only_unread=unread)


async def told(it: Any, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return what the log tells a user of their feed."""
    async with it.app.storage.read() as tx:
        rooms, events = await Rooms.read(tx), await logged_in(tx, 0, 1000)
    return [
        (one.type, json.loads(one.payload))
        for one in events
        if one.type.endswith("_ACTIVITY") and rooms.sees(it.id(name), one.audience)
    ]


async def test_a_mention_is_an_item_and_is_told_once(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob and @eve")).message
        assert await items(it, "bob") == [("mention", message.id)]
        page = await feed(it, "bob")
        assert (page.unread, page.items[0].actors) == (1, [it.id("ada")])
        assert page.messages[message.id].content == "@bob and @eve"
        assert await items(it, "ada") == []
        [(kind, payload)] = await told(it, "bob")
        assert (kind, payload["kind"], payload["messageId"]) == ("NEW_ACTIVITY", "mention", message.id)
        assert payload["id"] == page.items[0].id
        assert await told(it, "bob") == await told(it, "eve")
        assert await told(it, "max") == []


async def test_a_mention_that_an_edit_takes_away_comes_back_without_a_second_event(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "nobody")).message
        await it.edit("ada", message.id, "@bob")
        assert await items(it, "bob") == [("mention", message.id)]
        await it.edit("ada", message.id, "nobody")
        assert await items(it, "bob") == []
        await it.edit("ada", message.id, "@bob again")
        assert await items(it, "bob") == [("mention", message.id)]
        assert [kind for kind, _ in await told(it, "bob")] == ["NEW_ACTIVITY", "DELETE_ACTIVITY"]


async def test_who_is_outside_is_told_nothing_and_has_nothing(world: Any) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        await it.say("ada", room, "@eve, you are not here")
        assert await told(it, "eve") == []
        assert (await feed(it, "eve")).unread == 0
        await it.app.chat.members.add(it.callers["ada"], room, [it.id("eve")])
        assert await items(it, "eve") == [("added", None)]


async def test_who_loses_sight_has_the_item_no_more(world: Any) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        await it.say("ada", room, "@bob")
        assert len(await items(it, "bob", kinds="mention")) == 1
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("bob"))
        page = await feed(it, "bob")
        assert (page.items, page.unread) == ([], 0)


async def test_everybody_has_an_item_of_one_event(world: Any) -> None:
    async with world() as it:
        message = (await it.say("bob", it.general, "@everyone")).message
        for name in ("ada", "eve", "max"):
            assert await items(it, name) == [("mention", message.id)]
        assert await items(it, "bob") == []
        async with it.app.storage.read() as tx:
            assert len(await tx.fetch("select 1 from events where type = 'NEW_ACTIVITY'")) == 1
        await it.app.accounts.users.add(it.callers["ada"], "late@example.org")
        late = [one.id for one in await it.app.accounts.users.list()][-1]
        _, signed_in = await it.app.accounts.sign_in("late@example.org", "192.0.2.1", "tests")
        it.callers["late"] = await it.app.accounts.authenticate(signed_in.access_token)
        assert late == it.id("late")
        assert await items(it, "late") == []


async def test_that_everybody_is_meant_no_longer_is_told_once_for_each_time(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@channel, look")).message
        for text in ("look", "@channel, look", "look at this", "look there"):
            await it.edit("ada", message.id, text)
        for name in ("bob", "eve"):
            kinds = [kind for kind, _ in await told(it, name)]
            assert kinds == ["NEW_ACTIVITY", "DELETE_ACTIVITY", "DELETE_ACTIVITY"]
            assert await it.mentions(name, it.general) == 0


async def test_who_came_after_a_message_is_not_told_that_an_edit_has_it_mean_everybody(world: Any) -> None:
    async with world() as it:
        room = await it.public("ada", "elsewhere")
        await it.app.chat.members.join(it.callers["bob"], room)
        message = (await it.say("ada", room, "look")).message.id
        await it.app.chat.members.join(it.callers["eve"], room)
        for text in ("@channel, look", "look"):
            await it.edit("ada", message, text)
            assert await items(it, "eve") == []
        assert await told(it, "eve") == []
        assert [kind for kind, _ in await told(it, "bob")] == ["NEW_ACTIVITY", "DELETE_ACTIVITY"]


async def test_in_a_thread_those_who_follow_it_are_told_that(world: Any) -> None:
    async with world() as it:
        parent = (await it.say("ada", it.general, "what now?")).message.id
        await it.say("bob", it.general, "this", thread=parent)
        reply = (await it.say("ada", it.general, "@channel?", thread=parent)).message
        await it.edit("ada", reply.id, "well?")
        assert [kind for kind, _ in await told(it, "bob")] == ["NEW_ACTIVITY", "DELETE_ACTIVITY"]
        assert await told(it, "eve") == []


async def test_replies_in_followed_threads_are_items_from_when_they_concern_one(world: Any) -> None:
    async with world() as it:
        parent = (await it.say("ada", it.general, "what now?")).message.id
        first = (await it.say("bob", it.general, "this", thread=parent)).message.id
        second = (await it.say("eve", it.general, "that", thread=parent)).message.id
        assert await items(it, "ada") == [("reply", second), ("reply", first)]
        assert await items(it, "bob") == [("reply", second)]
        assert await items(it, "eve") == []
        assert await items(it, "max") == []
        third = (await it.say("ada", it.general, "@bob", thread=parent)).message.id
        assert await items(it, "bob") == [("mention", third), ("reply", second)]
        assert [payload["kind"] for _, payload in await told(it, "bob")] == ["reply", "mention"]
        assert [payload["kind"] for _, payload in await told(it, "eve")] == ["reply"]


async def test_reactions_to_one_message_are_one_item(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "hello")).message
        reactions = it.app.chat.reactions
        await reactions.add(it.callers["bob"], message.id, "👍")
        await reactions.add(it.callers["eve"], message.id, "🎉")
        await reactions.add(it.callers["ada"], message.id, "❤️")
        [item] = (await feed(it, "ada")).items
        assert (item.kind, item.reaction, item.actors) == ("reaction", "🎉", [it.id("eve"), it.id("bob")])
        await reactions.remove(it.callers["eve"], message.id, "🎉")
        [item] = (await feed(it, "ada")).items
        assert (item.reaction, item.actors) == ("👍", [it.id("bob")])
        await reactions.remove(it.callers["bob"], message.id, "👍")
        assert await items(it, "ada") == []
        assert [kind for kind, _ in await told(it, "ada")] == ["NEW_ACTIVITY"] * 2 + ["DELETE_ACTIVITY"] * 2
        assert await told(it, "bob") == []


async def test_being_added_is_an_item_and_joining_is_none(world: Any) -> None:
    async with world() as it:
        room = await it.public("ada", "elsewhere")
        await it.app.chat.members.add(it.callers["ada"], room, [it.id("bob")])
        await it.app.chat.members.join(it.callers["eve"], room)
        [item] = (await feed(it, "bob")).items
        assert (item.kind, item.room_id, item.actors, item.message_id) == (
            "added",
            room,
            [it.id("ada")],
            None,
        )
        assert await items(it, "eve") == []
        [(_, payload)] = await told(it, "bob")
        assert (payload["id"], payload["placeId"], payload.get("messageId")) == (item.id, room, None)


async def test_deleting_a_message_takes_its_items_along(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob")).message
        await it.app.chat.reactions.add(it.callers["bob"], message.id, "👍")
        await it.delete("ada", message.id)
        assert await items(it, "bob") == await items(it, "ada") == []


async def test_the_feed_is_read_up_to_an_item(world: Any) -> None:
    async with world() as it:
        for number in range(3):
            await it.say("ada", it.general, f"@bob {number}")
        page = await feed(it, "bob")
        one = Feed(it.app)
        assert page.unread == 3
        assert await one.read(it.callers["bob"], page.items[1].id, None) == 1
        assert await one.read(it.callers["bob"], page.items[2].id, None) == 1
        assert len((await feed(it, "bob", unread=True)).items) == 1
        assert await one.read(it.callers["bob"], "f" * 32, 0) == 0
        await it.say("ada", it.general, "@bob again")
        assert (await feed(it, "bob")).unread == 1
        sent = [one for one in it.app.hub.signalling.waiting if one.type == "ACTIVITY_READ"]
        assert [json.loads(one.payload) for one in sent] == [
            {"position": page.items[1].id, "unreadCount": 1},
            {"position": page.items[0].id, "unreadCount": 0},
        ]
        assert {one.audience for one in sent} == {(it.id("bob"),)}
        for wrong in ("", "no id", f"dm:{'0' * 32}"):
            with pytest.raises(BadRequest):
                await one.read(it.callers["bob"], wrong, None)


async def test_pages_meet_without_a_gap_also_where_most_is_hidden(world: Any) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        seen = []
        for number in range(12):
            if number % 4 == 0:
                seen.append((await it.say("ada", it.general, f"@bob {number}")).message.id)
            else:
                await it.say("ada", room, f"@bob {number}")
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("bob"))
        found: list[Any] = []
        before = None
        while (page := await feed(it, "bob", before=before, limit=2, kinds="mention")).items:
            assert len(page.items) <= 2
            found += [one.message_id for one in page.items]
            before = page.items[-1].id
        assert found == seen[::-1]


async def test_kinds_are_chosen_and_unknown_ones_refused(world: Any) -> None:
    async with world() as it:
        await it.say("ada", it.general, "@bob")
        assert await items(it, "bob", kinds="reply,reaction") == []
        assert len(await items(it, "bob", kinds="mention,reply")) == 1
        with pytest.raises(BadRequest):
            await feed(it, "bob", kinds="mention,wrong")
        with pytest.raises(BadRequest):
            await feed(it, "bob", before="no id")


async def test_items_have_their_time(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob")).message
        await it.app.chat.reactions.add(it.callers["bob"], message.id, "👍")
        old = id_at(now_ms() - KEPT_MS - 1000, "old")
        async with it.app.storage.write() as tx:
            await tx.fetch("update read_state_mentions set reached = $1", old)
            await tx.fetch("update activity_reactions set reached = $1", old)
        assert await items(it, "bob") == await items(it, "ada") == []
        await Upkeep(it.app.storage).run()
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select 1 from activity_reactions") == []


@pytest.mark.parametrize("at_once", [0, going.AT_ONCE])
async def test_what_hangs_on_a_user_who_is_gone_goes(
    world: Any, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(going, "AT_ONCE", at_once)
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob")).message
        await it.app.chat.reactions.add(it.callers["bob"], message.id, "👍")
        await Feed(it.app).read(it.callers["bob"], message.id, None)
        await it.app.accounts.users.remove(it.callers["ada"], it.id("bob"))
        async with it.app.storage.read() as tx:
            for table in ("activity_read", "activity_reactions"):
                assert await tx.fetch(f"select 1 from {table}") == []


async def test_a_hidden_channel_is_refused_as_one_that_nobody_has(world: Any) -> None:
    async with world() as it:
        hidden = await it.private("ada")
        sentences = []
        for named in (hidden, "f" * 32):
            wrong = Entity("channel", 0, 7, named)
            with pytest.raises(BadRequest) as refused:
                await it.say("bob", it.general, "#secret", [wrong])
            sentences.append(str(refused.value))
        assert len(set(sentences)) == 1


async def kinds_told(it: Any, name: str) -> list[str]:
    return [kind.removesuffix("_ACTIVITY") for kind, _ in await told(it, name)]


async def follow(it: Any, name: str, parent: str, *, following: bool = True) -> None:
    await it.threads.set_following(it.callers[name], parent, following=following)


async def read_all(it: Any, name: str) -> None:
    await Feed(it.app).read(it.callers[name], "f" * 32, None)


@pytest.mark.parametrize("first", ["@channel @bob x", "@channel x"])
async def test_who_is_named_still_is_not_told_that_it_is_gone(world: Any, first: str) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, first)).message
        before = (await feed(it, "bob")).items
        await read_all(it, "bob")
        await it.edit("ada", message.id, "@bob x")
        assert await kinds_told(it, "bob") == ["NEW"]
        assert await kinds_told(it, "eve") == ["NEW", "DELETE"]
        page = await feed(it, "bob")
        assert (page.items, page.unread) == (before, 0)
        await it.edit("ada", message.id, "x")
        assert await kinds_told(it, "bob") == ["NEW", "DELETE"]
        assert await kinds_told(it, "eve") == ["NEW", "DELETE"]
        assert await items(it, "bob") == []


async def test_who_is_one_of_all_still_is_not_told_that_it_is_gone(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@channel @bob x")).message
        [item] = (await feed(it, "bob")).items
        await it.edit("ada", message.id, "@channel x")
        assert await kinds_told(it, "bob") == ["NEW"]
        assert (await feed(it, "bob")).items == [item]
        await it.edit("ada", message.id, "x")
        assert await kinds_told(it, "bob") == ["NEW", "DELETE"]


async def test_a_keyword_that_stands_keeps_its_item_when_not_everybody_is_meant_any_more(world: Any) -> None:
    async with world() as it:
        async with it.app.storage.write() as tx:
            await keywords.store(tx, it.id("bob"), keywords.checked(["zebra"]))
        message = (await it.say("ada", it.general, "@channel zebra")).message
        await it.edit("ada", message.id, "zebra")
        assert await kinds_told(it, "bob") == ["NEW"]
        assert await items(it, "bob") == [("mention", message.id)]


async def test_being_named_besides_everybody_is_no_second_item(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@channel x")).message
        await read_all(it, "bob")
        for text in ("@channel and @bob x", "x", "@bob x", "x @bob @channel"):
            await it.edit("ada", message.id, text)
        assert (await feed(it, "bob")).unread == 0
        assert await kinds_told(it, "bob") == ["NEW", "DELETE"]
        other = (await it.say("ada", it.general, "@bob x")).message
        await read_all(it, "bob")
        for text in ("@channel and @bob x", "@channel x", "x", "@channel x"):
            await it.edit("ada", other.id, text)
        assert (await feed(it, "bob")).unread == 0
        assert await items(it, "bob") == [("mention", other.id), ("mention", message.id)]
        assert await kinds_told(it, "bob") == ["NEW", "DELETE", "NEW", "DELETE"]
        assert await kinds_told(it, "eve") == ["NEW", "DELETE", "NEW", "DELETE"]


async def test_in_a_thread_too_one_is_told_once_and_keeps_what_names_one(world: Any) -> None:
    async with world() as it:
        parent = (await it.say("ada", it.general, "what now?")).message.id
        await it.say("bob", it.general, "this", thread=parent)
        await it.say("eve", it.general, "that", thread=parent)
        reply = (await it.say("ada", it.general, "@channel @bob?", thread=parent)).message
        await read_all(it, "bob")
        for text in ("@bob?", "@bob? @channel", "@channel?"):
            await it.edit("ada", reply.id, text)
            assert (await items(it, "bob"))[0] == ("mention", reply.id)
        assert (await feed(it, "bob")).unread == 0
        assert await kinds_told(it, "bob") == ["NEW", "NEW"]
        assert await kinds_told(it, "eve") == ["NEW", "DELETE"]


async def test_following_makes_nothing_unread_of_what_came_before(world: Any) -> None:
    async with world() as it:
        parent = (await it.say("ada", it.general, "what now?")).message.id
        await it.say("bob", it.general, "this", thread=parent)
        await follow(it, "bob", parent, following=False)
        for text in ("one", "@channel two"):
            await it.say("eve", it.general, text, thread=parent)
        for name in ("bob", "max"):
            await follow(it, name, parent)
            page = await feed(it, name)
            assert (page.items, page.unread) == ([], 0)
        later = (await it.say("eve", it.general, "three", thread=parent)).message.id
        assert await items(it, "bob") == await items(it, "max") == [("reply", later)]


async def test_who_is_back_and_replies_has_no_items_of_before(world: Any) -> None:
    async with world() as it:
        room = await it.public("ada", "elsewhere")
        for name in ("bob", "eve"):
            await it.app.chat.members.join(it.callers[name], room)
        parent = (await it.say("bob", room, "what now?")).message.id
        await it.say("eve", room, "this", thread=parent)
        await it.app.chat.members.leave(it.callers["bob"], room)
        await it.say("eve", room, "that", thread=parent)
        await it.app.chat.members.join(it.callers["bob"], room)
        await it.say("bob", room, "I am back", thread=parent)
        assert await items(it, "bob") == []


async def test_reading_a_thread_takes_no_items_away(world: Any) -> None:
    async with world() as it:
        parent = (await it.say("ada", it.general, "what now?")).message.id
        await follow(it, "max", parent)
        replies = [(await it.say("eve", it.general, "this", thread=parent)).message.id for _ in range(2)]
        shown = [("reply", one) for one in reversed(replies)]
        for position in replies:
            await it.threads.read(it.callers["max"], parent, position, None)
            assert await items(it, "max") == shown
        await it.threads.unread(it.callers["max"], parent, replies[0])
        assert await items(it, "max") == shown


async def ignore_wide(it: Any, name: str) -> None:
    async with it.app.storage.write() as tx:
        await tx.fetch(
            """insert into notification_levels (user_id, room_id, level, is_muted, ignores_wide, changed)
            values ($1, $2, 'default', 0, 1, 1)""",
            *(it.id(name), it.general),
        )


async def test_who_ignores_that_everybody_is_meant_is_told_nothing_of_it(world: Any) -> None:
    async with world() as it:
        await ignore_wide(it, "bob")
        message = (await it.say("ada", it.general, "@channel, look")).message
        await it.edit("ada", message.id, "look")
        assert await told(it, "bob") == [] == await items(it, "bob")
        assert len(await told(it, "eve")) == 2
        await it.edit("ada", message.id, "@channel and @bob, look")
        assert await items(it, "bob") == [("mention", message.id)]
        assert [kind for kind, _ in await told(it, "bob")] == ["NEW_ACTIVITY"]


async def test_a_wide_reply_is_a_reply_for_who_ignores_that_everybody_is_meant(world: Any) -> None:
    async with world() as it:
        parent = (await it.say("ada", it.general, "what now?")).message.id
        await it.say("bob", it.general, "this", thread=parent)
        await ignore_wide(it, "bob")
        reply = (await it.say("ada", it.general, "@channel?", thread=parent)).message.id
        assert await items(it, "bob") == [("reply", reply)]
        assert [payload["kind"] for _, payload in await told(it, "bob")] == ["reply"]


async def test_members_by_default_keep_what_is_for_everybody(world: Any) -> None:
    async with world() as it:
        room = await it.public("ada", "for all", is_default=True)
        message = (await it.say("ada", room, "@channel x")).message.id
        await it.app.chat.members.set_role(it.callers["ada"], room, it.id("bob"), "manager")
        closing = PrivacyChange(is_private=True, members=[it.id("eve"), it.id("bob")])
        await it.app.chat.privacy.change(it.callers["ada"], room, closing)
        for name in ("bob", "eve"):
            assert await items(it, name) == [("mention", message)]
        assert await items(it, "max") == []
        # They have been members ever since, though it is everybody's once more from here on.
        await it.app.chat.privacy.change(
            it.callers["ada"], room, PrivacyChange(is_private=False, history="show")
        )
        await it.app.chat.channels.change(it.callers["ada"], room, ChannelChange(is_default=True))
        for name in ("bob", "eve"):
            assert await items(it, name) == [("mention", message)]
        assert await items(it, "max") == []


async def test_what_is_for_everybody_concerns_nobody_who_came_after_it_in_the_same_millisecond(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as it:
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now)
        await it.say("ada", it.general, "@channel x")
        await it.app.accounts.users.add(it.callers["ada"], "new@example.org")
        message = (await it.say("ada", it.general, "@channel y")).message.id
        await it.enter("new")
        assert await items(it, "new") == [("mention", message)]


async def test_what_is_for_everybody_concerns_who_was_brought_in_with_any_id(world: Any) -> None:
    async with world() as it:
        await it.bring_in("new", "f" * 32)
        message = (await it.say("ada", it.general, "@channel x")).message.id
        assert await items(it, "new") == [("mention", message)]


async def test_what_is_older_than_a_channel_is_everybodys_concerns_nobody_later(world: Any) -> None:
    async with world() as it:
        room = await it.public("ada", "for all")
        await it.app.chat.members.join(it.callers["eve"], room)
        old = (await it.say("ada", room, "@channel x")).message.id
        await it.app.chat.channels.change(it.callers["ada"], room, ChannelChange(is_default=True))
        await it.app.chat.members.set_role(it.callers["ada"], room, it.id("bob"), "manager")
        assert await items(it, "bob") == []
        assert await items(it, "eve") == [("mention", old)]


async def test_who_has_left_a_default_channel_is_told_nothing_of_what_is_for_everybody(world: Any) -> None:
    async with world() as it:
        await it.app.chat.members.leave(it.callers["bob"], it.general)
        await it.say("ada", it.general, "@channel x")
        assert await kinds_told(it, "bob") == await kinds_told(it, "ada") == []
        assert await kinds_told(it, "eve") == ["NEW"]


async def test_much_that_is_hidden_takes_few_looks(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    async def look(tx: Any, caller: Any, kinds: Any, span: Any) -> Any:
        looks.append(span)
        return await batch(tx, caller, kinds, span)

    batch = feeds._batch
    monkeypatch.setattr(feeds, "_batch", look)
    async with world() as it:
        await it.say("ada", it.general, "@bob first")
        room = await it.private("ada", "bob")
        for number in range(60):
            await it.say("ada", room, f"@bob {number}")
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("bob"))
        looks.clear()
        assert len((await feed(it, "bob", limit=1)).items) == 1
        assert len(looks) < 10


async def test_e9_what_is_unread_is_asked_for_by_true_and_false_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as server, await server.sign_in() as ada:
        for unread, status in (("true", 200), ("false", 200), ("1", 400), ("True", 400), ("", 400)):
            answer = await ada.get("/me/activity", params={"unread": unread})
            assert answer.status_code == status, (unread, answer.text)
