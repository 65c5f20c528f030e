"""The outbox: a mail is there exactly as long as it should still be sent, and one server has it at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import trio
from teamchat_auth_magic_link.rules import MagicLinks
from teamchat_auth_password import Passwords

from teamchat.accounts.outbox import LEASE_SECONDS, Outbox, QueuedMail
from tests.accounts.conftest import Clock, World

HOUR = 3600


async def queue(world: World, *emails: str, is_decoy: bool = False) -> Outbox:
    accounts = world.accounts(magic_link_expiry_seconds=HOUR)
    for email in emails:
        async with world.storage.write() as tx:
            await accounts.links.issue_in(tx, "magic", email, is_decoy=is_decoy)
    return accounts.outbox


async def addresses(outbox: Outbox, most: int = 100) -> list[str]:
    return [mail.email for mail in await outbox.claim(most)]


async def only(outbox: Outbox) -> QueuedMail:
    [mail] = await outbox.claim(2)
    return mail


async def counts(world: World) -> tuple[int, int]:
    [(links, mails)] = await world.fetch("select (select count(*) from links), (select count(*) from mails)")
    return links, mails


async def test_a_claimed_mail_tells_all_that_is_needed_to_send_it(world: World) -> None:
    mail = await only(await queue(world, "Bob@Example.org"))
    [(link_id,)] = await world.fetch("select id from links")
    assert mail == QueuedMail(
        link_id=link_id,
        purpose="magic",
        email="Bob@Example.org",
        created_at=world.clock.now,
        expires_at=world.clock.now + HOUR * 1000,
        requester="",
        is_decoy=False,
        tries=1,
        refusals=0,
    )


async def test_a_mail_that_is_claimed_is_nobody_elses_until_its_lease_ends(world: World) -> None:
    outbox = await queue(world, "bob@example.org")
    assert await addresses(outbox) == ["bob@example.org"]
    world.clock.pass_seconds(LEASE_SECONDS - 1)
    assert await addresses(outbox) == []
    world.clock.pass_seconds(1)
    assert (await only(outbox)).tries == 2, "a crash gives the mail back, and is counted as a try"


async def test_a_mail_that_is_held_is_leased_for_longer(world: World) -> None:
    outbox = await queue(world, "bob@example.org")
    mail = await only(outbox)
    world.clock.pass_seconds(LEASE_SECONDS - 1)
    await outbox.hold(mail)
    world.clock.pass_seconds(LEASE_SECONDS - 1)
    assert await addresses(outbox) == []


async def test_of_many_who_claim_at_once_each_mail_goes_to_one(world: World) -> None:
    outbox = await queue(world, *(f"user{number}@example.org" for number in range(30)))
    claimed: list[str] = []

    async def claim() -> None:
        claimed.extend(await addresses(outbox, 4))

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(claim)
    assert sorted(claimed) == sorted({f"user{number}@example.org" for number in range(30)})


async def test_those_tried_least_come_first(world: World) -> None:
    outbox = await queue(world, "old@example.org")
    await outbox.delay(await only(outbox), 0)
    world.clock.pass_seconds(1)
    await queue(world, "new@example.org")
    assert await addresses(outbox, 1) == ["new@example.org"]
    assert await addresses(outbox, 1) == ["old@example.org"]


async def test_of_each_requester_no_more_are_looked_at_than_there_are_places(world: World) -> None:
    accounts, seen = world.accounts(), []
    async with world.storage.write() as tx:
        for number in range(50):
            await accounts.links.issue_in(tx, "magic", f"u{number}@example.org", requester="network:many")
        await accounts.links.issue_in(tx, "magic", "bob@example.org", requester="network:one")

    def choose(due: Sequence[QueuedMail], most: int) -> Sequence[QueuedMail]:
        seen.extend(mail.requester for mail in due)
        return [due[-1]]

    [mail] = await accounts.outbox.claim(3, choose)
    assert seen == ["network:many"] * 3 + ["network:one"]
    assert (mail.email, mail.requester, mail.tries) == ("bob@example.org", "network:one", 1)
    assert "bob@example.org" not in await addresses(accounts.outbox), "what was chosen is leased"


async def test_who_asked_for_a_mail_is_kept_with_it(world: World) -> None:
    accounts = world.accounts(auth_mode="magic-link", has_mail=True, is_invite_required=False)
    await MagicLinks(accounts).request("ann@example.org", "2001:db8::1")
    await MagicLinks(accounts).request("bob@example.org", "192.0.2.7")
    passwords = world.accounts(auth_mode="password", has_mail=True)
    admin = await world.admin(world.accounts())
    await Passwords(passwords).request_reset("eve@example.org", "192.0.2.8")
    await passwords.users.add(admin, "new@example.org")
    assert sorted(mail.requester for mail in await accounts.outbox.claim(9)) == [
        "network:192.0.2.7",
        "network:192.0.2.8",
        "network:2001:db8::/64",
        f"user:{admin.user.id}",
    ]


async def test_a_mail_that_was_sent_is_forgotten_and_its_link_works_on(world: World) -> None:
    outbox = await queue(world, "bob@example.org")
    await outbox.sent(await only(outbox))
    assert await counts(world) == (1, 0)


async def test_a_mail_that_is_delayed_is_due_again_then(world: World) -> None:
    outbox = await queue(world, "bob@example.org")
    await outbox.delay(await only(outbox), 2.5)
    assert await outbox.due_in() == 2.5
    assert await addresses(outbox) == []
    world.clock.pass_seconds(2.5)
    assert (await only(outbox)).refusals == 0


async def test_refusals_are_counted(world: World) -> None:
    outbox = await queue(world, "bob@example.org")
    for refusals in range(3):
        mail = await only(outbox)
        assert (mail.tries, mail.refusals) == (refusals + 1, refusals)
        await outbox.refused(mail, 1)
        world.clock.pass_seconds(1)


async def test_d16_a_mail_that_is_dropped_leaves_its_link_a_decoy_too(world: World) -> None:
    """Else asking again would take longer for whom there is an account: there is a link to replace."""
    outbox = await queue(world, "bob@example.org")
    await outbox.drop(await only(outbox))
    assert await counts(world) == (1, 0)
    await queue(world, "nobody@example.org", is_decoy=True)
    decoy = await only(outbox)
    assert decoy.is_decoy
    await outbox.drop(decoy)
    assert await counts(world) == (2, 0)


async def test_d15_the_mail_of_a_link_that_was_replaced_or_ended_is_never_sent(world: World) -> None:
    outbox = await queue(world, "bob@example.org", "bob@example.org")
    assert await addresses(outbox) == ["bob@example.org"]
    await queue(world, "eve@example.org")
    async with world.storage.write() as tx:
        await tx.fetch("delete from links where email = 'eve@example.org'")
    assert await addresses(outbox) == []
    assert await counts(world) == (1, 1)


async def test_what_becomes_of_a_mail_that_is_gone_by_then_is_no_error(world: World) -> None:
    outbox = await queue(world, "bob@example.org")
    mail = await only(outbox)
    async with world.storage.write() as tx:
        await tx.fetch("delete from links")
    for forget in (outbox.hold, outbox.sent, outbox.drop):
        await forget(mail)
    await outbox.delay(mail, 1)
    await outbox.refused(mail, 1)
    assert await counts(world) == (0, 0)


async def test_a_mail_that_is_rolled_back_with_its_link_was_never_there(world: World) -> None:
    accounts = world.accounts()

    async def fail_after_issuing() -> None:
        async with world.storage.write() as tx:
            await accounts.links.issue_in(tx, "magic", "bob@example.org")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail_after_issuing()
    assert await accounts.outbox.due_in() == math.inf


async def test_it_tells_when_the_next_mail_is_due(world: World) -> None:
    outbox = await queue(world)
    assert await outbox.due_in() == math.inf
    await queue(world, "bob@example.org")
    assert await outbox.due_in() == 0
    await outbox.delay(await only(outbox), 20)
    assert await outbox.due_in() == 20


async def test_a_clock_that_is_set_back_holds_no_mail_up(world: World) -> None:
    outbox = await queue(world, "bob@example.org")
    world.clock.pass_seconds(-HOUR)
    assert await outbox.due_in() == 0
    assert await addresses(outbox) == ["bob@example.org"]
    assert await addresses(outbox) == []


async def test_a_link_expires_when_its_time_is_over(world: World) -> None:
    outbox = await queue(world, "bob@example.org")
    mail = await only(outbox)
    world.clock.pass_seconds(HOUR - 0.001)
    assert not outbox.has_expired(mail)
    world.clock.pass_seconds(0.001)
    assert outbox.has_expired(mail)


async def test_who_waits_is_woken_by_an_announcement_even_an_earlier_one(autojump_clock: Any) -> None:
    storage: Any = None
    outbox = Outbox(storage, Clock())
    outbox.announce()
    await outbox.wait(math.inf)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.wait, math.inf)
        await trio.testing.wait_all_tasks_blocked()
        outbox.announce()
    began = trio.current_time()
    await outbox.wait(5)
    assert trio.current_time() - began == pytest.approx(5), "what was heard once is not news"
