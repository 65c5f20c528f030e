"""Users: who may add, rename and remove whom, and what is left of somebody who is gone."""

from __future__ import annotations

import pytest
import trio
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts
from teamchat.accounts.names import default_name
from teamchat.errors import BadRequest, Forbidden, NotFound, Problem, SettingsError, Unauthorized
from teamchat.model import Caller
from teamchat.model.ids import new_id
from teamchat.settings import InitialUser

from .conftest import ADMIN, World

PASSWORD = "correct horse battery"


@pytest.fixture
def accounts(world: World) -> Accounts:
    return world.accounts(is_invite_required=True)


@pytest.fixture
async def admin(world: World, accounts: Accounts) -> Caller:
    return await world.admin(accounts)


async def member(
    world: World, accounts: Accounts, admin: Caller, email: str = "bob@example.org", role: str = "user"
) -> Caller:
    await accounts.users.add(admin, email, role)
    return (await world.sign_in(accounts, email))[0]


async def names(accounts: Accounts) -> list[str]:
    return [user.user_name for user in await accounts.users.list()]


async def test_d23_the_first_start_makes_an_admin(world: World, accounts: Accounts) -> None:
    assert await accounts.ensure_initial_user(ADMIN) is None
    [user] = await accounts.users.list()
    assert (user.user_name, user.email, user.is_admin, user.created_at) == (
        "Ada",
        "ada@example.org",
        True,
        world.clock.now,
    )


async def test_d23_a_later_start_makes_nobody(accounts: Accounts, admin: Caller) -> None:
    other = InitialUser(user_name="Eve", email="eve@example.org", password=PASSWORD)
    assert await accounts.ensure_initial_user(other) is None
    assert await names(accounts) == ["Ada"]


async def test_d23_password_mode_makes_a_password_once(world: World) -> None:
    accounts = world.accounts(auth_mode="password")
    made = await accounts.ensure_initial_user(ADMIN)
    assert made is not None
    assert len(made) >= 16
    assert await accounts.ensure_initial_user(ADMIN) is None
    await Passwords(accounts).login(ADMIN.email, made, "192.0.2.1", "")


async def test_a_configured_password_never_replaces_one(world: World) -> None:
    accounts = world.accounts(auth_mode="password")
    first = InitialUser(user_name="Ada", email="ada@example.org", password=PASSWORD)
    assert await accounts.ensure_initial_user(first) is None
    second = InitialUser(user_name="Ada", email="ada@example.org", password="another password")
    assert await accounts.ensure_initial_user(second) is None
    await Passwords(accounts).login(ADMIN.email, PASSWORD, "192.0.2.1", "")
    with pytest.raises(Unauthorized):
        await Passwords(accounts).login(ADMIN.email, "another password", "192.0.2.1", "")


async def test_a_configured_password_is_set_where_there_is_none(world: World, admin: Caller) -> None:
    accounts = world.accounts(auth_mode="password")
    configured = InitialUser(user_name="Ada", email="ADA@example.org", password=PASSWORD)
    await accounts.ensure_initial_user(configured)
    await Passwords(accounts).login(ADMIN.email, PASSWORD, "192.0.2.1", "")


@pytest.mark.parametrize(
    "initial",
    [
        InitialUser(email="nobody"),
        InitialUser(user_name=" "),
        InitialUser(password="short"),
    ],
)
async def test_an_impossible_initial_user_is_the_operators_error(
    accounts: Accounts, initial: InitialUser
) -> None:
    with pytest.raises(SettingsError, match=r"chat\.initialUser"):
        await accounts.ensure_initial_user(initial)
    assert await names(accounts) == []


async def test_an_admin_adds_users_and_everyone_is_told(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    user_id = await accounts.users.add(admin, "Bob@Example.org")
    assert (await accounts.users.list())[1].email == "Bob@Example.org"
    assert (await world.events("NEW_USER"))[-1] == {
        "id": user_id,
        "userName": "Bob",
        "email": "Bob@Example.org",
    }


async def test_an_admin_adds_an_admin(world: World, accounts: Accounts, admin: Caller) -> None:
    other = await member(world, accounts, admin, role="admin")
    await accounts.users.check_admin(other)


async def test_d21_others_may_not_add(world: World, accounts: Accounts, admin: Caller) -> None:
    bob = await member(world, accounts, admin)
    with pytest.raises(Forbidden):
        await accounts.users.check_admin(bob)
    with pytest.raises(Forbidden):  # permission goes before the body
        await accounts.users.add(bob, "not an email", "king", "short")


@pytest.mark.parametrize(
    ("email", "role", "password"),
    [
        ("ada@example.org", "user", None),
        ("ADA@EXAMPLE.ORG", "user", None),
        ("ada", "user", None),
        ("a b@example.org", "user", None),
        ("bob@example.org", "owner", None),
        ("bob@example.org", "Admin", None),
        ("bob@example.org", "user", "1234567"),
        ("bob@example.org", "user", ""),
    ],
)
async def test_d21_bad_input_adds_nobody(
    accounts: Accounts, admin: Caller, email: str, role: str, password: str | None
) -> None:
    with pytest.raises(BadRequest):
        await accounts.users.add(admin, email, role, password)
    assert await names(accounts) == ["Ada"]


async def test_d21_names_are_made_unique_by_a_number(accounts: Accounts, admin: Caller) -> None:
    for domain in ("a.example", "b.example", "c.example"):
        await accounts.users.add(admin, f"ADA@{domain}")
    assert await names(accounts) == ["Ada", "ADA2", "ADA3", "ADA4"]


async def test_d21_a_long_name_leaves_room_for_its_number(accounts: Accounts, admin: Caller) -> None:
    for domain in ("a.example", "b.example"):
        await accounts.users.add(admin, "x" * 200 + "@" + domain)
    assert await names(accounts) == ["Ada", "x" * 64, "x" * 63 + "2"]


async def test_d21_many_of_one_name_all_find_one(accounts: Accounts, admin: Caller) -> None:
    for number in range(60):
        await accounts.users.add(admin, f"info@{number}.example")
    assert len({name.casefold() for name in await names(accounts)}) == 61


@pytest.mark.parametrize(
    ("email", "name"), [("bob@x", "bob"), ("é.b+c@x", "é.b+c"), ("\u200f@x", "user"), (" @x", "user")]
)
def test_d21_the_first_name_is_what_stands_before_the_at(email: str, name: str) -> None:
    assert default_name(email) == name


async def test_d21_a_user_name_is_changed_and_told(world: World, accounts: Accounts, admin: Caller) -> None:
    user = await accounts.users.rename(admin, "  Countess  ")
    assert user.user_name == "Countess"
    assert await world.events("UPDATE_USER") == [{"id": admin.user.id, "userName": "Countess"}]
    await accounts.users.rename(admin, "countess")
    assert await names(accounts) == ["countess"], "another case of one's own name is free"


async def test_the_same_name_again_sends_no_event(world: World, accounts: Accounts, admin: Caller) -> None:
    await accounts.users.rename(admin, "Ada")
    assert await world.events("UPDATE_USER") == []


async def test_d21_a_taken_name_is_refused(world: World, accounts: Accounts, admin: Caller) -> None:
    bob = await member(world, accounts, admin)
    for name in ("Ada", "ADA", " ada ", "", "x" * 65, "a\u202eb", "a\x00"):
        with pytest.raises(BadRequest):
            await accounts.users.rename(bob, name)


async def test_d21_of_two_who_take_one_name_one_gets_it(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    callers = [await member(world, accounts, admin, f"user{n}@example.org") for n in range(8)]
    won: list[Caller] = []

    async def take(caller: Caller) -> None:
        try:
            await accounts.users.rename(caller, "The One")
        except BadRequest:
            return
        won.append(caller)

    async with trio.open_nursery() as nursery:
        for caller in callers:
            nursery.start_soon(take, caller)
    assert len(won) == 1


async def test_of_two_who_add_one_email_one_does(accounts: Accounts, admin: Caller) -> None:
    added: list[str] = []

    async def add() -> None:
        try:
            added.append(await accounts.users.add(admin, "bob@example.org"))
        except BadRequest:
            return

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(add)
    assert len(added) == 1


async def test_d22_removal_ends_everything_at_once(world: World, accounts: Accounts, admin: Caller) -> None:
    user_id = await accounts.users.add(admin, "bob@example.org", "user", PASSWORD)
    bob, signed_in = await world.sign_in(accounts, "bob@example.org")
    await accounts.users.remove(admin, user_id)
    for attempt in (
        lambda: accounts.authenticate(signed_in.access_token),
        lambda: accounts.sessions.refresh(signed_in.refresh_token),
        lambda: accounts.sessions.start(user_id, "192.0.2.1", ""),
        lambda: accounts.sign_in("bob@example.org", "192.0.2.1", ""),
        lambda: Passwords(accounts).login("bob@example.org", PASSWORD, "192.0.2.1", ""),
        lambda: accounts.users.rename(bob, "Ghost"),
        lambda: accounts.users.exit(bob),
    ):
        with pytest.raises(Unauthorized):
            await attempt()
    assert await names(accounts) == ["Ada"]
    assert await world.events("REMOVE_USER") == [{"id": user_id, "email": "bob@example.org"}]
    assert await world.events("_SESSIONS_ENDED") == [{"sessionIds": [bob.session_id], "allOf": user_id}]
    assert await world.events("_USER_GONE") == [{"userId": user_id}]


async def test_d22_the_name_stays_and_nothing_else_does(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    user_id = await accounts.users.add(admin, "bob@example.org", "user", PASSWORD)
    await accounts.users.remove(admin, user_id)
    [row] = await world.fetch(
        """select user_name, user_name_key, email, email_key, password_hash, removed_at
           from users where id = $1""",
        user_id,
    )
    assert row == ("bob", None, "", None, None, world.clock.now)


async def test_the_email_of_one_who_is_gone_makes_a_new_user(accounts: Accounts, admin: Caller) -> None:
    first = await accounts.users.add(admin, "bob@example.org")
    await accounts.users.remove(admin, first)
    second = await accounts.users.add(admin, "bob@example.org")
    assert second != first
    assert await names(accounts) == ["Ada", "bob"]


async def test_d22_whom_an_admin_cannot_remove(world: World, accounts: Accounts, admin: Caller) -> None:
    bob = await member(world, accounts, admin)
    with pytest.raises(NotFound):
        await accounts.users.remove(admin, new_id())
    with pytest.raises(BadRequest):
        await accounts.users.remove(admin, admin.user.id)
    await accounts.users.remove(admin, bob.user.id)
    with pytest.raises(NotFound):
        await accounts.users.remove(admin, bob.user.id)


async def test_d03_removing_asks_for_existence_then_permission(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    bob = await member(world, accounts, admin)
    for operation in (accounts.users.remove, accounts.users.check_manage):
        with pytest.raises(NotFound):
            await operation(bob, new_id())
        with pytest.raises(Forbidden):
            await operation(bob, admin.user.id)
        with pytest.raises(Forbidden):
            await operation(bob, bob.user.id)


async def test_an_exit_ends_everything_and_is_told(world: World, accounts: Accounts, admin: Caller) -> None:
    bob = await member(world, accounts, admin)
    await accounts.users.exit(bob)
    assert await names(accounts) == ["Ada"]
    assert await world.events("USER_EXIT") == [{"id": bob.user.id, "userName": "bob"}]
    assert await world.events("_USER_GONE") == [{"userId": bob.user.id}]
    with pytest.raises(Unauthorized):
        await accounts.users.exit(bob)


async def test_d22_the_last_admin_stays(world: World, accounts: Accounts, admin: Caller) -> None:
    await member(world, accounts, admin)
    with pytest.raises(BadRequest):
        await accounts.users.exit(admin)
    other = await member(world, accounts, admin, "carol@example.org", "admin")
    await accounts.users.exit(admin)
    with pytest.raises(BadRequest):
        await accounts.users.exit(other)


async def test_d22_fifty_races_to_leave_never_lose_the_last_admin(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    last = admin
    for trial in range(50):
        other = await member(world, accounts, last, f"admin{trial}@example.org", "admin")

        async def attempt(operation: str, caller: Caller, target: Caller) -> None:
            try:
                if operation == "exit":
                    await accounts.users.exit(caller)
                else:
                    await accounts.users.remove(caller, target.user.id)
            except Problem:
                return

        async with trio.open_nursery() as nursery:
            nursery.start_soon(attempt, "exit" if trial % 2 else "remove", last, other)
            nursery.start_soon(attempt, "exit" if trial % 3 else "remove", other, last)
        [left] = [user for user in await accounts.users.list() if user.is_admin]
        last = last if left.id == last.user.id else other
        assert left.id == last.user.id


async def test_d14_an_unknown_email_is_refused_when_invites_are_required(
    accounts: Accounts, admin: Caller
) -> None:
    with pytest.raises(Unauthorized):
        await accounts.sign_in("bob@example.org", "192.0.2.1", "")
    with pytest.raises(BadRequest):
        await accounts.sign_in("bob", "192.0.2.1", "")
    assert await names(accounts) == ["Ada"]


async def test_d14_without_invites_the_first_sign_in_makes_the_user_once(world: World, admin: Caller) -> None:
    accounts = world.accounts(is_invite_required=False)
    users = [
        (await accounts.sign_in(email, "192.0.2.1", ""))[0] for email in ("bob@x.example", "BOB@X.example")
    ]
    assert users[0] == users[1]
    assert users[0].email == "bob@x.example"
    assert (await world.events("NEW_USER"))[1:] == [
        {"id": users[0].id, "userName": "bob", "email": "bob@x.example"}
    ]


async def test_d17_a_reset_password_ends_the_users_sessions(world: World, admin: Caller) -> None:
    accounts = world.accounts(auth_mode="password")
    bob = await member(world, accounts, admin)
    await accounts.users.reset_password(admin, bob.user.id, PASSWORD)
    ended = {"sessionIds": [bob.session_id], "allOf": bob.user.id}
    assert await world.events("_SESSIONS_ENDED") == [ended]
    await Passwords(accounts).login(bob.user.email, PASSWORD, "192.0.2.1", "")


async def test_d17_resetting_ones_own_password_keeps_ones_own_session(world: World, admin: Caller) -> None:
    accounts = world.accounts(auth_mode="password")
    other, _ = await world.sign_in(accounts, ADMIN.email)
    await accounts.users.reset_password(admin, admin.user.id, PASSWORD)
    assert [one.id for one in await accounts.sessions.list(admin)] == [admin.session_id]
    ended = {"sessionIds": [other.session_id], "allOf": admin.user.id}
    assert await world.events("_SESSIONS_ENDED") == [ended]


async def test_resetting_is_for_admins_and_for_users_there_are(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    bob = await member(world, accounts, admin)
    with pytest.raises(Forbidden):
        await accounts.users.reset_password(bob, bob.user.id, "short")
    with pytest.raises(BadRequest):
        await accounts.users.reset_password(admin, bob.user.id, "short")
    with pytest.raises(BadRequest):
        await accounts.users.reset_password(admin, new_id(), PASSWORD)


async def test_d05_an_email_is_matched_without_regard_to_case_and_returned_as_first_given(
    accounts: Accounts, admin: Caller
) -> None:
    user_id = await accounts.users.add(admin, "Grace.Hopper@Example.org", "user", None)
    with pytest.raises(BadRequest):
        await accounts.users.add(admin, "grace.hopper@EXAMPLE.ORG", "user", None)
    user, _ = await accounts.sign_in("GRACE.HOPPER@example.org", "192.0.2.1", "tests")
    assert (user.id, user.email) == (user_id, "Grace.Hopper@Example.org")


async def test_l7_a_change_of_role_says_what_somebody_is_now(accounts: Accounts, world: World) -> None:
    admin = await world.admin(accounts)
    bob = await accounts.users.add(admin, "bob@example.org")
    for role in ("admin", "admin", "user"):
        await accounts.users.set_role(admin, bob, role)
    assert await world.events("UPDATE_USER") == [
        {"id": bob, "userName": "bob", "isAdmin": True},
        {"id": bob, "userName": "bob", "isAdmin": False},
    ]
