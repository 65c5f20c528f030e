"""Accounts that were taken before their owner signed in at a provider (decision D-40)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.client import Client

from .conftest import World

JANE, PASSWORD = "jane@example.org", "the stranger's password"


@pytest.fixture
async def world(make: Any) -> World:
    """A server with passwords beside OAuth, at which everybody may register."""
    made: World = await make(auth={"is_invite_required": False, "auth_mode": "password"})
    return made


async def register(world: World, email: str = JANE) -> str:
    """Do what registering does: whoever it is has a password, and shows no proof of the address."""
    accounts = world.app.accounts
    password_hash = await accounts.hasher.hash(PASSWORD)
    async with accounts.storage.write() as tx:
        user = await accounts.users.create_in(tx, email, password_hash=password_hash)
        signed_in = await accounts.sessions.start_in(tx, user.id, "198.51.100.66", "")
    return signed_in.access_token


async def test_d40_the_stranger_who_registered_the_address_is_out(world: World) -> None:
    stranger = await register(world)
    tokens = await world.sign_in()
    assert tokens["earlier_access_ended"] == "true"
    (await Client(world.site, stranger).call("GET", "/conversations")).problem(401)
    [(kept,)] = await world.fetch("select password_hash from users where email = $1", JANE)
    assert not await world.app.accounts.hasher.matches(kept, PASSWORD)
    assert (await world.me(tokens))["email"] == JANE
    assert await world.count("users") == 2, "it is the same account (rule 13)"


async def test_d40_only_the_first_sign_in_tells_of_it(world: World) -> None:
    await register(world)
    first = await world.sign_in()
    second = await world.sign_in()
    assert "earlier_access_ended" not in second
    await world.me(first)


async def test_d40_who_was_nobody_before_is_told_nothing(world: World) -> None:
    assert "earlier_access_ended" not in await world.sign_in()


async def test_d40_an_identity_known_from_before_this_was_kept_is_a_proof_too(world: World) -> None:
    await world.sign_in()
    async with world.app.storage.write() as tx:
        await tx.fetch("update users set email_proved_at = 0")
    assert (await world.sign_in())["earlier_access_ended"] == "true"
    assert "earlier_access_ended" not in await world.sign_in()


async def test_d40_an_identity_whose_email_has_become_another_proves_nothing(world: World) -> None:
    tokens = await world.sign_in()
    async with world.app.storage.write() as tx:
        await tx.fetch("update users set email_proved_at = 0")
    world.idp.profile["email"] = "jane@elsewhere.example"
    assert "earlier_access_ended" not in await world.sign_in()
    await world.me(tokens)
