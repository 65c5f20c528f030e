"""Changing one's own password, while others do other things (decision D-43)."""

from __future__ import annotations

from typing import Any

import pytest
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts
from teamchat.accounts.scrypt import Hasher
from teamchat.errors import Forbidden, Unauthorized
from tests.accounts.conftest import World, hash_passwords_with

BOB, PASSWORD, NEW, HOME = "bob@example.org", "correct horse battery", "another password", "192.0.2.1"


class Unhashed(Hasher):
    """Hashes nothing, and does something else while it checks a password."""

    def __init__(self, meanwhile: Any = None) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    async def hash(self, password: str) -> str:
        return f"hash of {password}"

    async def matches(self, stored: str | None, password: str) -> bool:
        if self.meanwhile is not None:
            await self.meanwhile()
        return stored == f"hash of {password}"


@pytest.fixture
def hasher() -> Unhashed:
    return Unhashed()


@pytest.fixture
def accounts(world: World, hasher: Unhashed) -> Accounts:
    accounts = world.accounts(auth_mode="password", is_invite_required=False, must_change_set_passwords=True)
    hash_passwords_with(accounts, hasher)
    accounts.users._hasher = hasher
    return accounts


async def test_d43_changing_ends_the_streams_of_the_other_sessions_alone(
    world: World, accounts: Accounts
) -> None:
    other = await accounts.authenticate(
        (await Passwords(accounts).register(BOB, PASSWORD, HOME, "")).access_token
    )
    signed_in = await Passwords(accounts).login(BOB, PASSWORD, HOME, "")
    caller = await accounts.authenticate(signed_in.access_token)
    await Passwords(accounts).change(caller, PASSWORD, NEW, HOME)
    [ended] = await world.events("_SESSIONS_ENDED")
    assert ended["sessionIds"] == [other.session_id]


async def test_d43_a_session_that_ended_while_the_password_was_checked_changes_nothing(
    world: World, accounts: Accounts, hasher: Unhashed
) -> None:
    signed_in = await Passwords(accounts).register(BOB, PASSWORD, HOME, "")
    caller = await accounts.authenticate(signed_in.access_token)

    async def sign_out() -> None:
        await accounts.sessions.logout(caller, signed_in.refresh_token)

    hasher.meanwhile = sign_out
    with pytest.raises(Unauthorized):
        await Passwords(accounts).change(caller, PASSWORD, NEW, HOME)
    assert await world.fetch("select password_hash from users") == [(f"hash of {PASSWORD}",)]


async def test_d43_of_two_changes_at_once_the_later_finds_the_password_wrong(
    world: World, accounts: Accounts, hasher: Unhashed
) -> None:
    signed_in = await Passwords(accounts).register(BOB, PASSWORD, HOME, "")
    caller = await accounts.authenticate(signed_in.access_token)

    async def change() -> None:
        hasher.meanwhile = None
        await Passwords(accounts).change(caller, PASSWORD, NEW, HOME)

    hasher.meanwhile = change
    with pytest.raises(Unauthorized):
        await Passwords(accounts).change(caller, PASSWORD, "a third password", HOME)
    assert await world.fetch("select password_hash from users") == [(f"hash of {NEW}",)]


async def test_d43_who_has_no_password_is_answered_as_for_a_wrong_one(
    accounts: Accounts, world: World
) -> None:
    caller, _ = await world.sign_in(accounts, BOB)
    with pytest.raises(Unauthorized):
        await Passwords(accounts).change(caller, PASSWORD, NEW, HOME)


async def test_d43_whoever_asks_for_a_caller_is_refused_one_who_must_change_their_password(
    world: World, accounts: Accounts
) -> None:
    admin = await world.admin(accounts)
    await accounts.users.add(admin, BOB, password=PASSWORD)
    signed_in = await Passwords(accounts).login(BOB, PASSWORD, HOME, "")
    for _ in range(2):
        with pytest.raises(Forbidden, match="password"):
            await accounts.authenticate(signed_in.access_token)
    caller = await accounts.authenticate(signed_in.access_token, before_password_change=True)
    await Passwords(accounts).change(caller, PASSWORD, NEW, HOME)
    assert (await accounts.authenticate(signed_in.access_token)).user == caller.user


async def test_d43_signing_in_another_way_asks_for_no_change(world: World, accounts: Accounts) -> None:
    admin = await world.admin(accounts)
    await accounts.users.add(admin, BOB, password=PASSWORD)
    caller, _ = await world.sign_in(accounts, BOB)
    assert caller.user.email == BOB


async def test_d43_a_mailed_link_to_a_new_password_ends_having_to_change_it(world: World) -> None:
    accounts = world.accounts(auth_mode="password", has_mail=True, must_change_set_passwords=True)
    await accounts.users.add(await world.admin(accounts), BOB, password=PASSWORD)
    await Passwords(accounts).request_reset(BOB, HOME)
    [mail] = await world.mailed(accounts)
    signed_in = await Passwords(accounts).set_up(BOB, mail.token, NEW, HOME, "")
    assert (await accounts.authenticate(signed_in.access_token)).user.email == BOB
    again = await Passwords(accounts).login(BOB, NEW, HOME, "")
    assert (await accounts.authenticate(again.access_token)).user.email == BOB
