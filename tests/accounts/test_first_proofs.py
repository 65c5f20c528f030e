"""What the first proof of an address ends, and what it leaves (decision D-40)."""

from __future__ import annotations

from typing import Any

import pytest
from teamchat_auth_magic_link.rules import MagicLinks
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts
from teamchat.errors import Unauthorized
from teamchat.model import SignedIn
from tests.accounts.conftest import ADMIN, World

VICTIM, PASSWORD, NEW, HOME = "victim@example.org", "the stranger's password", "another password", "192.0.2.1"


def with_passwords(world: World, **keys: Any) -> Accounts:
    return world.accounts(auth_mode="password", has_mail=True, **{"is_invite_required": False} | keys)


def by_link(world: World, **keys: Any) -> Accounts:
    return world.accounts(auth_mode="magic-link", has_mail=True, **{"is_invite_required": False} | keys)


async def is_over(accounts: Accounts, signed_in: SignedIn) -> bool:
    """Return whether neither token of a session works any more."""
    outcomes = []
    for attempt in (
        lambda: accounts.authenticate(signed_in.access_token),
        lambda: accounts.sessions.refresh(signed_in.refresh_token),
    ):
        try:
            await attempt()
            outcomes.append(False)
        except Unauthorized:
            outcomes.append(True)
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


async def proved_by_link(world: World) -> SignedIn:
    accounts = by_link(world)
    await MagicLinks(accounts).request(VICTIM, HOME)
    mail = (await world.mailed(accounts))[-1]
    return await MagicLinks(accounts).verify(VICTIM, mail.token, HOME, "")


async def test_d40_a_magic_link_shuts_out_whoever_registered_the_address_before(world: World) -> None:
    accounts = with_passwords(world)
    taken = await Passwords(accounts).register(VICTIM, PASSWORD, "198.51.100.66", "")
    stranger = await accounts.authenticate(taken.access_token)
    proved = await proved_by_link(world)
    assert proved.earlier_access_ended is True
    assert await is_over(accounts, taken)
    with pytest.raises(Unauthorized):
        await Passwords(accounts).login(VICTIM, PASSWORD, HOME, "")
    caller = await accounts.authenticate(proved.access_token)
    assert caller.user == stranger.user, "the account stays"
    assert (await world.events("_SESSIONS_ENDED"))[-1]["sessionIds"] == [stranger.session_id]
    assert await world.fetch("select target_id, details from audit_entries where action = 'user.proof'") == [
        (stranger.user.id, '{"endedSessions":1,"endedPassword":true}')
    ]


async def test_d40_it_is_the_first_proof_alone_that_ends_anything(world: World) -> None:
    await Passwords(with_passwords(world)).register(VICTIM, PASSWORD, HOME, "")
    first = await proved_by_link(world)
    second = await proved_by_link(world)
    assert second.earlier_access_ended is not True
    assert not await is_over(by_link(world), first)


async def test_d40_who_comes_first_by_a_proof_is_told_nothing(world: World) -> None:
    assert (await proved_by_link(world)).earlier_access_ended is not True
    assert (await proved_by_link(world)).earlier_access_ended is not True


async def test_d40_dev_mode_proves_nothing(world: World) -> None:
    dev = world.accounts(is_invite_required=False)
    _, taken = await dev.sign_in(VICTIM, HOME, "", is_proved=False)
    _, again = await dev.sign_in(VICTIM, HOME, "", is_proved=False)
    assert not await is_over(dev, again)
    assert (await proved_by_link(world)).earlier_access_ended is True
    assert await is_over(dev, taken)


async def test_who_is_vouched_for_at_one_mailbox_is_nobody_at_another_that_is_equal_but_for_case(
    world: World,
) -> None:
    accounts = by_link(world)
    theirs, _ = await accounts.sign_in("strasse@example.org", HOME, "")
    with pytest.raises(Unauthorized):
        await accounts.sign_in("stra\u00dfe@example.org", HOME, "")
    again, _ = await accounts.sign_in("Strasse@Example.org", HOME, "")
    assert again == theirs


async def test_d40_who_lost_their_password_that_way_may_have_another_mailed(world: World) -> None:
    accounts = with_passwords(world)
    await Passwords(accounts).register(VICTIM, PASSWORD, HOME, "")
    proved = await proved_by_link(world)
    await Passwords(accounts).request_reset(VICTIM, HOME)
    mail = (await world.mailed(accounts))[-1]
    signed_in = await Passwords(accounts).set_up(VICTIM, mail.token, NEW, HOME, "")
    assert signed_in.earlier_access_ended is not True, "that proof was the second"
    assert await is_over(accounts, proved), "as a new password does"
    await Passwords(accounts).login(VICTIM, NEW, HOME, "")


async def test_d40_a_mailed_reset_is_a_proof(world: World) -> None:
    accounts = with_passwords(world)
    taken = await Passwords(accounts).register(VICTIM, PASSWORD, HOME, "")
    await Passwords(accounts).request_reset(VICTIM, HOME)
    [mail] = await world.mailed(accounts)
    signed_in = await Passwords(accounts).set_up(VICTIM, mail.token, NEW, HOME, "")
    assert signed_in.earlier_access_ended is True
    assert await is_over(accounts, taken)
    assert (await proved_by_link(world)).earlier_access_ended is not True
    await Passwords(accounts).login(VICTIM, NEW, HOME, "")


async def test_d40_a_mailed_invitation_is_a_proof(world: World) -> None:
    accounts = with_passwords(world)
    await accounts.users.add(await world.admin(accounts), VICTIM)
    [mail] = await world.mailed(accounts)
    signed_in = await Passwords(accounts).set_up(VICTIM, mail.token, NEW, HOME, "")
    assert signed_in.earlier_access_ended is not True, "there was nothing before"
    await proved_by_link(world)
    await Passwords(accounts).login(VICTIM, NEW, HOME, "")


@pytest.mark.parametrize("how", ["added", "reset"])
async def test_d40_an_admin_vouches_for_whom_they_give_a_password(world: World, how: str) -> None:
    accounts = with_passwords(world)
    admin = await world.admin(accounts)
    if how == "added":
        await accounts.users.add(admin, VICTIM, password=NEW)
    else:
        await Passwords(accounts).register(VICTIM, PASSWORD, HOME, "")
        victim = next(user for user in await accounts.users.list() if user.email == VICTIM)
        await accounts.users.reset_password(admin, victim.id, NEW)
    session = await Passwords(accounts).login(VICTIM, NEW, HOME, "")
    assert (await proved_by_link(world)).earlier_access_ended is not True
    assert not await is_over(accounts, session)
    await Passwords(accounts).login(VICTIM, NEW, HOME, "")


async def test_d40_the_operator_vouches_for_the_initial_admin(world: World) -> None:
    accounts = with_passwords(world)
    generated = await accounts.ensure_initial_user(ADMIN)
    assert generated is not None
    _, signed_in = await accounts.sign_in(ADMIN.email, HOME, "")
    assert signed_in.earlier_access_ended is not True
    await Passwords(accounts).login(ADMIN.email, generated, HOME, "")


async def test_d40_ones_own_new_password_proves_nothing(world: World) -> None:
    accounts = with_passwords(world)
    taken = await Passwords(accounts).register(VICTIM, PASSWORD, HOME, "")
    stranger = await accounts.authenticate(taken.access_token)
    await Passwords(accounts).change(stranger, PASSWORD, NEW, HOME)
    assert (await proved_by_link(world)).earlier_access_ended is True
    with pytest.raises(Unauthorized):
        await Passwords(accounts).login(VICTIM, NEW, HOME, "")


@pytest.mark.parametrize("is_invite_required", [False, True])
async def test_d40_of_accounts_from_before_this_was_kept_those_of_an_open_server_are_unproved(
    world: World, is_invite_required: bool
) -> None:
    accounts = with_passwords(world)
    taken = await Passwords(accounts).register(VICTIM, PASSWORD, HOME, "")
    async with world.storage.write() as tx:
        await tx.fetch("update users set email_proved_at = 0")
    now = with_passwords(world, is_invite_required=is_invite_required)
    _, proved = await now.sign_in(VICTIM, HOME, "")
    assert (proved.earlier_access_ended is True) is not is_invite_required
    assert await is_over(accounts, taken) is not is_invite_required
    assert await world.fetch("select email_proved_at from users") == [(world.clock.now,)]


async def test_d40_an_unproved_account_stays_one_when_the_server_closes(world: World) -> None:
    await Passwords(with_passwords(world)).register(VICTIM, PASSWORD, HOME, "")
    _, proved = await with_passwords(world, is_invite_required=True).sign_in(VICTIM, HOME, "")
    assert proved.earlier_access_ended is True


async def test_d40_a_password_that_is_being_checked_at_the_moment_of_the_proof_signs_nobody_in(
    world: World,
) -> None:
    accounts = with_passwords(world)
    await Passwords(accounts).register(VICTIM, PASSWORD, HOME, "")
    right = accounts.hasher.matches

    async def matches(stored: str | None, password: str) -> bool:
        matched = await right(stored, password)
        await accounts.sign_in(VICTIM, HOME, "")
        return matched

    accounts.hasher.matches = matches  # type: ignore[method-assign]
    with pytest.raises(Unauthorized):
        await Passwords(accounts).login(VICTIM, PASSWORD, HOME, "")


async def test_d40_removing_a_user_and_adding_them_anew_begins_anew(world: World) -> None:
    accounts = with_passwords(world)
    admin = await world.admin(accounts)
    await proved_by_link(world)
    victim = next(user for user in await accounts.users.list() if user.email == VICTIM)
    await accounts.users.remove(admin, victim.id)
    await Passwords(accounts).register(VICTIM, PASSWORD, HOME, "")
    assert (await proved_by_link(world)).earlier_access_ended is True
