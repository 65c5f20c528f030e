"""Where a server wants a second factor, of admins or of all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from teamchat import Forbidden
from teamchat.settings import Settings
from tests.second_factor.world import ADMIN, HOME, World, at_once, opened


def demanding(world: World, demanded: str) -> None:
    """Have the server want a second factor, as ``auth.secondFactor`` says."""
    world.app.accounts.second_steps._demanded = demanded


async def test_where_it_is_wanted_nothing_is_done_before_and_the_last_one_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        authenticate, token = world.app.accounts.authenticate, (await world.login()).access_token
        demanding(world, "admins")
        await authenticate(token)
        demanding(world, "all")
        with pytest.raises(Forbidden):
            await authenticate(token)
        bob = await authenticate(token, before_password_change=True)
        first, _, _ = await world.set_up(bob)
        await authenticate(token)
        with pytest.raises(Forbidden):
            await world.factors.remove(bob, first, HOME, None)
        second, _, _ = await world.set_up(bob)
        removing = [lambda id_=id_: world.factors.remove(bob, id_, HOME, None) for id_ in (first, second)]  # type: ignore[misc]
        assert await at_once(*removing) == ["Forbidden", "done"]
        assert len((await world.factors.own(bob)).second_factors) == 1


async def test_who_became_an_admin_meanwhile_keeps_the_one_that_admins_must_have(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        demanding(world, "admins")
        own, _, _ = await world.set_up(world.bob)
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        with pytest.raises(Forbidden):
            await world.factors.remove(world.bob, own, HOME, None)


async def test_where_admins_must_have_one_who_becomes_an_admin_must(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        demanding(world, "admins")
        _, signed_in = await world.app.accounts.sign_in(ADMIN, HOME, "tests")
        with pytest.raises(Forbidden):
            await world.caller(signed_in)
        token = (await world.login()).access_token
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        with pytest.raises(Forbidden):
            await world.app.accounts.authenticate(token)


async def test_streams_end_of_who_becomes_an_admin_without_the_one_that_admins_must_have(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        demanding(world, "admins")
        users, bob = world.app.accounts.users, world.bob.user.id
        ended = "select payload from events where type = '_STREAMS_ENDED'"
        for role in ("admin", "user"):
            await users.set_role(world.ada, bob, role)
            assert await world.rows(ended) == [(json.dumps({"userId": bob}, separators=(",", ":")),)]
        await world.set_up(world.bob)
        await users.set_role(world.ada, bob, "admin")
        assert len(await world.rows(ended)) == 1


async def test_who_took_it_away_while_no_admin_must_have_one_again_in_the_same_session(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        demanding(world, "admins")
        users, bob = world.app.accounts.users, world.bob.user.id
        token = (await world.login(code=(await world.set_up(world.bob))[2][0])).access_token
        await users.set_role(world.ada, bob, "admin")
        await world.app.accounts.authenticate(token)
        await users.set_role(world.ada, bob, "user")
        async with world.app.storage.write() as tx:
            assert await world.codes.forget_in(tx, bob)
        await world.app.accounts.authenticate(token)
        await users.set_role(world.ada, bob, "admin")
        with pytest.raises(Forbidden):
            await world.app.accounts.authenticate(token)


def test_the_setting_knows_three_words() -> None:
    assert Settings().auth.second_factor == "optional"
    assert replace(Settings().auth, second_factor="all").second_factor == "all"
