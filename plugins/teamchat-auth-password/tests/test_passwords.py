"""Passwords: how they sign in, and how often they may be wrong."""

from __future__ import annotations

import statistics
import time

import pytest
import trio
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts
from teamchat.accounts.attempts import attempt, network_of
from teamchat.accounts.scrypt import Hasher, check_password
from teamchat.errors import BadRequest, Forbidden, TooManyRequests, Unauthorized
from teamchat.model import SignedIn
from teamchat.settings import RateLimit
from tests.accounts.conftest import World, hash_passwords_with

BOB, EVE, PASSWORD = "bob@example.org", "eve@example.org", "correct horse battery"
HOME, AWAY = "192.0.2.1", "198.51.100.7"


class Unhashed(Hasher):
    """A hasher that costs nothing: for the tests of counting, which try hundreds of passwords."""

    async def hash(self, password: str) -> str:
        check_password(password)
        return f"hash of {password}"

    async def matches(self, stored: str | None, password: str) -> bool:
        await trio.lowlevel.checkpoint()
        return stored == f"hash of {password}"


def with_hasher(accounts: Accounts, hasher: Hasher) -> Accounts:
    hash_passwords_with(accounts, hasher)
    accounts.users._hasher = hasher
    return accounts


@pytest.fixture
def accounts(world: World) -> Accounts:
    return world.accounts(auth_mode="password", is_invite_required=False)


@pytest.fixture
async def quick(accounts: Accounts) -> Accounts:
    """Accounts whose hashes cost nothing, with Bob and Eve."""
    with_hasher(accounts, Unhashed())
    await Passwords(accounts).register(BOB, PASSWORD, "203.0.113.1", "")
    await Passwords(accounts).register(EVE, PASSWORD, "203.0.113.1", "")
    return accounts


async def outcome(accounts: Accounts, email: str, password: str, ip: str = HOME) -> int:
    try:
        await Passwords(accounts).login(email, password, ip, "")
    except (Unauthorized, TooManyRequests) as problem:
        return problem.status
    return 200


async def fail(accounts: Accounts, times: int, email: str = BOB, ip: str = HOME) -> list[int]:
    return [await outcome(accounts, email, "wrong password", ip) for _ in range(times)]


async def test_registering_makes_a_user_and_a_session(world: World, accounts: Accounts) -> None:
    signed_in = await Passwords(accounts).register(BOB, PASSWORD, HOME, "tests")
    caller = await accounts.authenticate(signed_in.access_token)
    assert (caller.user.email, caller.user.is_admin) == (BOB, False)
    assert await world.events("NEW_USER") == [{"id": caller.user.id, "userName": "bob", "email": BOB}]
    assert isinstance(await Passwords(accounts).login("Bob@Example.org", PASSWORD, HOME, ""), SignedIn)
    kept = str(await world.fetch("select * from users"))
    assert PASSWORD not in kept


async def test_registering_refuses_what_it_must(accounts: Accounts) -> None:
    await Passwords(accounts).register(BOB, PASSWORD, HOME, "")
    for email, password in ((BOB.upper(), PASSWORD), ("bob", PASSWORD), (EVE, "1234567")):
        with pytest.raises(BadRequest):
            await Passwords(accounts).register(email, password, HOME, "")
    assert len(await accounts.users.list()) == 1


async def test_who_registers_is_counted_by_address_whatever_the_email(world: World) -> None:
    limit = RateLimit(attempts=1, window_seconds=60)
    accounts = with_hasher(
        world.accounts(auth_mode="password", is_invite_required=False, rate_limit=limit), Unhashed()
    )
    await Passwords(accounts).register(BOB, PASSWORD, HOME, "")
    for number in range(99):
        with pytest.raises(BadRequest):
            await Passwords(accounts).register(BOB, PASSWORD, f"2001:db8::{number:x}", "")
        await Passwords(accounts).register(f"user{number}@example.org", PASSWORD, HOME, "")
    with pytest.raises(TooManyRequests):
        await Passwords(accounts).register("one-more@example.org", PASSWORD, HOME, "")
    await Passwords(accounts).register("neighbour@example.org", PASSWORD, "2001:db8::1", "")
    with pytest.raises(TooManyRequests):
        await Passwords(accounts).register(BOB, PASSWORD, "2001:db8::2", "")
    await Passwords(accounts).register("elsewhere@example.org", PASSWORD, AWAY, "")
    world.clock.now += 61_000
    await Passwords(accounts).register("later@example.org", PASSWORD, HOME, "")


async def test_registering_is_forbidden_when_invites_are_required(world: World) -> None:
    with pytest.raises(Forbidden):
        await Passwords(world.accounts(auth_mode="password")).register(BOB, PASSWORD, HOME, "")


async def test_of_two_who_register_one_email_one_does(quick: Accounts) -> None:
    statuses: list[int] = []

    async def register() -> None:
        try:
            await Passwords(quick).register("carol@example.org", PASSWORD, HOME, "")
        except BadRequest:
            statuses.append(400)
        else:
            statuses.append(200)

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(register)
    assert sorted(statuses) == [200] + [400] * 7


@pytest.mark.slow
@pytest.mark.usefixtures("real_hashes")
async def test_d16_unknown_wrong_and_missing_passwords_answer_and_cost_the_same(
    world: World, accounts: Accounts
) -> None:
    accounts = world.accounts(
        auth_mode="password",
        is_invite_required=False,
        rate_limit=RateLimit(attempts=1000, window_seconds=900),
    )
    await Passwords(accounts).register(BOB, PASSWORD, HOME, "")
    await accounts.sign_in("nopassword@example.org", HOME, "")
    took: dict[str, list[float]] = {"nobody@example.org": [], "nopassword@example.org": [], BOB: []}
    sentences = set()
    for _ in range(7):
        for email, times in took.items():
            begin = time.perf_counter()
            with pytest.raises(Unauthorized) as caught:
                await Passwords(accounts).login(email, "wrong password", HOME, "")
            times.append(time.perf_counter() - begin)
            sentences.add(caught.value.sentence)
    assert len(sentences) == 1
    # Skipping the hash would be a hundred times faster; this leaves room for a busy machine.
    medians = [statistics.median(times) for times in took.values()]
    assert max(medians) < 5 * min(medians)


async def test_a_password_that_is_replaced_while_it_is_checked_signs_nobody_in(
    world: World, quick: Accounts
) -> None:
    bob = (await quick.users.list())[0]

    class Slow(Unhashed):
        async def matches(self, stored: str | None, password: str) -> bool:
            matched = await super().matches(stored, password)
            async with world.storage.write() as tx:
                await quick.users.set_password_in(tx, bob.id, "hash of another")
            return matched

    with_hasher(quick, Slow())
    assert await outcome(quick, BOB, PASSWORD) == 401
    assert await world.fetch("select count(*) from sessions where user_id = $1", bob.id) == [(0,)]


async def test_d18_after_ten_failures_an_address_is_blocked(world: World, quick: Accounts) -> None:
    assert await fail(quick, 11) == [401] * 10 + [429]
    assert await outcome(quick, BOB, PASSWORD) == 429, "with the right password too"
    assert await outcome(quick, EVE, PASSWORD) == 429, "for every account"
    world.clock.pass_seconds(100)
    with pytest.raises(TooManyRequests) as caught:
        await Passwords(quick).login(BOB, PASSWORD, HOME, "")
    assert caught.value.retry_after == 800
    world.clock.pass_seconds(800)
    assert await outcome(quick, BOB, PASSWORD) == 200


async def test_d18_the_right_password_from_another_address_still_works(quick: Accounts) -> None:
    await fail(quick, 20)
    assert await outcome(quick, BOB, PASSWORD, AWAY) == 200


async def test_d18_blocked_attempts_are_not_counted(world: World, quick: Accounts) -> None:
    await fail(quick, 30)
    assert await world.fetch("select failures from attempts where subject = $1", f"address:{HOME}") == [(10,)]


async def test_d18_a_restart_forgives_nothing(world: World, quick: Accounts) -> None:
    await fail(quick, 10)
    again = with_hasher(world.accounts(auth_mode="password"), Unhashed())
    assert await outcome(again, BOB, PASSWORD) == 429


async def test_d18_many_accounts_share_the_address(quick: Accounts) -> None:
    for number in range(10):
        assert await outcome(quick, f"user{number}@example.org", "wrong password") == 401
    assert await outcome(quick, EVE, PASSWORD) == 429


async def test_d18_spellings_of_an_email_are_one_account(world: World, quick: Accounts) -> None:
    for email in (BOB, BOB.upper(), "Bob@Example.org"):
        await fail(quick, 1, email)
    assert await world.fetch("select failures from attempts where subject like 'pair:%'") == [(3,)]


async def test_d18_what_is_no_email_counts_for_the_address(world: World, quick: Accounts) -> None:
    for email in (
        "",
        "bob",
        " bob@example.org ",
        "x" * 100_000,
        "\ud800@x",
        "a@b@c",
        "\x00@x",
        "a b@x",
        "@",
        "x@",
    ):
        assert await outcome(quick, email, "wrong password") == 401
    counted = await world.fetch("select subject, failures from attempts where subject not like 'reg%'")
    assert counted == [(f"address:{HOME}", 10)]


async def test_d18_a_right_password_takes_back_its_own_failures_alone(quick: Accounts) -> None:
    await fail(quick, 5, EVE)
    await fail(quick, 4, BOB)
    assert await outcome(quick, BOB, PASSWORD) == 200
    assert await fail(quick, 6, EVE) == [401] * 5 + [429], "Eve's five still count"


async def test_d18_an_account_that_failed_at_ten_addresses_is_blocked(world: World, quick: Accounts) -> None:
    for number in range(10):
        await fail(quick, 3, BOB, f"198.51.100.{number}")
    assert await outcome(quick, BOB, PASSWORD, "192.0.2.99") == 429
    assert await outcome(quick, EVE, PASSWORD, "192.0.2.99") == 200
    assert await outcome(quick, BOB, PASSWORD, "203.0.113.1") == 200, "where Bob is signed in, Bob may go on"
    world.clock.pass_seconds(900)
    assert await outcome(quick, BOB, PASSWORD, "192.0.2.99") == 200


async def test_d18_where_one_is_signed_in_from_counts_by_64_as_failures_do(quick: Accounts) -> None:
    await Passwords(quick).login(BOB, PASSWORD, "2001:db8:0:1::a", "")
    for number in range(10):
        await fail(quick, 1, BOB, f"198.51.100.{number}")
    assert await outcome(quick, BOB, PASSWORD, "2001:db8:0:2::a") == 429
    assert await outcome(quick, BOB, PASSWORD, "2001:db8:0:1::b") == 200, "the same network, a day later"


async def test_d18_of_guesses_made_at_once_ten_are_answered(quick: Accounts) -> None:
    statuses: list[int] = []

    async def guess() -> None:
        statuses.append(await outcome(quick, BOB, "wrong password"))

    async with trio.open_nursery() as nursery:
        for _ in range(60):
            nursery.start_soon(guess)
    assert (statuses.count(401), statuses.count(429)) == (10, 50)


async def test_d18_sign_ins_at_once_are_no_failures(quick: Accounts) -> None:
    statuses: list[int] = []

    async def sign_in() -> None:
        statuses.append(await outcome(quick, BOB, PASSWORD))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(sign_in)
    assert statuses == [200] * 20


async def test_d18_the_limit_is_the_configured_one(world: World) -> None:
    accounts = with_hasher(
        world.accounts(auth_mode="password", rate_limit=RateLimit(attempts=2, window_seconds=60)), Unhashed()
    )
    assert await fail(accounts, 3) == [401, 401, 429]
    world.clock.pass_seconds(60)
    assert await fail(accounts, 1) == [401]


@pytest.mark.parametrize(
    ("ip", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_d18_ipv6_addresses_count_by_64(ip: str, network: str) -> None:
    assert network_of(ip) == network


async def test_d18_two_addresses_of_one_64_share_a_counter(quick: Accounts) -> None:
    await fail(quick, 10, BOB, "2001:db8::1")
    assert await outcome(quick, BOB, PASSWORD, "2001:db8::2") == 429
    assert await outcome(quick, BOB, PASSWORD, "2001:db8:0:1::2") == 200


async def test_counters_hold_no_email(world: World, quick: Accounts) -> None:
    await fail(quick, 1, "secret@example.org")
    assert "secret" not in str(await world.fetch("select * from attempts"))


async def test_sweeping_removes_counters_whose_window_has_passed(world: World, quick: Accounts) -> None:
    await fail(quick, 3)
    world.clock.pass_seconds(899)
    await fail(quick, 1, EVE, AWAY)
    world.clock.pass_seconds(1)
    await quick.sweep()
    subjects = {subject for (subject,) in await world.fetch("select subject from attempts")}
    assert subjects == set(_subjects(EVE, AWAY))


async def test_sweeping_leaves_the_counters_of_oauth_which_have_a_window_of_their_own(
    world: World, quick: Accounts
) -> None:
    async with world.storage.write() as tx:
        await tx.fetch("insert into attempts values ('oauth-start:192.0.2.1', $1, 3)", world.clock.now)
    world.clock.pass_seconds(10_000)
    await quick.sweep()
    assert await world.fetch("select failures from attempts") == [(3,)]


def _subjects(email: str, ip: str) -> tuple[str, str, str]:
    one = attempt(email, ip, "password")
    return one.address_subject, one.account_subject, one.pair_subject
