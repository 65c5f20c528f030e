"""No two users have the same name, nor names that look the same (decisions D-21, D-41)."""

from __future__ import annotations

import pytest
import trio

from teamchat.accounts import Accounts
from teamchat.errors import BadRequest
from teamchat.model import Caller
from tests.accounts.conftest import World

LOOK_ALIKES = ["\u0410da", "ADA", "\u0410DA", "Ad\u0430"]


@pytest.fixture
def accounts(world: World) -> Accounts:
    return world.accounts(is_invite_required=False)


async def named(world: World, accounts: Accounts, name: str, email: str) -> Caller:
    caller, _ = await world.sign_in(accounts, email)
    await accounts.users.rename(caller, name)
    return caller


async def from_before(world: World, accounts: Accounts, **renamed: str) -> None:
    """Give users names as they could be given before names were compared by how they look."""
    for email_part, name in renamed.items():
        caller, _ = await world.sign_in(accounts, f"{email_part}@example.org")
        async with world.storage.write() as tx:
            await tx.fetch("delete from name_skeletons where user_id = $1", caller.user.id)
            await tx.fetch(
                """update users set user_name = $2, user_name_key = $3, skeletons_version = 0
                   where id = $1""",
                caller.user.id,
                name,
                name.casefold(),
            )


@pytest.mark.parametrize("name", LOOK_ALIKES)
async def test_d41_nobody_takes_a_name_that_looks_like_anothers(
    world: World, accounts: Accounts, name: str
) -> None:
    await named(world, accounts, "Ada", "ada@example.org")
    eve, _ = await world.sign_in(accounts, "eve@example.org")
    with pytest.raises(BadRequest, match="userName is taken"):
        await accounts.users.rename(eve, name)


async def test_d41_ones_own_name_may_be_written_in_another_way(world: World, accounts: Accounts) -> None:
    ada = await named(world, accounts, "Ada", "ada@example.org")
    assert (await accounts.users.rename(ada, "ADA")).user_name == "ADA"
    eve = await named(world, accounts, "Eve", "eve@example.org")
    await accounts.users.rename(ada, "Countess")
    assert (await accounts.users.rename(eve, "Ada")).user_name == "Ada", "the name is free again"


@pytest.mark.parametrize(
    "name", ["Ad\u200ba", "\u3164", "\u00ad", "Ada \u2764\ufe0f", "\u2800", "\U000e0041"]
)
async def test_d41_what_is_not_seen_is_in_no_name(world: World, accounts: Accounts, name: str) -> None:
    eve, _ = await world.sign_in(accounts, "eve@example.org")
    with pytest.raises(BadRequest, match="userName"):
        await accounts.users.rename(eve, name)


async def test_d41_white_space_counts_as_one_space(world: World, accounts: Accounts) -> None:
    ada = await named(world, accounts, "Ada \u00a0 Lovelace", "ada@example.org")
    assert (await world.fetch("select user_name from users where id = $1", ada.user.id)) == [
        ("Ada Lovelace",)
    ]
    eve, _ = await world.sign_in(accounts, "eve@example.org")
    with pytest.raises(BadRequest, match="taken"):
        await accounts.users.rename(eve, "Ada\u3000Lovelace")


async def test_d41_a_name_made_from_an_email_gets_a_number_where_it_looks_like_anothers(
    world: World, accounts: Accounts
) -> None:
    await named(world, accounts, "modern", "ada@example.org")
    caller, _ = await world.sign_in(accounts, "modem@example.org")
    assert caller.user.user_name == "modem2"


@pytest.mark.parametrize(
    ("local", "name"),
    [("\u3164", "user"), ("a\u3164b", "ab"), ("x" * 100, "x" * 64), ("\u2800\u2800", "user")],
)
async def test_d41_a_name_made_from_an_email_leaves_out_what_no_name_may_hold(
    world: World, accounts: Accounts, local: str, name: str
) -> None:
    caller, _ = await world.sign_in(accounts, f"{local}@example.org")
    assert caller.user.user_name == name


async def test_d41_names_from_before_stay_though_they_look_alike(world: World, accounts: Accounts) -> None:
    await from_before(world, accounts, one="Ada", two="\u0410da", three="Eve \u200b", four="A  B")
    callers = [
        (await world.sign_in(accounts, f"{who}@example.org"))[0] for who in ("one", "two", "three", "four")
    ]
    for caller, name in zip(callers, ("Ada", "\u0410da", "Eve \u200b", "A  B"), strict=True):
        assert (await accounts.users.rename(caller, name)).user_name == name, "to one's own name"
    with pytest.raises(BadRequest, match="taken"):
        await accounts.users.rename(callers[3], "Ad\u0430")
    with pytest.raises(BadRequest, match="taken"):
        await accounts.users.rename(callers[3], "Eve")  # what is not seen makes no other name
    assert (await accounts.users.rename(callers[2], "Eve")).user_name == "Eve"


async def test_d41_names_of_users_who_are_gone_are_free_also_those_from_before(
    world: World, accounts: Accounts
) -> None:
    await from_before(world, accounts, one="Ada")
    one, _ = await world.sign_in(accounts, "one@example.org")
    async with world.storage.write() as tx:
        await tx.fetch(
            "update users set removed_at = 1, user_name_key = null, email_key = null where id = $1",
            one.user.id,
        )
    eve = await named(world, accounts, "Ad\u0430", "eve@example.org")
    assert await world.fetch("select count(*) from name_skeletons where user_id = $1", one.user.id) == [(0,)]
    assert await world.fetch("select count(*) from users where skeletons_version = 0") == [(0,)]
    assert eve.user.email == "eve@example.org"


async def test_d41_of_many_who_take_names_that_look_alike_at_once_one_does(
    world: World, accounts: Accounts
) -> None:
    callers = [(await world.sign_in(accounts, f"u{number}x@example.org"))[0] for number in range(8)]
    taken: list[bool] = []

    async def rename(caller: Caller, name: str) -> None:
        try:
            await accounts.users.rename(caller, name)
            taken.append(True)
        except BadRequest:
            taken.append(False)

    async with trio.open_nursery() as nursery:
        for caller, name in zip(callers, [*LOOK_ALIKES, *LOOK_ALIKES], strict=True):
            nursery.start_soon(rename, caller, name)
    assert sorted(taken) == [False] * 7 + [True]
