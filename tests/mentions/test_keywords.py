"""Keywords count as mentions from when they were set, in places that one is a member of (extension E-7)."""

from __future__ import annotations

from typing import Any

import pytest

from teamchat.read_state.levels import keywords
from tests.mentions.world import mentions


async def set_keywords(it: Any, name: str, *words: str) -> None:
    async with it.app.storage.write() as tx:
        await keywords.store(tx, it.id(name), keywords.checked(words))


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
