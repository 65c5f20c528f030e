"""Mentions of everybody: who may make them, and for whom they count (extensions E-5, E-8)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from teamchat.chat import Draft
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import Forbidden
from teamchat.mentions.entities import Entity
from tests.mentions.world import entities, mentions


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
