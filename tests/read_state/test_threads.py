"""Threads as extension D-8 has them, on the storage that the tests run on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest
import trio

from teamchat import BadRequest, Capability, NotFound
from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import ChannelChange
from teamchat.chat.groups import GroupOf
from teamchat.chat.privacy import PrivacyChange
from teamchat.chat.retention import Retention
from teamchat.model import Caller, Message
from teamchat.read_state import READ_STATE
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.mentioned import Where, reach
from teamchat.read_state.positions import before
from teamchat.read_state.threads import follows, replying, states
from teamchat.read_state.threads.follows import Thread
from teamchat.read_state.threads.offer import THREADS
from teamchat.read_state.threads.replying import Replying
from teamchat.read_state.threads.service import FollowedThreads
from teamchat.read_state.threads.tables import MIGRATIONS
from teamchat.testing import CapabilityContract
from tests.read_state.world import Offered, World

Opened = Callable[[], AbstractAsyncContextManager[World]]


class TestThreads(Offered, CapabilityContract):
    """What every capability must do."""

    def capability(self) -> Capability:
        return THREADS

    def beside(self) -> Sequence[Capability]:
        return [READ_STATE, LEVELS]

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        threads = FollowedThreads(app)
        await threads.set_following(caller, message.id, following=True)
        await threads.unread(caller, message.id, message.id)


async def test_writing_the_parent_and_replying_follow_from_the_first_reply(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("bob", it.general)
        assert await it.followed("bob") == {}
        first = await it.reply("eve", parent)
        bobs, eves = (await it.followed("bob"))[parent], (await it.followed("eve"))[parent]
        assert (bobs.following, bobs.position, bobs.unread_count) == (True, before(first), 1)
        assert (eves.following, eves.position, eves.unread_count) == (True, first, 0)
        assert bobs.place_id == it.general
        assert bobs.last_reply_at is not None
        await it.reply("max", parent)
        assert (await it.followed("bob"))[parent].unread_count == 2
        assert (await it.followed("eve"))[parent].unread_count == 1
        assert (await it.followed("max"))[parent].unread_count == 0
        assert await it.followed("ada") == {}


async def test_replying_reads_up_to_ones_reply(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("bob", it.general)
        for _ in range(2):
            await it.reply("eve", parent)
        own = await it.reply("bob", parent)
        later = await it.reply("eve", parent)
        state = (await it.followed("bob"))[parent]
        assert (state.position, state.unread_count) == (own, 1)
        marked = await it.threads.unread(it.callers["bob"], parent, later)
        again = await it.reply("bob", parent)
        state = (await it.followed("bob"))[parent]
        assert (state.position, state.generation, state.unread_count) == (again, marked.generation, 0)


async def test_replies_of_ones_own_and_deleted_ones_count_nothing(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("bob", it.general)
        gone = await it.reply("eve", parent)
        await it.reply("eve", parent)
        await it.app.chat.threads.delete(it.callers["eve"], parent, gone)
        assert (await it.followed("bob"))[parent].unread_count == 1
        state = await it.threads.unread(it.callers["eve"], parent, gone)
        assert state.unread_count == 0
        assert (await it.counts("bob"))[it.general] == 0  # and replies count in no place


async def test_a_count_stops_at_the_limit(world: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "COUNTED_UP_TO", 2)
    async with world() as it:
        parent = await it.post("bob", it.general)
        for number in range(4):
            await it.reply("eve", parent)
            assert (await it.followed("bob"))[parent].unread_count == min(number + 1, 2)


async def test_d3_reading_and_marking_are_as_in_places(world: Opened) -> None:
    async with world() as it:
        parent, bob = await it.post("bob", it.general), it.callers["bob"]
        replies = [await it.reply("eve", parent) for _ in range(3)]
        state, changed = await it.threads.read(bob, parent, replies[1], 0)
        assert (state.position, state.unread_count, changed) == (replies[1], 1, True)
        back, changed = await it.threads.read(bob, parent, replies[0], None)
        assert (back, changed) == (state, False)
        beyond, _ = await it.threads.read(bob, parent, "f" * 32, None)
        assert (beyond.position, beyond.unread_count) == (replies[2], 0)
        marked = await it.threads.unread(bob, parent, replies[1])
        assert (marked.generation, marked.unread_count) == (1, 2)
        assert replies[0] <= marked.position < replies[1]
        stale, changed = await it.threads.read(bob, parent, replies[2], 0)
        assert (stale, changed) == (marked, False)
        cleared, changed = await it.threads.read(bob, parent, marked.position, 1)
        assert (cleared, changed) == (marked, True)  # it is marked no longer
        same, changed = await it.threads.read(bob, parent, marked.position, 1)
        assert (same, changed) == (marked, False)
        for wrong in ("", "x", "dm:" + parent):
            with pytest.raises(BadRequest):
                await it.threads.read(bob, parent, wrong, None)
            with pytest.raises(BadRequest):
                await it.threads.unread(bob, parent, wrong)


async def test_ones_other_devices_are_told_of_a_change_and_of_no_other(world: Opened) -> None:
    async with world() as it:
        parent, bob = await it.post("bob", it.general), it.callers["bob"]
        reply = await it.reply("eve", parent)
        await it.threads.set_following(bob, parent, following=True)  # they do already
        await it.threads.read(bob, parent, "0" * 32, None)
        assert it.heard.of_threads == []
        await it.threads.read(bob, parent, reply, None)
        await it.threads.read(bob, parent, reply, None)
        await it.threads.set_following(bob, parent, following=False)
        await it.threads.set_following(bob, parent, following=False)
        (user, first), (_, second) = it.heard.of_threads
        assert user == it.id("bob")
        assert (first.message_id, first.position, first.following) == (parent, reply, True)
        assert not second.following
        _, last = await it.app.storage.log_bounds()
        assert first.as_of == str(last)


async def test_ending_a_follow_lasts_until_one_replies_oneself(world: Opened) -> None:
    async with world() as it:
        parent, bob = await it.post("bob", it.general), it.callers["bob"]
        await it.reply("eve", parent)
        state = await it.threads.set_following(bob, parent, following=False)
        assert not state.following
        reply = await it.reply("eve", parent)
        async with it.app.storage.write() as tx:  # as a mention does
            await follows.follow(tx, Thread(parent, it.general), {it.id("bob"): reply})
        assert await it.followed("bob") == {}
        assert (await it.overview("bob")).threads == []
        own = await it.reply("bob", parent)
        assert (await it.followed("bob"))[parent].position == own


async def test_d12_a_reply_of_ones_own_that_reads_a_mention_changes_the_state_of_its_place(
    world: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as it:
        parent, bob = await it.post("bob", it.general), it.id("bob")

        async def mentioned() -> None:
            reply = await it.reply("eve", parent)
            async with it.app.storage.write() as tx:  # as a mention does
                await reach(tx, Where(reply, it.general, parent, reply), {bob: "user"})

        await mentioned()
        assert (await it.state("bob", it.general)).mention_count == 1
        mark = (await it.overview("bob")).mark
        own = await it.reply("bob", parent)
        [state] = (await it.overview("bob", mark)).states
        assert (state.place_id, state.mention_count) == (it.general, 0)
        mark = (await it.overview("bob")).mark
        await it.reply("bob", parent)
        assert (await it.overview("bob", mark)).states == []  # it has read nothing that counted
        telling = Replying(it.heard)  # type: ignore[arg-type]
        with monkeypatch.context() as patched:
            patched.setattr(replying, "LATE_SECONDS", 0.0)
            telling.has_read(bob, it.general, "0" * 32)  # It was taken back: nobody is told.
        telling.has_read(bob, it.general, own)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(telling.run)
            with trio.fail_after(10):
                while not it.heard.signals:  # noqa: ASYNC110  # nothing else tells when it has
                    await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
        [(user_id, told)] = it.heard.signals
        assert (user_id, told.place_id, told.mention_count) == (bob, it.general, 0)


async def test_who_begins_to_follow_has_nothing_unread(world: Opened) -> None:
    async with world() as it:
        parent, max_ = await it.post("bob", it.general), it.callers["max"]
        await it.reply("eve", parent)
        state = await it.threads.set_following(max_, parent, following=True)
        assert (state.following, state.unread_count) == (True, 0)
        await it.reply("eve", parent)
        assert (await it.followed("max"))[parent].unread_count == 1
        await it.threads.set_following(max_, parent, following=False)
        again = await it.threads.set_following(max_, parent, following=True)
        assert again.unread_count == 0


async def test_a_thread_without_replies_can_be_followed_and_is_not_listed(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("bob", it.general)
        state = await it.threads.set_following(it.callers["max"], parent, following=True)
        assert (state.last_reply_at, state.position) == (None, parent)
        assert await it.followed("max") == {}
        reply = await it.reply("eve", parent)
        assert (await it.followed("max"))[parent].unread_count == 1
        await it.app.chat.threads.delete(it.callers["eve"], parent, reply)
        assert await it.followed("max") == {}


async def test_threads_are_listed_by_their_last_reply_page_by_page(world: Opened) -> None:
    async with world() as it:
        parents = [await it.post("bob", it.general) for _ in range(5)]
        for parent in parents:
            await it.reply("eve", parent)
        await it.reply("eve", parents[1])
        async with it.app.storage.write() as tx:  # all within one millisecond, but for one
            await tx.fetch("update threads set last_reply_at = 1000 where parent_id <> $1", parents[1])
        expected = [parents[1], *reversed(parents[2:]), parents[0]]
        bob, cursor, found = it.callers["bob"], None, []
        while True:
            page = await it.threads.page(bob, "all", 2, cursor)
            found += [parent.id for parent, _ in page.threads]
            cursor = page.next
            if cursor is None:
                break
            await it.delete("bob", found[-1])  # a cursor outlives what it points at
        assert found == expected
        for wrong in ("", "x", "1", "1.x", "-1." + parents[0]):
            with pytest.raises(BadRequest):
                await it.threads.page(bob, None, 2, wrong)
        with pytest.raises(BadRequest):
            await it.threads.page(bob, "read", 2, None)


async def test_the_unread_ones_alone_are_listed_and_counted(world: Opened) -> None:
    async with world() as it:
        parents = [await it.post("bob", it.general) for _ in range(3)]
        replies = [await it.reply("eve", parent) for parent in parents]
        await it.threads.read(it.callers["bob"], parents[1], replies[1], None)
        assert set(await it.followed("bob", "unread")) == {parents[0], parents[2]}
        overview = await it.overview("bob")
        assert {one.message_id for one in overview.threads} == {parents[0], parents[2]}
        assert overview.badge == 0  # nobody is mentioned
        assert (await it.overview("eve")).threads == []
        assert len((await it.overview("bob", overview.mark)).threads) == 2  # whole, whatever has changed


async def test_x3_a_thread_that_is_not_seen_is_not_there(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada")
        hidden, shown = await it.post("ada", room), await it.post("ada", it.general)
        reply = await it.reply("ada", shown)
        direct = await it.post("bob", await it.direct("bob", "eve"))
        bob = it.callers["bob"]
        for thread, error in (
            (hidden, NotFound),
            ("0" * 32, NotFound),
            ("nothing", NotFound),
            (reply, BadRequest),
            (direct, BadRequest),
        ):
            for ask in (
                it.threads.check_thread(bob, thread),
                it.threads.set_following(bob, thread, following=True),
                it.threads.set_following(bob, thread, following=False),
                it.threads.read(bob, thread, "0" * 32, None),
                it.threads.unread(bob, thread, "0" * 32),
            ):
                with pytest.raises(error):
                    await ask


async def test_who_loses_sight_has_no_thread_there_and_comes_back_without_any(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        parent = await it.post("bob", room)
        await it.reply("ada", parent)
        assert parent in await it.followed("bob")
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("bob"))
        assert await it.followed("bob") == {}
        assert (await it.overview("bob")).threads == []
        await it.reply("ada", parent)
        await it.app.chat.members.add(it.callers["ada"], room, [it.id("bob")])
        assert await it.followed("bob") == {}


async def test_b7_a_channel_that_becomes_private_leaves_threads_to_its_members(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("bob", it.general)
        await it.reply("eve", parent)
        change = PrivacyChange(is_private=True, members=[it.id("bob")])
        await it.app.chat.privacy.change(it.callers["ada"], it.general, change)
        assert list(await it.followed("bob")) == [parent]
        assert await it.followed("eve") == {}
        await it.app.chat.members.add(it.callers["ada"], it.general, [it.id("eve")])
        assert await it.followed("eve") == {}


async def test_b8_what_is_hidden_as_a_channel_becomes_public_is_seen_by_its_members_alone(
    world: Opened,
) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        parent = await it.post("bob", room)
        await it.reply("ada", parent)
        await it.app.chat.channels.change(it.callers["ada"], room, ChannelChange("open"))
        change = PrivacyChange(is_private=False, history="hide")
        await it.app.chat.privacy.change(it.callers["ada"], room, change)
        assert list(await it.followed("bob")) == [parent]
        with pytest.raises(NotFound):
            await it.threads.set_following(it.callers["eve"], parent, following=True)


async def test_a_channel_that_is_everybodys_no_longer_ends_the_threads_of_those_it_lets_go(
    world: Opened,
) -> None:
    async with world() as it:
        parent = await it.post("ada", it.general)
        await it.app.chat.members.join(it.callers["bob"], it.general)
        for name in ("bob", "eve"):
            await it.reply(name, parent)
        named = await it.public("ada", "another")
        await it.app.chat.channels.change(it.callers["ada"], it.general, ChannelChange(is_default=False))
        assert await it.followed("eve") == {}
        assert list(await it.followed("ada")) == [parent]
        other = await it.post("eve", named)  # eve is no member there either, and takes part
        await it.reply("ada", other)
        assert list(await it.followed("eve")) == [other]


async def test_b6_archived_places_count_nothing_and_their_threads_can_be_looked_up(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        parent = await it.post("bob", room)
        await it.reply("ada", parent)
        await it.app.chat.channels.archive(it.callers["ada"], room, is_archived=True)
        assert (await it.followed("bob"))[parent].unread_count == 0
        assert await it.followed("bob", "unread") == {}
        assert (await it.overview("bob")).threads == []
        await it.app.chat.channels.archive(it.callers["ada"], room, is_archived=False)
        assert (await it.followed("bob", "unread"))[parent].unread_count == 1


async def test_groups_and_notes_have_threads_too(world: Opened) -> None:
    async with world() as it:
        group, _ = await it.app.chat.groups.open(it.callers["ada"], GroupOf([it.id("bob"), it.id("eve")]))
        notes, _ = await it.app.chat.groups.notes(it.callers["ada"])
        said, noted = await it.post("bob", group.id), await it.post("ada", notes.id)
        await it.reply("ada", said)
        await it.reply("ada", noted)
        assert (await it.followed("bob"))[said].unread_count == 1
        assert {id_: one.unread_count for id_, one in (await it.followed("ada")).items()} == {
            said: 0,
            noted: 0,
        }


async def test_k1_threads_that_a_token_does_not_reach_take_few_looks(
    world: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    async def look(*about: Any, **page: Any) -> Any:
        looks.append(page)
        return await page_of(*about, **page)

    page_of = states.page_of
    monkeypatch.setattr(states, "page_of", look)
    async with world() as it:
        group, _ = await it.app.chat.groups.open(
            it.callers["bob"], GroupOf([it.callers[one].user.id for one in ("eve", "max")])
        )
        reached = [await it.post("bob", group.id) for _ in range(3)]
        for parent in reached:
            await it.reply("eve", parent)
        for _ in range(30):
            await it.reply("eve", await it.post("bob", it.general))
        token = msgspec.structs.replace(it.callers["bob"], places=frozenset({group.id}))
        threads, cursor = FollowedThreads(it.app), None
        for parent in reversed(reached):
            looks.clear()
            page = await threads.page(token, None, 1, cursor)
            assert [one.id for one, _ in page.threads] == [parent]
            assert len(looks) < 8
            cursor = page.next
        assert cursor is None


async def test_retention_takes_threads_along(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("bob", it.general)
        await it.reply("eve", parent)
        tomorrow = -1  # as if that day had come
        await Retention(it.app.storage, tomorrow, it.app.capabilities).sweep()
        assert await it.followed("bob") == {}
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select 1 from threads_states") == []


async def test_a_webhooks_message_has_no_author_who_could_follow(world: Opened) -> None:
    async with world() as it:
        hooks, ada = it.app.chat.webhooks, it.callers["ada"]
        made = await hooks.create(ada, "Build", it.general)
        message = await hooks.post(made.id, str(made.token), Draft("done"))
        reply = await it.reply("bob", message.id)
        assert (await it.followed("bob"))[message.id].position == reply
        async with it.app.storage.read() as tx:
            assert len(await tx.fetch("select 1 from threads_states")) == 1


async def test_what_is_older_than_the_capability_is_followed_by_who_took_part_and_read(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob", "eve")
        inside, outside = await it.post("bob", room), await it.post("ada", it.general)
        alone = await it.post("ada", it.general)
        await it.reply("eve", inside)
        last = await it.reply("bob", inside)
        await it.reply("max", outside)
        emptied = await it.post("ada", it.general)
        await it.app.chat.threads.delete(it.callers["bob"], emptied, await it.reply("bob", emptied))
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("eve"))
        await it.app.accounts.users.remove(it.callers["ada"], it.id("max"))
        async with it.app.storage.write() as tx:
            await tx.fetch("delete from threads_states")
            await tx.define(MIGRATIONS[0].statements[-1])
            rows = await tx.fetch("select user_id, message_id, is_following from threads_states")
        assert {tuple(row) for row in rows} == {(it.id("bob"), inside, 1), (it.id("ada"), outside, 1)}
        state = (await it.followed("bob"))[inside]
        assert (state.position, state.unread_count) == (last, 0)
        assert alone not in await it.followed("ada")
