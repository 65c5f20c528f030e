"""One-time links: what they are made of, what they are good for, and for how long."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import trio
from teamchat_auth_magic_link.rules import MagicLinks
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts, Links
from teamchat.accounts.links import Purpose
from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction

from .conftest import Mailed, World

BOB, EVE = "Bob@example.org", "eve@example.org"
PURPOSES: tuple[Purpose, ...] = ("magic", "invite", "reset")
LIFETIMES: dict[Purpose, int] = {"magic": 900, "invite": 604_800, "reset": 3600}


@pytest.fixture
def accounts(world: World) -> Accounts:
    return world.accounts(app_url="https://chat.example.org")


async def issue(
    world: World, links: Links, purpose: Purpose = "magic", email: str = BOB, *, is_decoy: bool = False
) -> None:
    async with world.storage.write() as tx:
        await links.issue_in(tx, purpose, email, is_decoy=is_decoy)


async def issued(world: World, accounts: Accounts, purpose: Purpose = "magic", email: str = BOB) -> Mailed:
    await issue(world, accounts.links, purpose, email)
    return (await world.mailed(accounts))[-1]


async def refusal(links: Links, purposes: tuple[Purpose, ...], email: str, token: str) -> str:
    with pytest.raises(BadRequest) as caught:
        await links.check(purposes, email, token)
    return caught.value.sentence


async def spend(world: World, links: Links, purpose: Purpose, email: str, token: str) -> str:
    async with world.storage.write() as tx:
        return (await links.spend_in(tx, [purpose], email, token)).email


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_d15_a_token_works_once(world: World, accounts: Accounts, purpose: Purpose) -> None:
    mail = await issued(world, accounts, purpose)
    assert (await accounts.links.check([purpose], BOB, mail.token)).purpose == purpose, (
        "checking spends nothing"
    )
    assert await spend(world, accounts.links, purpose, BOB, mail.token) == BOB
    with pytest.raises(BadRequest):
        await spend(world, accounts.links, purpose, BOB, mail.token)
    await refusal(accounts.links, PURPOSES, BOB, mail.token)


async def test_d15_of_a_hundred_who_spend_a_token_at_once_one_does(world: World, accounts: Accounts) -> None:
    mail = await issued(world, accounts)
    outcomes: list[bool] = []

    async def try_it() -> None:
        try:
            await spend(world, accounts.links, "magic", BOB, mail.token)
        except BadRequest:
            outcomes.append(False)
        else:
            outcomes.append(True)

    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(try_it)
    assert (len(outcomes), sum(outcomes)) == (100, 1)


async def test_d15_a_token_that_another_server_spends_at_the_same_moment_is_refused(
    world: World, accounts: Accounts
) -> None:
    mail = await issued(world, accounts)

    class Late:
        """A transaction in which a link that was found is gone before it can be deleted."""

        def __init__(self, tx: Transaction) -> None:
            self._tx = tx

        async def fetch(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
            found = await self._tx.fetch(sql, *params)
            return [] if sql.startswith("delete") else found

    async with world.storage.write() as tx:
        with pytest.raises(BadRequest):
            await accounts.links.spend_in(Late(tx), ["magic"], BOB, mail.token)  # type: ignore[arg-type]


async def test_d15_a_token_is_bound_to_its_email_in_any_case_and_another_does_not_spend_it(
    world: World, accounts: Accounts
) -> None:
    mail = await issued(world, accounts)
    await issue(world, accounts.links, "magic", EVE)
    with pytest.raises(BadRequest):
        await spend(world, accounts.links, "magic", EVE, mail.token)
    assert await spend(world, accounts.links, "magic", "BOB@EXAMPLE.ORG", mail.token) == BOB


@pytest.mark.parametrize(("purpose", "other"), list(itertools.permutations(PURPOSES, 2)))
async def test_d15_a_token_is_bound_to_its_purpose(
    world: World, accounts: Accounts, purpose: Purpose, other: Purpose
) -> None:
    mail = await issued(world, accounts, purpose)
    await issue(world, accounts.links, other)
    with pytest.raises(BadRequest):
        await spend(world, accounts.links, other, BOB, mail.token)
    await accounts.links.check([purpose], BOB, mail.token)


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_d15_a_token_expires_by_its_purpose(world: World, accounts: Accounts, purpose: Purpose) -> None:
    mail = await issued(world, accounts, purpose)
    world.clock.pass_seconds(LIFETIMES[purpose] - 1)
    await accounts.links.check([purpose], BOB, mail.token)
    world.clock.pass_seconds(1)
    await refusal(accounts.links, (purpose,), BOB, mail.token)
    with pytest.raises(BadRequest):
        await spend(world, accounts.links, purpose, BOB, mail.token)


async def test_the_lifetimes_are_the_configured_ones(world: World) -> None:
    accounts = world.accounts(magic_link_expiry_seconds=1, invite_expiry_seconds=2, reset_expiry_seconds=3)
    for purpose in PURPOSES:
        await issue(world, accounts.links, purpose)
    rows = await world.fetch("select purpose, expires_at - created_at from links order by expires_at")
    assert rows == [("magic", 1000), ("invite", 2000), ("reset", 3000)]


async def test_d15_a_newer_link_of_the_same_purpose_ends_the_older(world: World, accounts: Accounts) -> None:
    invite, first = await issued(world, accounts, "invite"), await issued(world, accounts, "reset")
    second = await issued(world, accounts, "reset", BOB.upper())
    await refusal(accounts.links, PURPOSES, BOB, first.token)
    await accounts.links.check(["reset"], BOB, second.token)
    await accounts.links.check(["invite"], BOB, invite.token)
    assert await world.fetch("select count(*) from mails") == [(2,)], "the older one's mail went with it"


async def test_d15_tokens_are_kept_nowhere(world: World, accounts: Accounts) -> None:
    tokens = [(await issued(world, accounts, purpose)).token for purpose in PURPOSES]
    kept = str(await world.fetch("select * from links")) + str(await world.fetch("select * from mails"))
    assert not [token for token in tokens if token in kept]


async def test_tokens_have_256_bits_and_nothing_in_common(world: World, accounts: Accounts) -> None:
    tokens = {(await issued(world, accounts)).token for _ in range(100)}
    assert {len(token) for token in tokens} == {43}
    assert len({token[:5] for token in tokens}) == 100


async def test_another_secret_makes_other_tokens(world: World, accounts: Accounts) -> None:
    mail = await issued(world, accounts)
    other = Links(world.storage, accounts.sessions._auth, b"another secret", accounts.outbox, world.clock)
    [(link_id,)] = await world.fetch("select id from links")
    assert Mailed(BOB, other.url(link_id, "magic", BOB)).token != mail.token


async def test_d16_no_token_fits_a_decoy(world: World, accounts: Accounts) -> None:
    await issue(world, accounts.links, is_decoy=True)
    [(link_id, is_decoy)] = await world.fetch("select link_id, is_decoy from mails")
    assert is_decoy
    for purpose in PURPOSES:
        token = Mailed(BOB, accounts.links.url(link_id, purpose, BOB)).token
        await refusal(accounts.links, PURPOSES, BOB, token)


async def test_every_refusal_says_the_same(world: World, accounts: Accounts) -> None:
    links = accounts.links
    mail, decoy = await issued(world, accounts), "x" * 43
    spent = await issued(world, accounts, "invite")
    await spend(world, links, "invite", BOB, spent.token)
    said = {
        await refusal(links, ("magic",), BOB, decoy),
        await refusal(links, ("magic",), EVE, mail.token),
        await refusal(links, ("reset",), BOB, mail.token),
        await refusal(links, ("invite",), BOB, spent.token),
    }
    world.clock.pass_seconds(900)
    said.add(await refusal(links, ("magic",), BOB, mail.token))
    assert len(said) == 1


@pytest.mark.slow
@pytest.mark.parametrize("token", ["", "\x00", "\ud800", "é" * 43, "x" * 100_000])
@pytest.mark.parametrize("email", [BOB, "", "bob", "\x00@x", "\ud800@x", "x" * 100_000])
async def test_odd_tokens_and_emails_are_refused_and_break_nothing(
    world: World, accounts: Accounts, email: str, token: str
) -> None:
    await issue(world, accounts.links)
    await refusal(accounts.links, PURPOSES, email, token)


async def test_forgetting_ends_every_link_of_an_email_with_its_mail(world: World, accounts: Accounts) -> None:
    for purpose in PURPOSES:
        await issue(world, accounts.links, purpose)
    other = await issued(world, accounts, "magic", EVE)
    async with world.storage.write() as tx:
        await accounts.links.forget_in(tx, BOB.upper())
    assert await world.mailed(accounts) == [other]


async def test_what_is_rolled_back_was_neither_issued_nor_mailed(world: World, accounts: Accounts) -> None:
    async def issue_and_fail() -> None:
        async with world.storage.write() as tx:
            await accounts.links.issue_in(tx, "magic", BOB)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await issue_and_fail()
    assert await world.fetch("select * from links") == []
    assert await world.fetch("select * from mails") == []


async def test_sweeping_removes_expired_links_and_their_mails(world: World, accounts: Accounts) -> None:
    await issue(world, accounts.links, "magic")
    reset = await issued(world, accounts, "reset")
    world.clock.pass_seconds(900)
    await accounts.sweep()
    assert await world.mailed(accounts) == [reset]
    assert await world.fetch("select purpose from links") == [("reset",)]


@pytest.mark.parametrize(("purpose", "mode"), [("magic", None), ("invite", "setup"), ("reset", "reset")])
async def test_d15_a_link_leads_to_the_app_and_says_what_for(
    world: World, accounts: Accounts, purpose: Purpose, mode: str | None
) -> None:
    mail = await issued(world, accounts, purpose)
    assert mail.url.startswith("https://chat.example.org/?token=")
    expected = {"token": mail.token, "email": BOB} | ({"mode": mode} if mode else {})
    assert mail.query == expected
    assert list(mail.query) == list(expected)


@pytest.mark.parametrize(
    ("app_url", "beginning"),
    [
        ("http://localhost:3000", "http://localhost:3000/?token="),
        ("https://example.org/", "https://example.org/?token="),
        ("https://example.org/chat", "https://example.org/chat/?token="),
        ("https://example.org/chat/", "https://example.org/chat/?token="),
        ("https://example.org/chat?team=7#top", "https://example.org/chat/?team=7&token="),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443/?token="),
    ],
)
async def test_a_link_begins_with_the_configured_address(world: World, app_url: str, beginning: str) -> None:
    url = world.accounts(app_url=app_url).links.url("an-id", "magic", BOB)
    assert url.startswith(beginning)


@pytest.mark.parametrize("email", ["a+b@example.org", "a&mode=reset@x", "ü%41@x", "a=b#c@x?y/z"])
async def test_the_email_in_a_link_comes_back_as_it_was(accounts: Accounts, email: str) -> None:
    url = accounts.links.url("an-id", "magic", email)
    assert Mailed(email, url).query["email"] == email
    assert url.isascii()
    assert " " not in url


async def test_d15_a_sign_in_link_sets_no_password_and_a_reset_signs_nobody_in_without_one(
    world: World,
) -> None:
    accounts = world.accounts(auth_mode="password", has_mail=True)
    await accounts.users.add(await world.admin(accounts), BOB, password="correct horse")
    await MagicLinks(accounts).request(BOB, "192.0.2.1")
    await Passwords(accounts).request_reset(BOB, "192.0.2.1")
    magic, reset = await world.mailed(accounts)
    with pytest.raises(BadRequest):
        await Passwords(accounts).set_up(BOB, magic.token, "another password", "192.0.2.1", "")
    with pytest.raises(BadRequest):
        await MagicLinks(accounts).verify(BOB, reset.token, "192.0.2.1", "")
