from __future__ import annotations

import pytest


async def test_the_server_has_a_name_from_the_first_start(world) -> None:
    assert await world.chat.server_settings.name() == "teamchat"


async def test_d36_an_admin_renames_the_server_and_everyone_is_told(world, ada) -> None:
    assert await world.chat.server_settings.rename(ada, "  Our place ") == "Our place"
    assert await world.chat.server_settings.name() == "Our place"
    assert await world.events() == [("UPDATE_SERVER_SETTINGS", {"name": "Our place"}, None)]


async def test_d35_the_name_it_already_has_sends_no_event(world, ada) -> None:
    await world.chat.server_settings.rename(ada, "teamchat")
    assert await world.events() == []


async def test_others_may_not_rename_it(world, bob, refused) -> None:
    async with refused(403):
        await world.chat.server_settings.check_manage(bob)
    async with refused(403):
        await world.chat.server_settings.rename(bob, "")


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\0b", "a\u202eb", "\ud800"])
async def test_d04_the_name_has_the_bounds_of_every_name(world, ada, refused, name) -> None:
    async with refused(400):
        await world.chat.server_settings.rename(ada, name)
    assert await world.chat.server_settings.name() == "teamchat"
