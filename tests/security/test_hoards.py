"""Nobody has so much that they can't be shut out: what may be long follows in parts (extension L-1, D-22)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from teamchat_files import attaching

from teamchat.chat import leaving
from teamchat.server.maintenance import Sweeper
from tests.leaks.world import Person, World, open_world

ROOMS = 8
AT_ONCE = 3


@asynccontextmanager
async def hoarding(tmp_path: Path) -> AsyncIterator[tuple[World, Person, Person]]:
    """Open a server with Mallory, who has made more channels with Eve than one transaction sees to."""
    async with open_world(tmp_path) as world:
        await world.person("admin")
        mallory, eve = await world.person("mallory"), await world.person("eve")
        for number in range(ROOMS):
            body = {"name": f"hoard {number}", "members": [eve.id]}
            await mallory.client.ok("POST", "/private-channels", body)
        yield world, mallory, eve


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in ("AT_ONCE", "PART"):
        for module in (leaving, attaching):
            monkeypatch.setattr(module, most, AT_ONCE)


async def count(world: World, sql: str, *given: Any) -> int:
    async with world.app.storage.read() as tx:
        return int((await tx.fetch(f"select count(*) from {sql}", *given))[0][0])


async def managed_by(world: World, person: Person) -> int:
    return await count(world, "memberships where user_id = $1 and role = 'manager'", person.id)


@pytest.mark.parametrize("seconds", [1, 0])
async def test_who_manages_very_many_channels_is_deactivated_and_others_manage_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(leaving, "PART_SECONDS", seconds)
    async with hoarding(tmp_path) as (world, mallory, eve):
        admin = (await world.person("admin")).client
        await admin.ok("POST", f"/users/{mallory.id}/deactivate")
        (await mallory.client.call("GET", "/channels")).problem(401)
        assert await managed_by(world, eve) == ROOMS
        await admin.ok("POST", f"/users/{mallory.id}/activate")
        assert await managed_by(world, mallory) == ROOMS


async def test_what_a_server_that_ended_has_not_handed_over_another_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "PART_SECONDS", 60)  # However slow it is here: a part is three channels.
    async with hoarding(tmp_path) as (world, mallory, eve):
        admin = (await world.person("admin")).client
        users: Any = world.app.accounts.users
        with monkeypatch.context() as killed:

            async def nothing(*_: object, **__: object) -> None:
                """The server has ended."""

            killed.setattr(type(users), "_settle", nothing)
            await admin.ok("POST", f"/users/{mallory.id}/deactivate")
        (await mallory.client.call("GET", "/channels")).problem(401)
        assert await managed_by(world, eve) == AT_ONCE
        await Sweeper(world.app).hand_over()
        assert await managed_by(world, eve) == ROOMS
        await Sweeper(world.app).hand_over()


@pytest.mark.parametrize(("how", "seconds"), [("remove", 1), ("remove", 0), ("exit", 1), ("bot", 0)])
async def test_who_is_in_very_many_channels_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, seconds: float
) -> None:
    monkeypatch.setattr(leaving, "PART_SECONDS", seconds)  # 0: each channel takes longer than a part may
    async with hoarding(tmp_path) as (world, mallory, eve):
        admin, gone = (await world.person("admin")).client, mallory.id
        if how == "remove":
            await admin.ok("DELETE", f"/users/{gone}")
        elif how == "exit":
            await mallory.client.ok("POST", "/users/exit")
        else:
            gone = (await admin.ok("POST", "/bots", {"userName": "Hoarder"}))["bot"]["id"]
            for room in (await mallory.client.ok("GET", "/channels?joined=true"))["channels"]:
                if room["name"].startswith("hoard"):
                    await mallory.client.ok("POST", f"/channels/{room['id']}/members", {"userIds": [gone]})
            await admin.ok("DELETE", f"/bots/{gone}")
        assert await count(world, "memberships where user_id = $1", gone) == 0
        assert await count(world, "users where id = $1 and removed_at is not null", gone) == 1
        assert await managed_by(world, mallory if how == "bot" else eve) == ROOMS
        if how != "bot":
            (await mallory.client.call("GET", "/channels")).problem(401)


async def test_who_has_very_many_files_that_stand_nowhere_is_removed(tmp_path: Path) -> None:
    async with hoarding(tmp_path) as (world, mallory, _):
        async with world.app.storage.write() as tx:
            for number in range(ROOMS):
                await tx.fetch(
                    """insert into files (id, key, place_id, uploader_id, name, media_type, size, state,
                       created_at, number, todo, claimed_until, attempts) select $1, $2, m.room_id, $3, 'a',
                       'text/plain', 1, 'ready', 1, 0, 0, 0, 0 from memberships m
                       where m.user_id = $3 limit 1""",
                    *(f"{number:032x}", f"key{number}", mallory.id),
                )
        await (await world.person("admin")).client.ok("DELETE", f"/users/{mallory.id}")
        assert await count(world, "files where uploader_id = $1", mallory.id) == 0
        assert await count(world, "users where id = $1 and removed_at is not null", mallory.id) == 1
