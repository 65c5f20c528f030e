"""Who a token stands for, at every moment, though what was read is kept in memory."""

from __future__ import annotations

import pytest

from teamchat.errors import Unauthorized
from tests.accounts.conftest import World
from tests.storages import open_storage


class Counting:
    """A storage that counts the transactions that read."""

    def __init__(self, storage):
        self._storage = storage
        self.reads = 0

    def read(self):
        self.reads += 1
        return self._storage.read()

    def __getattr__(self, name):
        return getattr(self._storage, name)


async def test_a_caller_who_is_known_costs_no_transaction(world: World) -> None:
    accounts = world.accounts()
    await world.admin(accounts)
    world.storage = Counting(world.storage)
    accounts = world.accounts()
    _, signed_in = await accounts.sign_in("ada@example.org", "192.0.2.1", "tests")
    first = await accounts.authenticate(signed_in.access_token)
    before = world.storage.reads
    assert await accounts.authenticate(signed_in.access_token) == first
    assert world.storage.reads == before


async def test_d09_a_token_stops_working_at_once_though_its_session_is_known(world: World) -> None:
    accounts = world.accounts()
    caller = await world.admin(accounts)
    _, signed_in = await accounts.sign_in("ada@example.org", "192.0.2.1", "tests")
    known = await accounts.authenticate(signed_in.access_token)
    await accounts.sessions.end(caller, known.session_id, None)
    with pytest.raises(Unauthorized):
        await accounts.authenticate(signed_in.access_token)


async def test_a_session_that_another_process_ended_is_over_here_too(world: World, tmp_path) -> None:
    accounts = world.accounts()
    await world.admin(accounts)
    _, signed_in = await accounts.sign_in("ada@example.org", "192.0.2.1", "tests")
    known = await accounts.authenticate(signed_in.access_token)
    async with open_storage(tmp_path) as storage:
        await World(storage, world.clock).accounts().sessions.end(known, None, None)
    with pytest.raises(Unauthorized):
        await accounts.authenticate(signed_in.access_token)


async def test_a_new_name_is_told_at_once(world: World) -> None:
    accounts = world.accounts()
    caller, signed_in = await world.sign_in(accounts, (await world.admin(accounts)).user.email)
    await accounts.users.rename(caller, "Countess")
    assert (await accounts.authenticate(signed_in.access_token)).user.user_name == "Countess"


async def test_a_known_session_expires_on_time(world: World) -> None:
    accounts = world.accounts(
        jwt_expiry_seconds=10_000, refresh_token_expiry_seconds=100, max_session_seconds=200
    )
    await world.admin(accounts)
    _, signed_in = await world.sign_in(accounts, "ada@example.org")
    world.clock.pass_seconds(201)
    with pytest.raises(Unauthorized):
        await accounts.authenticate(signed_in.access_token)


async def test_a_session_that_was_refreshed_lives_on(world: World) -> None:
    accounts = world.accounts(jwt_expiry_seconds=900, refresh_token_expiry_seconds=1000)
    await world.admin(accounts)
    _, signed_in = await world.sign_in(accounts, "ada@example.org")
    world.clock.pass_seconds(600)
    pair = await accounts.sessions.refresh(signed_in.refresh_token)
    await accounts.authenticate(pair.access_token)
    world.clock.pass_seconds(600)
    await accounts.authenticate(pair.access_token)
