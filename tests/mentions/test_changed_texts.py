"""What becomes of mentions when a text is edited or filtered, or somebody is renamed (E-1, E-2, E-4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from teamchat.mentions.entities import Entity
from teamchat.testing import exports
from tests.mentions.world import entities, mentions


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


async def test_what_was_mentioned_is_not_left_in_the_log_after_an_edit(world: Any) -> None:
    async with world() as it:
        message = (await it.say("ada", it.general, "@bob")).message
        await it.edit("ada", message.id, "nobody")
        async with it.app.storage.read() as tx:
            rows = await tx.fetch("select payload from events where type = 'NEW_MESSAGE'")
        assert not [payload for (payload,) in rows if it.id("bob") in payload]


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
