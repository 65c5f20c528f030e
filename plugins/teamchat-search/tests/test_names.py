"""People and channels are found by their names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from msgspec import UNSET
from teamchat_search.names import Names

from teamchat import BadRequest, Forbidden
from teamchat.accounts import Account
from teamchat.model import Caller

_world = import_module("plugins.teamchat-search.tests.world")
World, opened = _world.World, _world.opened


async def test_l3_who_is_deactivated_is_found_as_one_who_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        names, secret = Names(world.app), await world.private("Quiet", world.bob)
        [bob] = await names.people(world.ada, "bob", None)
        assert bob.is_deactivated is UNSET
        account = Account(world.bob.user, is_deactivated=False)
        async with world.app.storage.write() as tx:
            await world.app.accounts.users.deactivate_in(tx, account)
        [bob] = await names.people(world.ada, "bob", None)
        assert bob.is_deactivated is True
        assert await names.people(world.ada, "bob", secret) == [], "who is to be mentioned hears of it"


async def test_people_and_channels_are_found_by_their_names(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        names = Names(world.app)
        rename = world.app.accounts.users.rename
        await rename(world.bob, "Zoë Quinn")
        await rename(world.eve, "Dinquist")

        async def people(query: str, place: str | None = None) -> list[str]:
            return [one.user_name for one in await names.people(world.ada, query, place)]

        assert await people("quin") == ["Zoë Quinn"]
        assert await people("ZOE") == ["Zoë Quinn"]
        assert await people("qui") == ["Zoë Quinn", "Dinquist"]
        secret = await world.private("Quiet", world.bob)
        assert await people("qui", secret) == ["Zoë Quinn"]
        assert await names.people(world.eve, "qui", secret) == []
        conversation = await world.conversation(world.ada, world.bob)
        assert await people("qui", conversation) == ["Zoë Quinn"]
        with pytest.raises(Forbidden):
            await names.people(world.eve, "", conversation)
        assert len(await people("")) == 3
        await world.public("Über Quality")

        async def channels(query: str, by: Caller) -> list[str]:
            return [one.name for one in await names.channels(by, query)]

        assert await channels("qu", world.ada) == ["Quiet", "Über Quality"]
        assert await channels("qu", world.eve) == ["Über Quality"]
        assert await channels("uber", world.eve) == ["Über Quality"]
        with pytest.raises(BadRequest):
            await channels("x" * 65, world.ada)
