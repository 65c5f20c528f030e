"""Who is deactivated is shut out at once, by every way, and is back with all but what has ended (L-1)."""

from __future__ import annotations

from typing import Any

import pytest
from teamchat_auth_magic_link.rules import MagicLinks
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts
from teamchat.capabilities import ChangeFailed, TooMuch
from teamchat.errors import BadRequest, Forbidden, NotFound, Problem, Unauthorized, Unavailable
from teamchat.model import Caller
from teamchat.model.ids import new_id

from .conftest import ADMIN, World

PASSWORD = "correct horse battery"
BOB = "bob@example.org"
NOBODY = "nobody@example.org"


@pytest.fixture
def accounts(world: World) -> Accounts:
    return world.accounts(is_invite_required=True, has_mail=True)


@pytest.fixture
async def admin(world: World, accounts: Accounts) -> Caller:
    return await world.admin(accounts)


@pytest.fixture
async def bob(world: World, accounts: Accounts, admin: Caller) -> Caller:
    await accounts.users.add(admin, BOB, password=PASSWORD)
    return (await world.sign_in(accounts, BOB))[0]


async def refusal(asked: Any) -> tuple[type, str]:
    with pytest.raises(Problem) as caught:
        await asked
    return type(caught.value), caught.value.sentence


async def test_l1_every_session_and_every_token_of_it_ends_at_once(
    world: World, accounts: Accounts, admin: Caller, bob: Caller
) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)
    await accounts.users.deactivate(admin, bob.user.id)
    with pytest.raises(Unauthorized):
        await accounts.authenticate(signed_in.access_token)
    with pytest.raises(Unauthorized):
        await accounts.sessions.refresh(signed_in.refresh_token)
    with pytest.raises(Unauthorized):
        await accounts.ask_again(bob)
    with pytest.raises(Unauthorized):
        await accounts.sessions.start(bob.user.id, "192.0.2.1", "")
    assert await world.fetch("select 1 from sessions where user_id = $1", bob.user.id) == []


async def test_l1_streams_end_and_everyone_is_told(
    world: World, accounts: Accounts, admin: Caller, bob: Caller
) -> None:
    await accounts.users.deactivate(admin, bob.user.id)
    await accounts.users.activate(admin, bob.user.id)
    told = {"id": bob.user.id, "userName": "bob"}
    assert await world.events("UPDATE_USER") == [
        told | {"isDeactivated": True},
        told | {"isDeactivated": False},
    ]
    assert await world.events("_USER_GONE") == [{"userId": bob.user.id}]


async def test_deactivating_again_and_activating_again_change_nothing(
    world: World, accounts: Accounts, admin: Caller, bob: Caller
) -> None:
    for act in (accounts.users.deactivate, accounts.users.activate):
        for _ in range(2):
            await act(admin, bob.user.id)
    assert len(await world.events("UPDATE_USER")) == 2


@pytest.mark.parametrize("is_invite_required", [True, False])
async def test_l1_a_password_is_refused_as_for_an_account_that_is_not_there(
    world: World, admin: Caller, bob: Caller, is_invite_required: bool
) -> None:
    accounts = world.accounts(auth_mode="password", is_invite_required=is_invite_required)
    passwords = Passwords(accounts)
    await accounts.users.deactivate(admin, bob.user.id)
    refused = [
        await refusal(passwords.login(email, password, "192.0.2.1", ""))
        for email, password in ((BOB, PASSWORD), (BOB, "wrong password"), (NOBODY, PASSWORD))
    ]
    assert len(set(refused)) == 1
    assert refused[0][0] is Unauthorized
    await accounts.users.activate(admin, bob.user.id)
    await passwords.login(BOB, PASSWORD, "192.0.2.1", "")


async def test_l1_who_is_deactivated_while_their_password_is_checked_is_not_signed_in(
    world: World, admin: Caller, bob: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = world.accounts(auth_mode="password")
    matches = accounts.hasher.matches

    async def meanwhile(stored: str | None, password: str) -> bool:
        await accounts.users.deactivate(admin, bob.user.id)
        return await matches(stored, password)

    monkeypatch.setattr(accounts.hasher, "matches", meanwhile)
    with pytest.raises(Unauthorized):
        await Passwords(accounts).login(BOB, PASSWORD, "192.0.2.1", "")


@pytest.mark.parametrize("is_invite_required", [True, False])
async def test_l1_no_link_is_mailed_and_those_under_way_are_dead(
    world: World, admin: Caller, bob: Caller, is_invite_required: bool
) -> None:
    accounts = world.accounts(auth_mode="password", is_invite_required=is_invite_required, has_mail=True)
    links, passwords = MagicLinks(accounts), Passwords(accounts)
    await links.request(BOB, "192.0.2.1")
    await passwords.request_reset(BOB, "192.0.2.1")
    [magic, reset] = [one.token for one in await world.mailed(accounts)]
    await accounts.users.deactivate(admin, bob.user.id)
    await links.request(BOB, "192.0.2.1")
    await passwords.request_reset(BOB, "192.0.2.1")
    assert await world.mailed(accounts) == []
    assert await world.fetch("select count(*) from mails where is_decoy = 1") == [(2,)]
    with pytest.raises(BadRequest, match="invalid or has expired"):
        await links.verify(BOB, magic, "192.0.2.1", "")
    with pytest.raises(BadRequest, match="invalid or has expired"):
        await passwords.set_up(BOB, reset, "another password", "192.0.2.1", "")


@pytest.mark.parametrize("is_invite_required", [True, False])
async def test_l1_nobody_signs_in_with_the_email_and_no_second_account_is_made_of_it(
    world: World, admin: Caller, bob: Caller, is_invite_required: bool
) -> None:
    accounts = world.accounts(is_invite_required=is_invite_required)
    await accounts.users.deactivate(admin, bob.user.id)
    refused = await refusal(accounts.sign_in("BOB@example.org", "192.0.2.1", ""))
    assert refused[0] is Unauthorized
    if is_invite_required:
        assert refused == await refusal(accounts.sign_in(NOBODY, "192.0.2.1", ""))
    with pytest.raises(BadRequest, match="exists already"):
        await accounts.users.add(admin, BOB)
    if not is_invite_required:
        with pytest.raises(BadRequest, match="exists already"):
            await Passwords(accounts).register(BOB, PASSWORD, "192.0.2.1", "")
    assert len(await accounts.users.list()) == 2


async def test_l3_the_list_of_users_says_who_is_deactivated(
    accounts: Accounts, admin: Caller, bob: Caller
) -> None:
    await accounts.users.deactivate(admin, bob.user.id)
    assert [bool(one.is_deactivated) for one in await accounts.users.list()] == [False, True]
    await accounts.users.activate(admin, bob.user.id)
    assert [bool(one.is_deactivated) for one in await accounts.users.list()] == [False, False]


async def test_l1_the_last_admin_who_is_active_stays(
    world: World, accounts: Accounts, admin: Caller, bob: Caller
) -> None:
    with pytest.raises(BadRequest, match="yourself"):
        await accounts.users.deactivate(admin, admin.user.id)
    await accounts.users.set_role(admin, bob.user.id, "admin")
    bob = (await world.sign_in(accounts, BOB))[0]
    await accounts.users.deactivate(admin, bob.user.id)
    for refused in (accounts.users.exit(admin), accounts.users.set_role(admin, admin.user.id, "user")):
        with pytest.raises(BadRequest, match="last admin"):
            await refused
    await accounts.users.set_role(admin, bob.user.id, "user")


async def test_d03_only_admins_deactivate_and_activate(
    accounts: Accounts, admin: Caller, bob: Caller
) -> None:
    for act in (accounts.users.deactivate, accounts.users.activate):
        for user_id, refusal_of in (
            (admin.user.id, Forbidden),
            (bob.user.id, Forbidden),
            (new_id(), NotFound),
        ):
            with pytest.raises(refusal_of):
                await act(bob, user_id)
        with pytest.raises(NotFound):
            await act(admin, new_id())


async def test_who_is_deactivated_can_be_removed_for_good(
    accounts: Accounts, admin: Caller, bob: Caller
) -> None:
    await accounts.users.deactivate(admin, bob.user.id)
    await accounts.users.remove(admin, bob.user.id)
    with pytest.raises(NotFound):
        await accounts.users.activate(admin, bob.user.id)
    assert await accounts.users.add(admin, BOB) != bob.user.id


async def test_d23_a_deactivated_admin_does_not_come_back_with_a_restart(
    world: World, accounts: Accounts, admin: Caller, bob: Caller
) -> None:
    await accounts.users.set_role(admin, bob.user.id, "admin")
    bob = (await world.sign_in(accounts, BOB))[0]
    await accounts.users.deactivate(bob, admin.user.id)
    await world.accounts().ensure_initial_user(ADMIN)
    with pytest.raises(Unauthorized):
        await accounts.sign_in(ADMIN.email, "192.0.2.1", "")


async def test_who_can_not_be_removed_because_of_a_capability_is_shut_out_all_the_same(
    world: World, accounts: Accounts, admin: Caller, bob: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, signed_in = await world.sign_in(accounts, BOB)

    async def fail(*_: object) -> None:
        raise ChangeFailed("user_gone of a plugin took longer than 5 seconds")

    users: Any = accounts.users
    monkeypatch.setattr(type(users._capabilities.in_transaction), "user_gone", fail)
    with pytest.raises(ChangeFailed):
        await accounts.users.remove(admin, bob.user.id)
    with pytest.raises(Unauthorized):
        await accounts.authenticate(signed_in.access_token)
    [listed] = [one for one in await accounts.users.list() if one.id == bob.user.id]
    assert listed.is_deactivated is True


@pytest.mark.parametrize("how", ["remove", "exit"])
async def test_who_can_not_be_removed_while_the_database_is_slow_is_when_it_is_tried_again(
    world: World,
    accounts: Accounts,
    admin: Caller,
    bob: Caller,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    async def take_too_long(*_: object) -> None:
        raise TooMuch("user_gone of a plugin took longer than 5 seconds")

    users: Any = accounts.users
    with monkeypatch.context() as slow:
        slow.setattr(type(users._capabilities.in_transaction), "user_gone", take_too_long)
        with pytest.raises(Unavailable, match="deactivated, but not removed yet") as refused:
            await (accounts.users.remove(admin, bob.user.id) if how == "remove" else accounts.users.exit(bob))
        assert refused.value.retry_after
    [listed] = [one for one in await accounts.users.list() if one.id == bob.user.id]
    assert listed.is_deactivated is True
    await accounts.users.remove(admin, bob.user.id)
    assert [one.id for one in await accounts.users.list()] == [admin.user.id]
