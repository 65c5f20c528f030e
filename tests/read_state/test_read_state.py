"""Read states as part D has them, entry by entry, on the storage that the tests run on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from teamchat import BadRequest, Forbidden, NotFound
from teamchat.application import Application
from teamchat.chat import membership, sight
from teamchat.chat.channel_drafts import ChannelChange
from teamchat.chat.groups import GroupOf
from teamchat.chat.privacy import PrivacyChange
from teamchat.chat.retention import Retention
from teamchat.model import ids, now_ms
from teamchat.observability import metrics
from teamchat.read_state import following, going, mentioned, places
from teamchat.read_state.following import KEPT_MS, Following, Upkeep
from teamchat.testing import CapabilityContract
from tests.read_state.world import Offered, World

Opened = Callable[[], AbstractAsyncContextManager[World]]


class TestReadState(Offered, CapabilityContract):
    """What every capability must do."""


async def test_d1_what_others_have_posted_after_the_position_is_unread(world: Opened) -> None:
    async with world() as it:
        first = await it.post("ada", it.general)
        await it.post("bob", it.general)
        last = await it.post("ada", it.general)
        await it.reply("ada", first)  # replies count in no place (D-8)
        assert (await it.counts("bob"))[it.general] == 2
        assert (await it.counts("ada"))[it.general] == 1
        assert (await it.counts("eve"))[it.general] == 3
        assert (await it.state("eve", it.general)).last_message_id == last
        await it.states.read(it.callers["bob"], it.general, first, None)
        assert (await it.state("bob", it.general)).unread_count == 1
        await it.delete("ada", last)
        state = await it.state("bob", it.general)
        assert (state.unread_count, state.mention_count) == (0, 0)


async def test_d1_a_count_stops_at_the_limit(world: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "COUNTED_UP_TO", 3)
    async with world() as it:
        for number in range(5):
            await it.post("ada", it.general)
            assert (await it.counts("bob"))[it.general] == min(number + 1, 3)


async def test_d2_a_position_outlives_its_message_and_is_never_after_the_newest(world: Opened) -> None:
    async with world() as it:
        ids = [await it.post("ada", it.general) for _ in range(3)]
        bob = it.callers["bob"]
        await it.states.read(bob, it.general, ids[1], None)
        await it.delete("ada", ids[1])
        assert (await it.state("bob", it.general)).unread_count == 1
        state, changed = await it.states.read(bob, it.general, "f" * 32, None)
        assert (state.position, state.unread_count, changed) == (ids[2], 0, True)
        await it.post("ada", it.general)
        assert (await it.state("bob", it.general)).unread_count == 1
        for wrong in ("", "x", "dm:" + ids[0], ids[0].upper()):
            with pytest.raises(BadRequest):
                await it.states.read(bob, it.general, wrong, None)
            with pytest.raises(BadRequest):
                await it.states.unread(bob, it.general, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("in_thread", [False, True])
async def test_d1_what_a_slower_clock_posts_after_the_newest_was_deleted_is_unread(
    world: Opened, monkeypatch: pytest.MonkeyPatch, in_thread: bool
) -> None:
    time_ns = ids.time.time_ns
    async with world() as it:
        bob, parent = it.callers["bob"], await it.post("ada", it.general)
        if in_thread:
            await it.reply("bob", parent)
            newest = await it.reply("ada", parent)
            await it.threads.read(bob, parent, newest, None)
        else:
            newest = await it.post("ada", it.general)
            await it.states.read(bob, it.general, newest, None)
        await it.delete("ada", newest)
        # Another server, which is an hour behind.
        monkeypatch.setattr(ids, "_last", 0)
        monkeypatch.setattr(ids.time, "time_ns", lambda: time_ns() - 3600 * 10**9)
        if in_thread:
            await it.reply("ada", parent)
            assert (await it.followed("bob"))[parent].unread_count == 1
        else:
            await it.post("ada", it.general)
            assert (await it.counts("bob"))[it.general] == 1


async def test_d2_the_id_of_a_reply_is_a_position_too(world: Opened) -> None:
    async with world() as it:
        first = await it.post("ada", it.general)
        reply = await it.reply("ada", first)
        await it.post("ada", it.general)
        state, _ = await it.states.read(it.callers["bob"], it.general, reply, None)
        assert (state.position, state.unread_count) == (reply, 1)


@pytest.mark.slow
async def test_d2_no_reply_hides_what_a_slower_clock_posts_in_its_place(
    world: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_ns = ids.time.time_ns
    async with world() as it:
        bob, parent = it.callers["bob"], await it.post("ada", it.general)
        monkeypatch.setattr(ids, "_last", ids._last)
        monkeypatch.setattr(ids.time, "time_ns", lambda: time_ns() + 10**9)
        reply = await it.reply("ada", parent)
        for position in (reply, "f" * 32):
            state, _ = await it.states.read(bob, it.general, position, None)
            assert (state.position, state.unread_count) == (parent, 0)
        # Another server, which is a second behind.
        monkeypatch.setattr(ids, "_last", 0)
        monkeypatch.setattr(ids.time, "time_ns", time_ns)
        assert await it.post("ada", it.general) < reply
        assert (await it.counts("bob"))[it.general] == 1


async def test_d3_unread_begins_a_generation_that_older_devices_cannot_undo(world: Opened) -> None:
    async with world() as it:
        ids = [await it.post("ada", it.general) for _ in range(3)]
        bob = it.callers["bob"]
        state, changed = await it.states.read(bob, it.general, ids[2], 0)
        assert (state.generation, changed) == (0, True)
        state = await it.states.unread(bob, it.general, ids[1])
        assert (state.generation, state.is_marked_unread, state.unread_count) == (1, True, 2)
        assert ids[0] <= state.position < ids[1]
        kept, changed = await it.states.read(bob, it.general, ids[2], 0)
        assert (kept, changed) == (state, False)
        cleared, changed = await it.states.read(bob, it.general, state.position, 1)
        assert changed
        assert (cleared.is_marked_unread, cleared.position, cleared.generation) == (False, state.position, 1)
        back, changed = await it.states.read(bob, it.general, "0" * 32, None)
        assert (back, changed) == (cleared, False)


async def test_d10_the_same_value_changes_nothing_and_sends_nothing(world: Opened) -> None:
    async with world() as it:
        ids = [await it.post("ada", it.general) for _ in range(2)]
        bob = it.callers["bob"]
        await it.states.read(bob, it.general, ids[1], None)
        await it.states.unread(bob, it.general, ids[1])
        assert len(it.heard.signals) == 2
        mark = (await it.overview("bob")).mark
        assert (await it.states.unread(bob, it.general, ids[1])).generation == 1
        await it.states.read(bob, it.general, ids[1], 0)
        assert await it.states.read_all(bob, {}) == 0
        assert len(it.heard.signals) == 2
        assert (await it.overview("bob", mark)).states == []


async def test_only_ones_own_devices_are_told(world: Opened) -> None:
    async with world() as it:
        message = await it.post("ada", it.general)
        await it.states.read(it.callers["bob"], it.general, message, None)
        [(user, told)] = it.heard.signals
        assert user == it.id("bob")
        assert (told.place_id, told.position, told.unread_count) == (it.general, message, 0)
        _, last = await it.app.storage.log_bounds()
        assert told.as_of == str(last)


async def test_d4_joining_and_rejoining_begin_with_nothing_unread(world: Opened) -> None:
    async with world() as it:
        members = it.app.chat.members
        room = await it.public("ada", "plans")
        await it.post("ada", room)
        assert room not in await it.counts("bob")
        with pytest.raises(NotFound):
            await it.state("bob", room)
        await members.join(it.callers["bob"], room)
        assert (await it.counts("bob"))[room] == 0
        later = await it.post("ada", room)
        assert (await it.counts("bob"))[room] == 1
        old = await it.states.unread(it.callers["bob"], room, later)
        await members.leave(it.callers["bob"], room)
        assert room not in await it.counts("bob")
        await it.post("ada", room)
        await members.join(it.callers["bob"], room)
        state = await it.state("bob", room)
        assert (state.unread_count, state.is_marked_unread) == (0, False)
        assert state.generation > old.generation  # so a device that was away takes it for newer


async def test_d4_who_comes_back_with_others_has_a_generation_of_their_own(world: Opened) -> None:
    async with world() as it:
        members = it.app.chat.members
        room = await it.public("ada", "plans")
        first = await it.post("ada", room)
        await members.join(it.callers["bob"], room)
        old = await it.states.unread(it.callers["bob"], room, first)
        await members.leave(it.callers["bob"], room)
        added = [it.callers[name].user.id for name in ("bob", "eve", "max")]
        await members.add(it.callers["ada"], room, added)
        states = {name: await it.state(name, room) for name in ("bob", "eve", "max")}
        assert {state.unread_count for state in states.values()} == {0}
        assert states["bob"].generation > old.generation
        assert states["eve"].generation == states["max"].generation < old.generation


async def test_d4_who_is_in_a_room_from_the_first_has_all_of_it_unread(world: Opened) -> None:
    async with world() as it:
        private, direct = await it.private("ada", "bob"), await it.direct("ada", "bob")
        groups = it.app.chat.groups
        group, _ = await groups.open(it.callers["ada"], GroupOf([it.id("bob"), it.id("eve")]))
        for room in (private, direct, group.id):
            await it.post("ada", room)
        overview = await it.overview("bob")
        assert {one.place_id: (one.kind, one.unread_count) for one in overview.states} == {
            it.general: ("channel", 0),
            private: ("channel", 1),
            direct: ("direct", 1),
            group.id: ("group", 1),
        }
        assert overview.badge == 2  # channels count by mentions alone (D-9)


async def test_d4_of_a_default_channel_one_sees_what_came_after_oneself(
    world: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may all be in one millisecond, which is as fine as times are."""
    async with world() as it:
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now)
        await it.post("ada", it.general)
        await it.app.accounts.users.add(it.callers["ada"], "new@example.org")
        after = await it.post("ada", it.general)
        await it.enter("new")
        state = await it.state("new", it.general)
        assert (state.unread_count, state.last_message_id, len(state.position)) == (1, after, 32)


async def test_d4_an_account_that_was_brought_in_begins_by_its_time_whatever_its_id(world: Opened) -> None:
    """Ids of users may be anything in an export."""
    async with world() as it:
        before = await it.post("ada", it.general)
        await it.bring_in("new", "f" * 32)
        last = await it.post("ada", it.general)
        state = await it.state("new", it.general)
        assert state.position < before < last == state.last_message_id
        assert state.unread_count == 2


async def test_c6_notes_count_nothing(world: Opened) -> None:
    async with world() as it:
        notes, _ = await it.app.chat.groups.notes(it.callers["ada"])
        await it.post("ada", notes.id)
        state = await it.state("ada", notes.id)
        assert (state.kind, state.unread_count) == ("notes", 0)


async def test_b9_what_one_does_not_see_counts_nothing_even_marked_as_unread(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", history_for="joiners")
        before = await it.post("ada", room)
        await it.app.chat.members.add(it.callers["ada"], room, [it.id("bob")])
        assert (await it.state("bob", room)).last_message_id is None
        await it.states.unread(it.callers["bob"], room, before)
        assert (await it.state("bob", room)).unread_count == 0
        seen = await it.post("ada", room)
        state = await it.states.unread(it.callers["bob"], room, before)
        assert (state.unread_count, state.last_message_id) == (1, seen)


async def test_x2_no_position_is_the_id_of_what_was_said_before_one_joined(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", history_for="joiners")
        await it.post("ada", room)
        await it.app.chat.members.add(it.callers["ada"], room, [it.id("bob")])
        joined = await it.state("bob", room)
        assert (joined.position, joined.unread_count) == ("0" * 32, 0)
        seen = await it.post("ada", room)
        assert (await it.state("bob", room)).unread_count == 1
        state, _ = await it.states.read(it.callers["bob"], room, seen, joined.generation)
        assert (state.position, state.unread_count) == (seen, 0)


async def test_b6_archived_places_are_left_out_and_come_back(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        await it.post("ada", room)
        mark = (await it.overview("bob")).mark
        await it.app.chat.channels.archive(it.callers["ada"], room, is_archived=True)
        assert room not in await it.counts("bob")
        assert (await it.overview("bob", mark)).left == [room]
        assert (await it.state("bob", room)).unread_count == 0
        mark = (await it.overview("bob")).mark
        await it.app.chat.channels.archive(it.callers["ada"], room, is_archived=False)
        again = await it.overview("bob", mark)
        assert ([one.unread_count for one in again.states], again.left) == ([1], [])


async def test_x3_what_is_not_seen_is_not_there(world: Opened) -> None:
    async with world() as it:
        room, direct = await it.private("ada"), await it.direct("ada", "eve")
        bob = it.callers["bob"]
        for unseen, error in ((room, NotFound), ("0" * 32, NotFound), (direct, Forbidden)):
            with pytest.raises(error):
                await it.state("bob", unseen)
            with pytest.raises(error):
                await it.states.read(bob, unseen, "no id", None)
            with pytest.raises(error):
                await it.states.unread(bob, unseen, "no id")
        assert await it.states.read_all(bob, {room: "f" * 32, direct: "f" * 32, "nothing": "f" * 32}) == 0


async def test_d6_many_places_are_read_at_once(world: Opened) -> None:
    async with world() as it:
        rooms = [it.general, await it.private("ada", "bob"), await it.direct("ada", "bob")]
        seen = {room: await it.post("ada", room) for room in rooms}
        await it.post("ada", it.general)
        bob = it.callers["bob"]
        assert await it.states.read_all(bob, seen | {"0" * 32: "0" * 32}) == 3
        assert await it.counts("bob") == {rooms[0]: 1, rooms[1]: 0, rooms[2]: 0}
        assert {told.place_id for _, told in it.heard.signals} == set(rooms)
        assert await it.states.read_all(bob, seen) == 0
        with pytest.raises(BadRequest):
            await it.states.read_all(bob, {str(number): "0" * 32 for number in range(1001)})
        with pytest.raises(BadRequest):
            await it.states.read_all(bob, {it.general: "newest"})


async def test_d12_since_tells_what_has_changed_and_what_was_left(world: Opened) -> None:
    async with world() as it:
        kept, lost, gone = [await it.private("ada", "bob") for _ in range(3)]
        mark = (await it.overview("bob")).mark
        unchanged = await it.overview("bob", mark)
        assert (unchanged.states, unchanged.left) == ([], [])
        message = await it.post("ada", kept)
        await it.states.read(it.callers["bob"], kept, message, None)
        fresh = await it.direct("eve", "bob")
        await it.app.chat.members.remove(it.callers["ada"], lost, it.id("bob"))
        await it.app.chat.channels.delete(it.callers["ada"], gone)
        changed = await it.overview("bob", mark)
        assert {one.place_id for one in changed.states} == {kept, fresh}
        assert set(changed.left) == {lost, gone}
        await it.app.chat.members.add(it.callers["ada"], lost, [it.id("bob")])
        assert set((await it.overview("bob", mark)).left) == {gone}
        for wrong in ("", "x", "1", mark + "x"):
            with pytest.raises(BadRequest):
                await it.overview("bob", wrong)
        long_ago = "0.1"
        assert len((await it.overview("bob", long_ago)).states) == 4


async def test_d12_a_mark_of_before_a_restore_is_answered_with_everything(world: Opened) -> None:
    async with world() as it:
        everything = len((await it.overview("bob")).states)
        mark = (await it.overview("bob")).mark
        change, _, at = mark.partition(".")
        assert (await it.overview("bob", mark)).states == []
        ahead = f"{int(change) + 30}.{at}"
        assert len((await it.overview("bob", ahead)).states) == everything
        async with it.app.storage.write() as tx:  # As `teamchat restore` does.
            await tx.advance_log((now_ms() + 5) * 1000)
        assert len((await it.overview("bob", mark)).states) == everything
        later = f"{change}.{now_ms() + 10}"
        assert (await it.overview("bob", later)).states == []


async def test_d4_to_end_the_states_of_many_at_once_takes_no_more_statements(world: Opened) -> None:
    async with world() as it:
        room = await it.public("ada", "news")
        await it.app.chat.members.join(it.callers["bob"], room)
        message = await it.post("ada", room)
        await it.states.read(it.callers["bob"], room, message, None)
        counts: list[int] = []
        for many in ([], [it.id("bob"), *(ids.new_id() for _ in range(125))]):
            async with it.app.storage.write() as tx:
                counted: Any = Counted(tx)
                left = [ids.new_id(), ids.new_id(), *many]
                await Following().members_changed(counted, await sight.made(tx, room), [], left)
                rows = await tx.fetch("select user_id from read_state_left where room_id = $1", room)
            assert {user_id for (user_id,) in rows} >= set(left)
            counts.append(counted.statements)
        assert counts[1] <= counts[0]


class Counted:
    """A transaction that counts what is asked of it."""

    def __init__(self, tx: Any) -> None:
        self._tx, self.statements = tx, 0

    async def fetch(self, sql: str, *params: Any) -> Any:
        self.statements += 1
        return await self._tx.fetch(sql, *params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)


async def test_a_channel_becomes_everybodys_and_is_no_longer(world: Opened) -> None:
    async with world() as it:
        room = await it.public("ada", "news")
        await it.app.chat.members.join(it.callers["bob"], room)
        await it.post("ada", room)
        marks = {name: (await it.overview(name)).mark for name in ("bob", "eve")}

        async def set_default(*, is_default: bool) -> None:
            change = ChannelChange(is_default=is_default)
            await it.app.chat.channels.change(it.callers["ada"], room, change)

        await set_default(is_default=True)
        assert (await it.counts("bob"))[room] == 1
        assert (await it.counts("eve"))[room] == 0
        assert [one.place_id for one in (await it.overview("eve", marks["eve"])).states] == [room]
        message = await it.post("ada", room)
        first = await it.states.unread(it.callers["eve"], room, message)
        mark = (await it.overview("eve")).mark
        await set_default(is_default=False)
        assert room not in await it.counts("eve")
        assert (await it.overview("eve", mark)).left == [room]
        assert (await it.counts("bob"))[room] == 2
        await set_default(is_default=True)
        again = await it.state("eve", room)
        assert again.unread_count == 0
        assert again.generation > first.generation


async def test_d4_each_membership_is_newer_than_all_before_it_by_default_too(world: Opened) -> None:
    async with world() as it:
        chat, ada, bob = it.app.chat, it.callers["ada"], it.callers["bob"]
        room = await it.public("ada", "plans")
        generations = []

        async def note() -> None:
            generations.append((await it.state("bob", room)).generation)

        await chat.members.join(bob, room)
        await note()
        await chat.members.leave(bob, room)
        await chat.channels.change(ada, room, ChannelChange(is_default=True))
        await note()  # a member without a row
        await chat.members.leave(bob, room)
        await chat.members.join(bob, room)
        await note()
        await chat.members.leave(bob, room)
        await chat.channels.change(ada, room, ChannelChange(is_default=False))
        await chat.channels.change(ada, room, ChannelChange(is_default=True))
        await note()  # without a row again
        await chat.channels.change(ada, room, ChannelChange(is_default=False))
        await chat.members.join(bob, room)
        await note()
        assert generations == sorted(set(generations))


async def test_b7_a_channel_that_becomes_private_keeps_the_counts_of_its_members(world: Opened) -> None:
    async with world() as it:
        await it.app.chat.members.leave(it.callers["max"], it.general)
        await it.post("ada", it.general)
        marks = {name: (await it.overview(name)).mark for name in ("bob", "eve", "max")}
        change = PrivacyChange(is_private=True, members=[it.id("bob"), it.id("max")])
        await it.app.chat.privacy.change(it.callers["ada"], it.general, change)
        assert (await it.counts("bob"))[it.general] == 1
        assert (await it.counts("max"))[it.general] == 0  # was in it no more, and joins now
        gone = await it.overview("eve", marks["eve"])
        assert (gone.states, gone.left) == ([], [it.general])
        with pytest.raises(NotFound):
            await it.state("eve", it.general)
        later = await it.overview("max", marks["max"])
        assert [one.place_id for one in later.states] == [it.general]


async def test_retention_and_the_end_of_a_channel_or_a_user_need_nothing_more(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        for where in (room, it.general):
            await it.post("ada", where)
            await it.states.unread(it.callers["bob"], where, "0" * 32)
        tomorrow = -1  # as if that day had come
        await Retention(it.app.storage, tomorrow, it.app.capabilities).sweep()
        assert await it.counts("bob") == {it.general: 0, room: 0}
        await it.app.chat.channels.delete(it.callers["ada"], room)
        assert await it.counts("bob") == {it.general: 0}
        await it.app.accounts.users.remove(it.callers["ada"], it.id("bob"))
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select 1 from read_state where user_id = $1", it.id("bob")) == []


async def test_mentions_of_a_user_who_is_removed_go_some_at_a_time(
    world: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(going, "AT_ONCE", 2)
    monkeypatch.setattr(going, "PART", 2)
    async with world() as it:
        bob = it.id("bob")
        messages = [await it.post("ada", it.general) for _ in range(5)]
        async with it.app.storage.write() as tx:
            for message_id in messages:
                where = mentioned.Where(message_id, it.general, None, message_id)
                await mentioned.reach(tx, where, {bob: "user", it.id("eve"): "user"})
        before = metrics.writes.value
        await it.app.accounts.users.remove(it.callers["ada"], bob)
        assert metrics.writes.value - before == 5  # shut out, three parts, removed
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select distinct user_id from read_state_mentions") == [(it.id("eve"),)]
            assert await tx.fetch("select 1 from users where id = $1 and removed_at is null", bob) == []


async def test_that_a_channel_is_gone_is_told_to_who_was_in_it_alone(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        marks = {name: (await it.overview(name)).mark for name in ("ada", "bob", "eve")}
        await it.app.chat.channels.delete(it.callers["ada"], room)
        told = {name: (await it.overview(name, mark)).left for name, mark in marks.items()}
        assert told == {"ada": [room], "bob": [room], "eve": []}
        later = (await it.overview("bob")).mark
        assert (await it.overview("bob", later)).left == []
        await it.app.accounts.users.remove(it.callers["ada"], it.id("bob"))
        async with it.app.storage.read() as tx:
            [(members,)] = await tx.fetch("select members from read_state_gone")
        assert sorted(json.loads(members)) == ["", it.id("ada")]  # nothing of who is no user any more


async def test_states_of_a_deleted_channel_are_removed_some_at_a_time(
    world: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_PART", 2)
    async with world() as it:
        room = await it.private("ada", "bob", "eve")
        for name in ("ada", "bob", "eve"):
            await it.states.unread(it.callers[name], room, "0" * 32)
        mark = (await it.overview("bob")).mark

        async def left() -> int:
            async with it.app.storage.read() as tx:
                return len(await tx.fetch("select 1 from read_state where room_id = $1", room))

        await it.app.chat.channels.delete(it.callers["ada"], room)
        assert await left() == 1
        assert (await it.overview("bob", mark)).left == [room]
        await it.app.chat.deletion.sweep()
        assert await left() == 0
        async with it.app.storage.read() as tx:
            assert await tx.fetch("select 1 from rooms where id = $1", room) == []


async def test_rooms_that_an_import_brings_count_as_read_and_are_counted_from_then_on(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        await it.post("ada", room)
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("bob"))
        async with it.app.storage.write() as tx:
            await tx.fetch("delete from read_state_rooms where room_id = $1", room)
            await tx.fetch("delete from read_state_left")
            await membership.change(tx, room, joined=[it.id("bob")])
        assert (await it.counts("bob"))[room] == 0
        await Upkeep(it.app.storage).run()
        await it.post("ada", room)
        assert (await it.counts("bob"))[room] == 1


async def test_what_was_left_long_ago_is_forgotten(world: Opened) -> None:
    async with world() as it:
        room, other = await it.private("ada", "bob"), await it.private("ada", "bob")
        for one in (room, other):
            await it.app.chat.members.remove(it.callers["ada"], one, it.id("bob"))
        await it.app.chat.channels.delete(it.callers["ada"], room)
        async with it.app.storage.write() as tx:
            for table in ("read_state_left", "read_state_gone"):
                await tx.fetch(f"update {table} set left_at = left_at - $1", KEPT_MS + 1)
        await Upkeep(it.app.storage).run()
        async with it.app.storage.read() as tx:
            left = {one for (one,) in await tx.fetch("select distinct room_id from read_state_left")}
            gone = await tx.fetch("select room_id from read_state_gone")
        assert left == {other}  # by its generation, should they come back
        assert gone == []


async def test_states_and_marks_ask_for_no_more_than_they_need(
    world: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Storage.position` is one statement that all share who ask at once, where bounds are a transaction.

    And who is a member of a place sees it: one statement says both.
    """

    async def bounds() -> tuple[int, int]:
        raise AssertionError("the bounds of the log were asked for")

    async def room(*_: object) -> None:
        raise AssertionError("the room was asked for, and then the place")

    async with world() as it:
        message = await it.post("ada", it.general)
        logged = await it.app.storage.position()
        monkeypatch.setattr(it.app.storage, "log_bounds", bounds)
        monkeypatch.setattr(Application, "room", room)
        await it.states.read(it.callers["bob"], it.general, message, None)
        await it.states.read_all(it.callers["eve"], {it.general: message})
        assert (await it.overview("bob")).as_of == logged
        assert [signal.as_of for _, signal in it.heard.signals] == [str(logged)] * 2
        monkeypatch.undo()
