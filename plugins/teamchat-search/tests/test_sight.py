"""X-2: who sees a room finds what is said there, and nobody else does."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from teamchat import Forbidden
from teamchat.chat.privacy import PrivacyChange

_world = import_module("plugins.teamchat-search.tests.world")
World, opened = _world.World, _world.opened


async def test_x2_nobody_finds_what_they_do_not_see(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        secret = await world.private("Secret", world.bob)
        conversation = await world.conversation(world.ada, world.bob)
        message = await world.say("needle one", secret)
        reply = await world.reply("needle two", message, world.bob)
        direct = await world.say("needle three", conversation)
        for is_indexed in (False, True):
            if is_indexed:
                await world.indexing.catch_up()
            assert await world.find("needle", world.ada) == [direct, reply, message]
            assert await world.find("needle", world.bob) == [direct, reply, message]
            assert await world.find("needle", world.eve) == []
            assert await world.find("needle", world.eve, channel_id=secret) == []
            assert await world.find("needle in:#Secret", world.bob) == [reply, message]
            assert await world.find("needle in:#Secret", world.eve) == []
            assert await world.find(f"needle in:{secret}", world.eve) == []
            assert await world.find("needle in:dm", world.bob) == [direct]
            with pytest.raises(Forbidden):
                await world.find("needle", world.eve, conversation_id=conversation)
        await world.app.chat.members.remove(world.ada, secret, world.bob.user.id)
        assert await world.find("needle", world.bob) == [direct]


async def test_x2_who_was_let_in_late_finds_nothing_of_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        from teamchat.chat.channel_drafts import NewPrivateChannel

        made = NewPrivateChannel("Late", history_for="joiners")
        room = (await world.app.chat.channels.create(world.ada, made)).id
        before = await world.say("needle before", room)
        await world.app.chat.members.add(world.ada, room, [world.bob.user.id])
        after = await world.say("needle after", room)
        late = await world.reply("needle reply", before)
        for _ in range(2):
            assert await world.find("needle", world.bob) == [after]
            assert await world.find("needle", world.ada) == [late, after, before]
            await world.indexing.catch_up()


@pytest.mark.parametrize("history", ["show", "hide"])
async def test_a_channel_made_private_and_public_is_found_by_who_sees_it_at_every_moment(
    tmp_path: Path, history: str
) -> None:
    async with opened(tmp_path) as world:
        room = await world.public("Turning")
        old = await world.say("needle old", room)
        await world.indexing.catch_up()
        assert await world.find("needle", world.eve) == [old]
        privacy = world.app.chat.privacy
        await privacy.change(world.ada, room, PrivacyChange(True, members=[world.bob.user.id]))
        inside = await world.say("needle inside", room)
        for _ in range(2):
            assert await world.find("needle", world.eve) == []
            assert await world.find("needle", world.bob) == [inside, old]
            await world.indexing.catch_up()
        await privacy.change(world.ada, room, PrivacyChange(False, history=history))
        new = await world.say("needle new", room)
        seen = [new] if history == "hide" else [new, inside, old]
        for _ in range(2):
            assert await world.find("needle", world.eve) == seen
            assert await world.find("needle", world.bob) == [new, inside, old]
            await world.indexing.catch_up()
        async with world.app.storage.read() as tx:
            assert not await tx.fetch("select 1 from search_moving")


async def test_an_archived_channel_is_searched(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        room = await world.public("Old")
        message = await world.say("needle", room)
        await world.app.chat.channels.archive(world.ada, room, is_archived=True)
        assert await world.find("needle", world.eve) == [message]
