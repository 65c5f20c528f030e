"""An account that is a bot's has no way in, whatever somebody shows or says (K-2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from teamchat_auth_magic_link.rules import MagicLinks
from teamchat_auth_oauth.identities import user_in
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts
from teamchat.errors import BadRequest, Unauthorized
from teamchat.interfaces import Profile
from teamchat.model import Caller, User, text

from .conftest import World

PASSWORD = "correct horse battery"
IP = "192.0.2.1"


@pytest.fixture
def accounts(world: World) -> Accounts:
    return world.accounts(is_invite_required=False, has_mail=True)


@pytest.fixture
async def admin(world: World, accounts: Accounts) -> Caller:
    return await world.admin(accounts)


@pytest.fixture
async def bot(world: World, accounts: Accounts, admin: Caller) -> User:
    async with world.storage.write() as tx:
        return await accounts.users.create_bot_in(tx, "Deploys", by=admin.user.id)


async def test_it_has_a_name_of_its_own_and_an_email_where_nobody_is(
    world: World, accounts: Accounts, admin: Caller, bot: User
) -> None:
    assert (bot.user_name, bot.is_admin) == ("Deploys", False)
    assert bot.email == f"bot-{bot.id}@bots.invalid"
    for name in ("deploys", "DEPL0YS", "everyone", " ", "Ada"):
        with pytest.raises(BadRequest):
            async with world.storage.write() as tx:
                await accounts.users.create_bot_in(tx, name, by=admin.user.id)
    assert [one["id"] for one in await world.events("NEW_USER")][1:] == [bot.id]


async def _with_provider(world: World, accounts: Accounts, email: str) -> None:
    async with world.storage.write() as tx:
        await user_in(tx, accounts.users, "acme", Profile("1", email), world.clock())


async def _magic(world: World, accounts: Accounts, email: str) -> None:
    await MagicLinks(accounts).request(email, IP)


async def _register(world: World, accounts: Accounts, email: str) -> None:
    await Passwords(accounts).register(email, PASSWORD, IP, "")


async def _reset(world: World, accounts: Accounts, email: str) -> None:
    await Passwords(accounts).request_reset(email, IP)


async def _log_in(world: World, accounts: Accounts, email: str) -> None:
    await Passwords(accounts).login(email, PASSWORD, IP, "")


async def _in_dev_mode(world: World, accounts: Accounts, email: str) -> None:
    await accounts.sign_in(email, IP, "", is_proved=False)


async def _invite(world: World, accounts: Accounts, email: str) -> None:
    await accounts.users.add(await world.admin(accounts), email)


Way = Callable[[World, Accounts, str], Awaitable[None]]
WAYS = [_with_provider, _magic, _register, _reset, _log_in, _in_dev_mode, _invite]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
async def test_nobody_comes_in_by_an_address_at_bots_invalid_or_is_invited_to_it(
    world: World, accounts: Accounts, bot: User, way: Way
) -> None:
    for email in (bot.email, bot.email.upper(), "eve@bots.invalid", "eve@BOTS.invalid.", "eve@botſ.invalid"):
        with pytest.raises((BadRequest, Unauthorized)):
            await way(world, accounts, email)
    assert await world.fetch("select 1 from links") == []
    assert len(await world.fetch("select id from users")) == 2


async def test_no_session_of_it_begins_whatever_was_shown(
    world: World, accounts: Accounts, bot: User
) -> None:
    with pytest.raises(Unauthorized):
        await accounts.sessions.start(bot.id, IP, "")
    with pytest.raises(Unauthorized):
        async with world.storage.write() as tx:
            await accounts.proofs.sign_in_in(tx, bot.id, IP, "")
    assert await world.fetch("select 1 from sessions where user_id = $1", bot.id) == []


async def test_it_gets_no_password_and_is_no_admin(
    world: World, accounts: Accounts, admin: Caller, bot: User
) -> None:
    for asked in (
        accounts.users.reset_password(admin, bot.id, PASSWORD),
        accounts.users.set_role(admin, bot.id, "admin"),
        accounts.users.set_role(admin, bot.id, "guest"),
    ):
        with pytest.raises(BadRequest):
            await asked
    assert await world.fetch("select is_admin, password_hash from users where id = $1", bot.id) == [(0, None)]
    assert not (await accounts.users.set_role(admin, bot.id, "user")).is_admin


@pytest.mark.parametrize(
    "email", ["ada@bots.invalid.example.org", "bots.invalid@example.org", "a@robots.invalid"]
)
def test_other_addresses_are_as_good_as_ever(email: str) -> None:
    assert text.email(email) == email


async def test_it_is_renamed_deactivated_and_removed_as_any_user(
    world: World, accounts: Accounts, admin: Caller, bot: User
) -> None:
    async with world.storage.write() as tx:
        bot = await accounts.users.rename_in(tx, bot, "Releases")
    with pytest.raises(BadRequest, match="taken"):
        async with world.storage.write() as tx:
            await accounts.users.rename_in(tx, bot, admin.user.user_name)
    await accounts.users.deactivate(admin, bot.id)
    await accounts.users.activate(admin, bot.id)
    await accounts.users.remove(admin, bot.id)
    assert [one.id for one in await accounts.users.list()] == [admin.user.id]
