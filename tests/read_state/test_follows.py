"""Who follows a thread, from where on, and what ends it (extension D-8): the rows alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from teamchat.chat.privacy import PrivacyChange
from teamchat.read_state import going
from teamchat.read_state.positions import before
from teamchat.read_state.threads import follows
from teamchat.read_state.threads.follows import Thread
from tests.read_state.world import NAMES, World

Opened = Callable[[], AbstractAsyncContextManager[World]]
_ROWS = "select user_id, position, is_following, generation from threads_states where message_id = $1"


async def rows(it: World, parent: str) -> Mapping[str, tuple[str, int, int]]:
    async with it.app.storage.read() as tx:
        found = {user_id: tuple(row) for user_id, *row in await tx.fetch(_ROWS, parent)}
    return {name: found[it.id(name)] for name in NAMES if it.id(name) in found}  # type: ignore[misc]


async def follow(it: World, parent: str, unread_from: Mapping[str, str], room: str = "") -> None:
    async with it.app.storage.write() as tx:
        named = {it.id(name): reply for name, reply in unread_from.items()}
        await follows.follow(tx, Thread(parent, room or it.general), named)


async def test_the_first_reply_has_two_follow_and_any_other_one(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("bob", it.general)
        first = await it.reply("eve", parent)
        assert await rows(it, parent) == {"bob": (before(first), 1, 0), "eve": (first, 1, 0)}
        second = await it.reply("max", parent)
        third = await it.reply("eve", parent)
        assert await rows(it, parent) == {
            "bob": (before(first), 1, 0),
            "eve": (third, 1, 0),
            "max": (second, 1, 0),
        }
        own = await it.post("bob", it.general)
        reply = await it.reply("bob", own)
        assert await rows(it, own) == {"bob": (reply, 1, 0)}


async def test_many_may_be_made_to_follow_and_who_does_already_stays_where_they_are(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("ada", it.general)
        first = await it.reply("bob", parent)
        second = await it.reply("bob", parent)
        await follow(it, parent, {"eve": second, "max": second, "ada": second})
        found = await rows(it, parent)
        assert {name: found[name][0] for name in ("ada", "eve", "max")} == {
            "ada": before(first),
            "eve": before(second),
            "max": before(second),
        }
        async with it.app.storage.read() as tx:
            assert set(await follows.followers(tx, parent)) == {it.id(name) for name in NAMES}


async def test_who_wrote_the_parent_and_has_left_since_does_not_follow(world: Opened) -> None:
    async with world() as it:
        room = await it.public("ada", "plans")
        for name in ("bob", "eve"):
            await it.app.chat.members.join(it.callers[name], room)
        parent = await it.post("bob", room)
        await it.app.chat.members.leave(it.callers["bob"], room)
        await it.reply("eve", parent)
        assert list(await rows(it, parent)) == ["eve"]
        outside = await it.post("max", room)  # never was in it, and takes part all the same
        await it.reply("eve", outside)
        assert list(await rows(it, outside)) == ["eve", "max"]


async def test_leaving_ends_the_states_of_a_place_and_of_no_other(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob", "eve")
        inside, outside = await it.post("ada", room), await it.post("ada", it.general)
        for parent in (inside, outside):
            await it.reply("bob", parent)
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("bob"))
        assert list(await rows(it, inside)) == ["ada"]
        assert list(await rows(it, outside)) == ["ada", "bob"]


async def test_a_generation_that_was_known_elsewhere_is_kept_for_who_comes_back(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        parent = await it.post("ada", room)
        await it.reply("bob", parent)
        async with it.app.storage.write() as tx:
            await tx.fetch("update threads_states set generation = 4 where user_id = $1", it.id("bob"))
        newest = await it.reply("ada", parent)
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("bob"))
        assert (await rows(it, parent))["bob"] == (newest, 0, 5)
        await it.app.chat.members.add(it.callers["ada"], room, [it.id("bob")])
        later = await it.reply("ada", parent)
        await follow(it, parent, {"bob": later}, room)
        assert (await rows(it, parent))["bob"] == (before(later), 1, 5)


async def test_who_is_no_member_by_default_any_more_follows_nothing_there(world: Opened) -> None:
    async with world() as it:
        parent = await it.post("ada", it.general)
        for name in ("bob", "eve"):
            await it.reply(name, parent)
        change = PrivacyChange(is_private=True, members=[it.id("bob")])
        await it.app.chat.privacy.change(it.callers["ada"], it.general, change)
        assert list(await rows(it, parent)) == ["ada", "bob"]


@pytest.mark.parametrize("at_once", [0, going.AT_ONCE])
async def test_what_is_deleted_and_who_is_removed_leave_nothing(
    world: Opened, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(going, "AT_ONCE", at_once)
    async with world() as it:
        parent, other = await it.post("ada", it.general), await it.post("ada", it.general)
        for one in (parent, other):
            await it.reply("bob", one)
        await it.delete("ada", parent)
        await it.app.accounts.users.remove(it.callers["ada"], it.id("bob"))
        async with it.app.storage.read() as tx:
            left = await tx.fetch("select user_id, message_id from threads_states")
        assert [tuple(row) for row in left] == [(it.id("ada"), other)]
