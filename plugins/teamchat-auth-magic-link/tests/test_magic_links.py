"""Magic links: who gets one, who is told, and what coming back with it does."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
from teamchat_auth_magic_link.rules import MagicLinks

from teamchat.accounts import Accounts
from teamchat.errors import BadRequest, Problem, TooManyRequests, Unauthorized
from teamchat.model import Caller, SignedIn
from teamchat.settings import RateLimit
from tests.accounts.conftest import ADMIN, Mailed, Recorded, World
from tests.storages import sqlite_only

BOB, EVE = "Bob@example.org", "eve@example.org"
HOME, AWAY = "192.0.2.1", "198.51.100.7"


def build(world: World, **auth: Any) -> Accounts:
    return world.accounts(auth_mode="magic-link", has_mail=True, **auth)


@pytest.fixture
def accounts(world: World) -> Accounts:
    return build(world)


@pytest.fixture
def open_accounts(world: World) -> Accounts:
    """Accounts where invites are not required."""
    return build(world, is_invite_required=False)


@pytest.fixture
async def admin(world: World, accounts: Accounts) -> Caller:
    """An admin, and Bob, whom they have added."""
    admin = await world.admin(accounts)
    await accounts.users.add(admin, BOB)
    return admin


async def ask(world: World, accounts: Accounts, email: str = BOB, ip: str = HOME) -> Mailed:
    """Ask for a link and return the newest mail there is."""
    await MagicLinks(accounts).request(email, ip)
    return (await world.mailed(accounts))[-1]


async def come_back(accounts: Accounts, mail: Mailed, ip: str = HOME) -> SignedIn:
    return await MagicLinks(accounts).verify(mail.recipient, mail.token, ip, "tests")


async def outcome(accounts: Accounts, email: str, token: str, ip: str = HOME) -> int:
    try:
        await MagicLinks(accounts).verify(email, token, ip, "tests")
    except Problem as problem:
        return problem.status
    return 200


async def user_id(accounts: Accounts, email: str) -> str:
    [found] = [user.id for user in await accounts.users.list() if user.email == email]
    return found


async def test_a_user_signs_in_with_a_link(world: World, accounts: Accounts, admin: Caller) -> None:
    mail = await ask(world, accounts)
    assert mail.recipient == BOB
    signed_in = await come_back(accounts, mail)
    caller = await accounts.authenticate(signed_in.access_token)
    assert (caller.user.email, caller.user.is_admin) == (BOB, False)
    await accounts.sessions.refresh(signed_in.refresh_token)
    [session] = await accounts.sessions.list(caller)
    assert (session.ip, session.user_agent) == (HOME, "tests")


async def test_the_initial_admin_signs_in_with_a_link(world: World, accounts: Accounts) -> None:
    assert await accounts.ensure_initial_user(ADMIN) is None, "no password is made where none is asked for"
    signed_in = await come_back(accounts, await ask(world, accounts, ADMIN.email))
    assert (await accounts.authenticate(signed_in.access_token)).user.is_admin


async def test_the_mail_goes_to_the_accounts_own_spelling(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    await accounts.users.add(admin, "kim@example.org")
    # The Kelvin sign is equal to a k without regard to case, and may well be another mailbox.
    mail = await ask(world, accounts, "\u212aim@example.org")
    assert mail.recipient == mail.query["email"] == "kim@example.org"


async def test_a_new_user_has_the_email_the_link_was_mailed_to(world: World, open_accounts: Accounts) -> None:
    mail = await ask(world, open_accounts, "\u212aim@example.org")
    await MagicLinks(open_accounts).verify("kim@example.org", mail.token, HOME, "")
    assert [user.email for user in await open_accounts.users.list()] == ["\u212aim@example.org"]


async def test_d16_an_unknown_email_gets_no_mail_when_invites_are_required(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    await MagicLinks(accounts).request(EVE, HOME)
    assert await world.mailed(accounts) == []
    assert await world.fetch("select is_decoy from mails") == [(1,)]


@pytest.mark.parametrize("is_invite_required", [True, False])
async def test_d16_the_same_statements_whether_or_not_there_is_an_account(
    world: World, admin: Caller, is_invite_required: bool
) -> None:
    recorded = Recorded(world.storage)
    accounts = build(World(recorded, world.clock), is_invite_required=is_invite_required)  # type: ignore[arg-type]
    traces = []
    # Twice: the second request replaces a link.
    for email in (BOB, EVE, BOB, EVE):
        recorded.statements.clear()
        await MagicLinks(accounts).request(email, HOME)
        traces.append(list(recorded.statements))
    assert traces[0] == traces[1] == traces[2] == traces[3]
    assert any("insert into links" in statement for statement in traces[0])
    assert any("insert into mails" in statement for statement in traces[0])


async def test_d15_the_account_is_made_when_the_link_comes_back_and_not_before(
    world: World, open_accounts: Accounts
) -> None:
    mail = await ask(world, open_accounts)
    assert await open_accounts.users.list() == []
    signed_in = await come_back(open_accounts, mail)
    caller = await open_accounts.authenticate(signed_in.access_token)
    assert (caller.user.email, caller.user.user_name, caller.user.is_admin) == (BOB, "Bob", False)
    assert [event["id"] for event in await world.events("NEW_USER")] == [caller.user.id]
    again = await come_back(open_accounts, await ask(world, open_accounts))
    assert (await open_accounts.authenticate(again.access_token)).user == caller.user


async def test_a_link_to_nobody_is_worth_nothing_once_invites_are_required(
    world: World, open_accounts: Accounts
) -> None:
    mail = await ask(world, open_accounts)
    with pytest.raises(Unauthorized):
        await come_back(build(world, is_invite_required=True), mail)
    assert await open_accounts.users.list() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "email", ["", "bob", "a b@x", "@x", "bob@x\r\nBcc: eve@x", "\x00@x", "x" * 255 + "@x"]
)
async def test_what_cannot_be_an_email_is_refused_and_nothing_is_queued(
    world: World, open_accounts: Accounts, email: str
) -> None:
    with pytest.raises(BadRequest):
        await MagicLinks(open_accounts).request(email, HOME)
    assert await world.fetch("select * from links") == []


async def test_d15_of_a_hundred_who_come_back_with_one_link_one_is_signed_in(world: World) -> None:
    accounts = build(world, is_invite_required=False, rate_limit=RateLimit(attempts=1000, window_seconds=900))
    mail = await ask(world, accounts)
    statuses: list[int] = []

    async def try_it() -> None:
        statuses.append(await outcome(accounts, BOB, mail.token))

    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(try_it)
    assert sorted(statuses) == [200] + [400] * 99
    assert await world.fetch("select count(*) from sessions") == [(1,)]
    assert len(await accounts.users.list()) == 1


async def test_d15_anothers_token_is_refused_and_not_spent(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    mail = await ask(world, accounts)
    assert await outcome(accounts, ADMIN.email, mail.token) == 400
    assert await outcome(accounts, BOB.upper(), mail.token) == 200
    assert await outcome(accounts, BOB, mail.token) == 400


async def test_d15_an_invitation_signs_nobody_in(world: World, accounts: Accounts, admin: Caller) -> None:
    inviting = world.accounts(auth_mode="password", has_mail=True)
    await inviting.users.add(admin, EVE)
    [mail] = await world.mailed(inviting)
    assert await outcome(accounts, EVE, mail.token) == 400


async def test_a_link_expires_after_its_configured_time(world: World) -> None:
    accounts = build(world, is_invite_required=False, magic_link_expiry_seconds=5)
    mail = await ask(world, accounts)
    world.clock.pass_seconds(5)
    assert await outcome(accounts, BOB, mail.token) == 400


async def test_a_link_signs_nobody_in_whose_mailbox_is_another_one(world: World) -> None:
    """Emails that are equal without regard to case (D-05) may still be two people's mailboxes."""
    accounts = build(world, is_invite_required=False)
    admin = await world.admin(accounts)
    mail = await ask(world, accounts, "stra\u00dfe@example.org")
    await accounts.users.add(admin, "strasse@example.org")
    assert await outcome(accounts, mail.recipient, mail.token) == 400
    assert await outcome(accounts, "strasse@example.org", mail.token) == 400
    assert (await come_back(accounts, await ask(world, accounts, "stra\u00dfe@example.org"))).access_token


async def test_a_link_signs_its_owner_in_however_the_account_spells_the_mailbox(world: World) -> None:
    accounts = build(world, is_invite_required=False)
    admin = await world.admin(accounts)
    mail = await ask(world, accounts, "bob@Example.org")
    await accounts.users.add(admin, BOB)
    assert await outcome(accounts, mail.recipient, mail.token) == 200


async def test_d22_a_removed_users_link_is_dead_also_where_anyone_may_come(
    world: World, open_accounts: Accounts, admin: Caller
) -> None:
    mail = await ask(world, open_accounts)
    await open_accounts.users.remove(admin, await user_id(open_accounts, BOB))
    assert await outcome(open_accounts, BOB, mail.token) == 400
    assert await world.fetch("select * from mails") == [], "what was not sent is not sent any more"


async def test_d22_who_leaves_leaves_no_link_and_no_identity(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    bob = (await world.sign_in(accounts, BOB))[0]
    async with world.storage.write() as tx:
        for subject, owner in (("one", bob.user.id), ("two", admin.user.id)):
            await tx.fetch("insert into identities values ('github', $1, $2, 0)", subject, owner)
    mail = await ask(world, accounts)
    await accounts.users.exit(bob)
    assert await outcome(accounts, BOB, mail.token) == 400
    assert await world.fetch("select subject from identities") == [("two",)]


async def test_a_sign_in_that_fails_half_way_leaves_the_link_good(
    world: World, open_accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = await ask(world, open_accounts)
    with monkeypatch.context() as patch:

        async def crash(*_: object, **__: object) -> None:
            raise RuntimeError("crash")

        patch.setattr(open_accounts.sessions, "start_in", crash)
        with pytest.raises(RuntimeError):
            await come_back(open_accounts, mail)
    assert await open_accounts.users.list() == []
    await come_back(open_accounts, mail)


@sqlite_only("it looks at the writing connection of SQLite")
async def test_the_sender_is_woken_once_the_mail_is_there_to_be_read(
    world: World, accounts: Accounts, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[int] = []
    connection = world.storage._writer  # type: ignore[attr-defined]

    def look() -> None:
        assert not connection.in_transaction
        waiting.extend(connection.execute("select count(*) from mails").fetchone())

    monkeypatch.setattr(accounts.outbox, "announce", look)
    await MagicLinks(accounts).request(BOB, HOME)
    await MagicLinks(accounts).request(EVE, HOME)
    assert waiting == [1, 2]


# Limits


@pytest.mark.parametrize("email", [BOB, EVE])
async def test_d18_an_email_is_sent_ten_mails_in_a_window_and_nobody_is_told(
    world: World, accounts: Accounts, admin: Caller, email: str
) -> None:
    for _ in range(10):
        await MagicLinks(accounts).request(email, HOME)
    tenth = await world.fetch("select id from links")
    for spelling in (email, email.upper(), email.lower()):
        await MagicLinks(accounts).request(spelling, AWAY)
    assert await world.fetch("select id from links") == tenth, "the last link stays, and no mail is added"
    world.clock.pass_seconds(900)
    await MagicLinks(accounts).request(email, HOME)
    assert await world.fetch("select id from links") != tenth


async def test_d18_the_last_link_of_an_email_at_its_limit_is_good(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    for _ in range(15):
        await MagicLinks(accounts).request(BOB, HOME)
    [mail] = await world.mailed(accounts)
    assert await outcome(accounts, BOB, mail.token) == 200


async def test_d18_an_address_may_ask_for_a_hundred_mails_whether_or_not_there_are_accounts(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    for number in range(99):
        await MagicLinks(accounts).request(f"user{number}@example.org", "2001:db8::1")
    await MagicLinks(accounts).request(BOB, "2001:db8::2")
    world.clock.pass_seconds(100)
    for email in (BOB, EVE):
        with pytest.raises(TooManyRequests) as caught:
            await MagicLinks(accounts).request(email, "2001:db8::3")
        assert caught.value.retry_after == 800
    await MagicLinks(accounts).request(BOB, "2001:db8:0:1::1")
    world.clock.pass_seconds(800)
    await MagicLinks(accounts).request(BOB, "2001:db8::3")


async def test_d18_asking_for_mail_and_failing_to_sign_in_are_counted_apart(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    for _ in range(10):
        mail = await ask(world, accounts)
    assert await outcome(accounts, BOB, mail.token) == 200
    for _ in range(10):
        await outcome(accounts, EVE, "wrong")
    await MagicLinks(accounts).request(ADMIN.email, HOME)
    assert [mail.recipient for mail in await world.mailed(accounts)] == [ADMIN.email]


async def test_d18_failed_tokens_are_limited_like_failed_passwords(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    mail = await ask(world, accounts)
    wrong = [await outcome(accounts, BOB, "wrong") for _ in range(11)]
    assert wrong == [400] * 10 + [429]
    assert await outcome(accounts, BOB, mail.token) == 429, "with the right token too"
    assert await outcome(accounts, BOB, mail.token, AWAY) == 200, "which was not spent"


async def test_d18_a_right_token_takes_back_its_accounts_failures(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    for _ in range(9):
        await outcome(accounts, BOB, "wrong")
    await come_back(accounts, await ask(world, accounts))
    assert await outcome(accounts, BOB, "wrong") == 400
    assert await world.fetch("select failures from attempts where subject like 'pair:%'") == [(1,)]


async def test_d18_what_is_no_email_counts_for_the_address(world: World, accounts: Accounts) -> None:
    for email in ("", "bob", "\ud800@x", "x" * 1000):
        assert await outcome(accounts, email, "wrong") == 400
    assert await world.fetch("select subject, failures from attempts") == [(f"address:{HOME}", 4)]


async def test_d18_of_guesses_made_at_once_ten_are_answered(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    statuses: list[int] = []

    async def guess() -> None:
        statuses.append(await outcome(accounts, BOB, "wrong"))

    async with trio.open_nursery() as nursery:
        for _ in range(40):
            nursery.start_soon(guess)
    assert (statuses.count(400), statuses.count(429)) == (10, 30)


async def test_d18_a_blocked_attempt_asks_for_no_link(
    world: World, accounts: Accounts, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(10):
        await outcome(accounts, BOB, "wrong")
    monkeypatch.setattr(accounts.links, "check", None)
    assert await outcome(accounts, BOB, "wrong") == 429


async def test_counters_of_mails_hold_no_email(world: World, accounts: Accounts) -> None:
    await MagicLinks(accounts).request("secret@example.org", HOME)
    assert "secret" not in str(await world.fetch("select * from attempts"))


# The log


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [
        {"event": record.message} | record.teamchat_fields  # type: ignore[attr-defined]
        for record in caplog.records
        if record.name.startswith("teamchat")
    ]


async def test_the_log_tells_who_signed_in_how_and_from_where_and_who_failed(
    world: World, open_accounts: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await outcome(open_accounts, BOB, "wrong-token")
    mail = await ask(world, open_accounts)
    await come_back(open_accounts, mail, AWAY)
    bob = await user_id(open_accounts, BOB)
    assert logged(caplog) == [
        {"event": "sign-in failed", "way": "magic-link", "ip": HOME},
        {"event": "signed in", "user": bob, "way": "magic-link", "ip": AWAY},
    ]
    assert "example.org" not in caplog.text
    assert mail.token not in caplog.text


async def test_the_log_tells_what_became_of_users_and_sessions(
    world: World, accounts: Accounts, admin: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    bob, signed_in = await world.sign_in(accounts, BOB)
    eve = await accounts.users.add(admin, EVE, "admin")
    caplog.set_level(logging.INFO)
    caplog.clear()
    with pytest.raises(Unauthorized):
        await accounts.sign_in("nobody@example.org", HOME, "", way="github")
    await accounts.users.reset_password(admin, eve, "correct horse battery")
    await accounts.users.remove(admin, eve)
    await accounts.sessions.logout(bob, signed_in.refresh_token)
    bob, _ = await world.sign_in(accounts, BOB)
    await accounts.sessions.end(bob)
    await accounts.users.exit(bob)
    ada = admin.user.id
    assert logged(caplog) == [
        {"event": "sign-in failed", "way": "github", "ip": HOME},
        {"event": "password changed", "user": eve, "by": ada},
        {"event": "user removed", "user": eve, "by": ada},
        {"event": "signed out", "user": bob.user.id},
        {"event": "signed in", "user": bob.user.id, "way": "magic-link", "ip": HOME},
        {"event": "sessions ended", "user": bob.user.id, "count": 1},
        {"event": "user left", "user": bob.user.id},
    ]
    assert "example.org" not in caplog.text


async def test_what_was_rolled_back_is_not_told(
    world: World, accounts: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    admin = await world.admin(accounts)
    caplog.set_level(logging.INFO)
    caplog.clear()
    with pytest.raises(BadRequest):
        await accounts.users.add(admin, ADMIN.email)
    with pytest.raises(BadRequest):
        await accounts.users.exit(admin)
    assert logged(caplog) == []
