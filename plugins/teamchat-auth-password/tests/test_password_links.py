"""Invitations and links to a new password: who is sent one, and what setting a password by it does."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts
from teamchat.accounts.scrypt import Hasher, check_password
from teamchat.errors import BadRequest, Forbidden, Problem, TooManyRequests, Unauthorized
from teamchat.model import Caller, SignedIn
from teamchat.settings import RateLimit
from tests.accounts.conftest import ADMIN, Mailed, Recorded, World, hash_passwords_with

BOB, EVE, PASSWORD, NEW = "Bob@example.org", "eve@example.org", "correct horse battery", "another password"
HOME, AWAY = "192.0.2.1", "198.51.100.7"


class Counted(Hasher):
    """A hasher that costs nothing and counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.hashed = 0

    async def hash(self, password: str) -> str:
        self.hashed += 1
        check_password(password)
        await trio.lowlevel.checkpoint()
        return f"hash of {password}"

    async def matches(self, stored: str | None, password: str) -> bool:
        await trio.lowlevel.checkpoint()
        return stored == f"hash of {password}"


def build(world: World, *, has_mail: bool = True, **auth: Any) -> Accounts:
    accounts = world.accounts(**{"auth_mode": "password", "has_mail": has_mail} | auth)
    hasher = accounts.users._hasher = Counted()
    hash_passwords_with(accounts, hasher)
    return accounts


@pytest.fixture
def accounts(world: World) -> Accounts:
    return build(world)


@pytest.fixture
async def admin(world: World, accounts: Accounts) -> Caller:
    return await world.admin(accounts)


@pytest.fixture
async def bob(accounts: Accounts, admin: Caller) -> str:
    """The id of Bob, who has a password."""
    return await accounts.users.add(admin, BOB, password=PASSWORD)


async def invite(world: World, accounts: Accounts, admin: Caller, email: str = BOB) -> Mailed:
    await accounts.users.add(admin, email)
    return (await world.mailed(accounts))[-1]


async def ask(world: World, accounts: Accounts, email: str = BOB) -> Mailed:
    await Passwords(accounts).request_reset(email, HOME)
    return (await world.mailed(accounts))[-1]


async def set_up(
    accounts: Accounts, mail: Mailed, password: str = NEW, email: str | None = None, ip: str = HOME
) -> SignedIn:
    return await Passwords(accounts).set_up(email or mail.recipient, mail.token, password, ip, "tests")


async def outcome(accounts: Accounts, email: str, token: str, password: str = NEW, ip: str = HOME) -> int:
    try:
        await Passwords(accounts).set_up(email, token, password, ip, "tests")
    except Problem as problem:
        return problem.status
    return 200


async def can_log_in(accounts: Accounts, password: str, email: str = BOB) -> bool:
    try:
        await Passwords(accounts).login(email, password, "203.0.113.9", "")
    except Unauthorized:
        return False
    return True


# Invitations


async def test_d21_a_user_without_a_password_is_invited_and_sets_one(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    mail = await invite(world, accounts, admin)
    assert (mail.recipient, mail.query["mode"]) == (BOB, "setup")
    signed_in = await set_up(accounts, mail)
    caller = await accounts.authenticate(signed_in.access_token)
    assert (caller.user.email, signed_in.exp, signed_in.token_type) == (BOB, 900, "Bearer")
    await accounts.sessions.refresh(signed_in.refresh_token)
    assert await can_log_in(accounts, NEW)


@pytest.mark.parametrize(
    ("auth_mode", "has_mail", "password"),
    [
        ("password", True, PASSWORD),
        ("password", False, None),
        ("magic-link", True, None),
        ("dev", True, None),
    ],
    ids=["with a password", "without mail", "in magic-link mode", "in dev mode"],
)
async def test_d21_nobody_else_is_invited(
    world: World, admin: Caller, auth_mode: str, has_mail: bool, password: str | None
) -> None:
    accounts = build(world, has_mail=has_mail, auth_mode=auth_mode)
    await accounts.users.add(admin, BOB, password=password)
    assert [user.email for user in await accounts.users.list()] == [ADMIN.email, BOB]
    assert await world.fetch("select * from links") == []
    assert await can_log_in(accounts, PASSWORD) is (password is not None)


async def test_d21_who_may_not_be_added_is_not_invited(
    world: World, accounts: Accounts, admin: Caller, bob: str
) -> None:
    caller = (await world.sign_in(accounts, BOB))[0]
    with pytest.raises(Forbidden):
        await accounts.users.add(caller, EVE, "admin")
    for email, role in ((BOB, "user"), ("eve", "user"), (EVE, "king")):
        with pytest.raises(BadRequest):
            await accounts.users.add(admin, email, role)
    assert await world.fetch("select * from links") == []


async def test_an_admin_may_be_invited(world: World, accounts: Accounts, admin: Caller) -> None:
    await accounts.users.add(admin, BOB, "admin")
    [mail] = await world.mailed(accounts)
    assert (await accounts.authenticate((await set_up(accounts, mail)).access_token)).user.is_admin


async def test_an_invitation_works_for_a_week(world: World, accounts: Accounts, admin: Caller) -> None:
    mail = await invite(world, accounts, admin)
    world.clock.pass_seconds(604_799)
    await accounts.sweep()
    assert await outcome(accounts, BOB, mail.token) == 200


async def test_d22_a_withdrawn_invitation_is_dead(world: World, accounts: Accounts, admin: Caller) -> None:
    mail = await invite(world, accounts, admin)
    [user_id] = [user.id for user in await accounts.users.list() if user.email == BOB]
    await accounts.users.remove(admin, user_id)
    assert await outcome(accounts, BOB, mail.token) == 400
    again = await invite(world, accounts, admin)
    assert await outcome(accounts, BOB, mail.token) == 400, "nor does it work for who comes after"
    assert await outcome(accounts, BOB, again.token) == 200


# Asking for a new password


async def test_a_user_with_a_password_is_sent_a_link_to_a_new_one(
    world: World, accounts: Accounts, bob: str
) -> None:
    mail = await ask(world, accounts, BOB.lower())
    assert (mail.recipient, mail.query["mode"]) == (BOB, "reset"), "to the account's own spelling"
    await set_up(accounts, mail)
    assert not await can_log_in(accounts, PASSWORD)
    assert await can_log_in(accounts, NEW)


@pytest.mark.parametrize("email", [BOB, EVE])
async def test_d16_nobody_else_is_sent_one(
    world: World, accounts: Accounts, admin: Caller, email: str
) -> None:
    invitation = await invite(world, accounts, admin)
    await Passwords(accounts).request_reset(email, HOME)
    assert await world.mailed(accounts) == [invitation], "who has no password keeps their invitation"


async def test_d16_the_same_statements_whether_or_not_there_is_an_account_or_a_password(
    world: World, accounts: Accounts, admin: Caller, bob: str
) -> None:
    await accounts.users.add(admin, "invited@example.org")
    recorded = Recorded(world.storage)
    observed = build(World(recorded, world.clock))  # type: ignore[arg-type]
    traces = []
    for email in (BOB, "invited@example.org", EVE) * 2:
        recorded.statements.clear()
        await Passwords(observed).request_reset(email, HOME)
        traces.append(list(recorded.statements))
    assert all(trace == traces[0] for trace in traces)
    assert any("insert into mails" in statement for statement in traces[0])
    assert await world.fetch("select count(*) from links where purpose = 'reset'") == [(3,)]


async def test_without_mail_asking_does_nothing_and_is_answered_the_same(
    world: World, admin: Caller, bob: str
) -> None:
    accounts = build(world, has_mail=False)
    for _ in range(3):
        await Passwords(accounts).request_reset(BOB, HOME)
    assert await world.fetch("select * from links") == []
    with pytest.raises(BadRequest):
        await Passwords(accounts).request_reset("bob", HOME)


@pytest.mark.parametrize("email", [BOB, EVE])
async def test_d18_an_email_is_sent_ten_links_in_a_window_and_nobody_is_told(
    world: World, accounts: Accounts, bob: str, email: str
) -> None:
    for _ in range(10):
        await Passwords(accounts).request_reset(email, HOME)
    tenth = await world.fetch("select id from links")
    await Passwords(accounts).request_reset(email, AWAY)
    assert await world.fetch("select id from links") == tenth


async def test_d18_an_address_that_asks_too_often_is_refused(world: World, admin: Caller, bob: str) -> None:
    accounts = build(world, rate_limit=RateLimit(attempts=1, window_seconds=60))
    for number in range(10):
        await Passwords(accounts).request_reset(f"user{number}@example.org", HOME)
    for email in (BOB, EVE):
        with pytest.raises(TooManyRequests) as caught:
            await Passwords(accounts).request_reset(email, HOME)
        assert caught.value.retry_after == 60


# Setting a password


async def test_d15_a_bad_password_leaves_the_link_good_and_counts_for_nothing(
    world: World, accounts: Accounts, bob: str
) -> None:
    mail = await ask(world, accounts)
    for password in ("1234567", "x" * 1025, "\ud800" * 8):
        with pytest.raises(BadRequest, match="password"):
            await set_up(accounts, mail, password)
    assert await world.fetch("select * from attempts where subject like 'address:%'") == []
    assert await outcome(accounts, BOB, mail.token, "12345678") == 200


async def test_d15_a_token_sets_one_password(world: World, accounts: Accounts, bob: str) -> None:
    mail = await ask(world, accounts)
    assert await outcome(accounts, BOB, mail.token) == 200
    assert await outcome(accounts, BOB, mail.token, "a third password") == 400
    assert await can_log_in(accounts, NEW)


async def test_d15_another_users_token_changes_nothing_and_is_not_spent(
    world: World, accounts: Accounts, admin: Caller, bob: str
) -> None:
    await accounts.users.add(admin, EVE, password=PASSWORD)
    mail = await ask(world, accounts)
    assert await outcome(accounts, EVE, mail.token) == 400
    assert await can_log_in(accounts, PASSWORD, EVE)
    assert await outcome(accounts, BOB, mail.token) == 200


async def test_a_reset_link_expires_after_an_hour(world: World, accounts: Accounts, bob: str) -> None:
    mail = await ask(world, accounts)
    world.clock.pass_seconds(3600)
    assert await outcome(accounts, BOB, mail.token) == 400
    assert await can_log_in(accounts, PASSWORD)


async def test_d15_of_a_hundred_who_use_one_token_at_once_one_sets_the_password(
    world: World, admin: Caller
) -> None:
    accounts = build(world, rate_limit=RateLimit(attempts=1000, window_seconds=900))
    mail = await invite(world, accounts, admin)
    statuses: dict[str, int] = {}

    async def try_it(password: str) -> None:
        statuses[password] = await outcome(accounts, BOB, mail.token, password)

    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(try_it, f"password number {number}")
    assert sorted(statuses.values()) == [200] + [400] * 99
    [winner] = [password for password, status in statuses.items() if status == 200]
    assert await world.fetch("select password_hash from users where email = $1", BOB) == [
        (f"hash of {winner}",)
    ]
    assert await world.fetch(
        "select count(*) from sessions where ip = $1 and user_agent = 'tests'", HOME
    ) == [(2,)], "the admin's and the winner's"


async def test_d17_a_new_password_by_link_ends_all_other_sessions_and_links(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    invitation = await invite(world, accounts, admin)
    _, old = await world.sign_in(accounts, BOB)
    async with world.storage.write() as tx:
        await accounts.links.issue_in(tx, "reset", BOB)
    reset = (await world.mailed(accounts))[-1]
    signed_in = await set_up(accounts, invitation)
    with pytest.raises(Unauthorized):
        await accounts.authenticate(old.access_token)
    await accounts.authenticate(signed_in.access_token)
    await accounts.authenticate((await world.sign_in(accounts, ADMIN.email))[1].access_token)
    assert await outcome(accounts, BOB, reset.token, "a third password") == 400
    assert await world.fetch("select * from links") == []


async def test_d17_a_password_from_an_admin_ends_the_links_that_are_out(
    world: World, accounts: Accounts, admin: Caller, bob: str
) -> None:
    mail = await ask(world, accounts)
    await accounts.users.reset_password(admin, bob, "from the admin")
    assert await outcome(accounts, BOB, mail.token) == 400
    assert await can_log_in(accounts, "from the admin")


@pytest.mark.parametrize("step", ["set_password_in", "start_in"])
async def test_what_fails_half_way_leaves_the_old_password_and_a_good_link(
    world: World, accounts: Accounts, bob: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    mail = await ask(world, accounts)
    _, old = await world.sign_in(accounts, BOB)
    with monkeypatch.context() as patch:

        async def crash(*_: object, **__: object) -> None:
            raise RuntimeError("crash")

        patch.setattr(accounts.sessions if step == "start_in" else accounts.users, step, crash)
        with pytest.raises(RuntimeError):
            await set_up(accounts, mail)
    assert await can_log_in(accounts, PASSWORD)
    await accounts.authenticate(old.access_token)
    assert await outcome(accounts, BOB, mail.token) == 200


async def test_a_user_who_is_removed_while_their_password_is_hashed_is_refused(
    world: World, accounts: Accounts, admin: Caller, bob: str
) -> None:
    mail = await ask(world, accounts)

    class Slow(Counted):
        async def hash(self, password: str) -> str:
            await accounts.users.remove(admin, bob)
            return await super().hash(password)

    hash_passwords_with(accounts, Slow())
    assert await outcome(accounts, BOB, mail.token) == 400
    assert await world.fetch("select password_hash from users where id = $1", bob) == [(None,)]


async def test_d18_a_wrong_token_costs_no_hash_and_ten_of_them_are_answered(
    world: World, accounts: Accounts, bob: str
) -> None:
    mail = await ask(world, accounts)
    counted = Counted()
    hash_passwords_with(accounts, counted)
    assert [await outcome(accounts, BOB, "wrong") for _ in range(11)] == [400] * 10 + [429]
    assert await outcome(accounts, BOB, mail.token) == 429, "with the right token too"
    assert counted.hashed == 0
    assert await outcome(accounts, BOB, mail.token, ip=AWAY) == 200, "which was not spent"


async def test_d18_a_right_token_takes_back_its_accounts_failures(
    world: World, accounts: Accounts, bob: str
) -> None:
    for _ in range(5):
        await outcome(accounts, BOB, "wrong")
    for _ in range(4):
        with pytest.raises(Unauthorized):
            await Passwords(accounts).login(BOB, "wrong password", HOME, "")
    assert await outcome(accounts, BOB, (await ask(world, accounts)).token) == 200
    counts = await world.fetch("select failures from attempts where subject = $1", f"address:{HOME}")
    assert counts == [(0,)], "passwords and tokens are counted together"


async def test_a_full_queue_of_hashes_leaves_the_link_good_and_counts_for_nothing(
    world: World, accounts: Accounts, bob: str
) -> None:
    mail = await ask(world, accounts)
    hasher = accounts.hasher
    hash_passwords_with(accounts, Hasher(max_waiting=0))
    assert await outcome(accounts, BOB, mail.token) == 429
    hash_passwords_with(accounts, hasher)
    assert await outcome(accounts, BOB, mail.token) == 200
    assert await world.fetch("select * from attempts where subject like 'address:%'") == []


async def test_the_log_tells_of_invitations_and_new_passwords_and_names_nobody(
    world: World, accounts: Accounts, admin: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    caplog.clear()  # The admin has signed in, which is logged or not, as the tests before have left it.
    mail = await invite(world, accounts, admin)
    await outcome(accounts, BOB, "wrong-token")
    await set_up(accounts, mail, ip=AWAY)
    [bob] = [user.id for user in await accounts.users.list() if user.email == BOB]
    way = "link to a new password"
    assert [
        {"event": record.message} | record.teamchat_fields  # type: ignore[attr-defined]
        for record in caplog.records
    ] == [
        {"event": "user added", "user": bob, "by": admin.user.id, "role": "user", "invited": True},
        {"event": "sign-in failed", "way": way, "ip": HOME},
        {"event": "password changed", "user": bob, "by": bob},
        {"event": "signed in", "user": bob, "way": way, "ip": AWAY},
    ]
    for secret in (mail.token, "wrong-token", NEW, "example.org"):
        assert secret not in caplog.text
