"""The audit log: what stands in it of accounts, who reads it, and what never fills it (extension L-4)."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from teamchat_auth_password import Passwords

from teamchat.accounts import Accounts
from teamchat.accounts.audit import Audit, AuditEntry, AuditQuery, asked_by, note
from teamchat.accounts.audit.writing import FAILURES_AN_HOUR
from teamchat.errors import BadRequest, Forbidden, StorageError, TooManyRequests, Unauthorized
from teamchat.model import Caller

from .conftest import World

PASSWORD = "correct horse battery"
BOB = "bob@example.org"


@pytest.fixture
def accounts(world: World) -> Accounts:
    return world.accounts(auth_mode="password")


@pytest.fixture
async def admin(world: World, accounts: Accounts) -> Caller:
    return await world.admin(accounts)


async def entries(world: World, **query: Any) -> list[AuditEntry]:
    return [one async for one in Audit(world.storage, 400).all(AuditQuery(**query))]


async def told(world: World, **query: Any) -> list[tuple[Any, ...]]:
    return [(one.action, one.actor_id, one.target_id, one.details) for one in await entries(world, **query)]


async def test_l4_what_is_done_to_accounts_has_an_entry_each(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    before = len(await entries(world))
    users, one = accounts.users, admin.user.id
    bob = await users.add(admin, BOB, password=PASSWORD)
    for role in ("admin", "admin", "user"):
        await users.set_role(admin, bob, role)
    await users.reset_password(admin, bob, "another password")
    for _ in range(2):
        await users.deactivate(admin, bob)
    for _ in range(2):
        await users.activate(admin, bob)
    await users.remove(admin, bob)
    assert (await told(world))[before:] == [
        ("user.create", one, bob, {"role": "user"}),
        ("user.role", one, bob, {"role": "admin"}),
        ("user.role", one, bob, {"role": "user"}),
        ("user.password", one, bob, {}),
        ("user.deactivate", one, bob, {}),
        ("user.activate", one, bob, {}),
        ("user.remove", one, bob, {}),
    ]


async def test_l4_the_operator_is_nobody(world: World, accounts: Accounts) -> None:
    async with world.storage.write() as tx:
        user = await accounts.users.create_in(tx, BOB)
    assert [(one.actor_id, one.ip) for one in await entries(world, target_id=user.id)] == [(None, None)]


async def test_l4_a_sign_in_has_an_entry_and_a_failed_one_names_nobody(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    bob = await accounts.users.add(admin, BOB, password=PASSWORD)
    passwords = Passwords(accounts)
    await passwords.login(BOB, PASSWORD, "192.0.2.9", "")
    for email in (BOB, "nobody@example.org", "what I typed by mistake"):
        with pytest.raises(Unauthorized):
            await passwords.login(email, "wrong password", "192.0.2.9", "")
    [signed_in] = await entries(world, action="session.create", actor_id=bob)
    assert (signed_in.ip, signed_in.target_type) == ("192.0.2.9", "session")
    failed = await entries(world, action="session.fail")
    assert [(one.actor_id, one.ip, one.target_id) for one in failed] == [
        (None, "192.0.2.9", bob),
        (None, "192.0.2.9", None),
        (None, "192.0.2.9", None),
    ]
    assert {str(one.details) for one in failed} == {"{'way': 'password'}"}


async def test_l4_a_stolen_refresh_token_has_an_entry(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    _, signed_in = await world.sign_in(accounts, admin.user.email)
    await accounts.sessions.refresh(signed_in.refresh_token)
    world.clock.pass_seconds(11)
    with pytest.raises(Unauthorized):
        await accounts.sessions.refresh(signed_in.refresh_token)
    [failed] = await entries(world, action="session.fail")
    assert (failed.actor_id, failed.target_id) == (None, admin.user.id)


async def test_l4_many_computers_that_guess_do_not_fill_the_disk(
    world: World, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.accounts.audit.writing.FAILURES_AN_HOUR", 5)

    async def fail(number: int) -> None:
        await accounts.note_failure(None, way="dev", ip=f"192.0.2.{number}")

    async with trio.open_nursery() as nursery:
        for number in range(12):
            nursery.start_soon(fail, number)
    found = await entries(world, action="session.fail")
    assert [one.details.get("othersFollow") for one in found] == [None, None, None, None, True]


async def test_l4_the_limit_on_guessing_holds_for_entries_of_one_address_too(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    for _ in range(10):
        with pytest.raises(Unauthorized):
            await Passwords(accounts).login(BOB, "wrong password", "192.0.2.9", "")
    with pytest.raises(TooManyRequests):
        await Passwords(accounts).login(BOB, "wrong password", "192.0.2.9", "")
    assert len(await entries(world, action="session.fail")) == 10 < FAILURES_AN_HOUR


async def test_l4_an_entry_is_there_if_its_change_is_and_not_otherwise(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    before = await entries(world)

    async def broken_off() -> None:
        async with world.storage.write() as tx:
            await accounts.users.create_in(tx, BOB)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await broken_off()
    with pytest.raises(BadRequest):
        await accounts.users.set_role(admin, admin.user.id, "user")
    assert await entries(world) == before


async def test_l4_who_asks_and_from_where_is_that_of_the_request(world: World) -> None:
    with asked_by("ada", lambda: "192.0.2.9"):
        async with world.storage.write() as tx:
            await note(tx, "poll.close", "poll", "1", votes=3)
            await note(tx, "poll.close", "poll", "2", by="eve")
    assert [(one.actor_id, one.ip, one.details) for one in await entries(world)] == [
        ("ada", "192.0.2.9", {"votes": 3}),
        ("eve", "192.0.2.9", {}),
    ]


@pytest.mark.parametrize("action", ["", "poll", "Poll.close", "poll.", ".close", "poll.a b", "poll\n.a"])
async def test_an_action_of_another_form_is_refused(world: World, action: str) -> None:
    async with world.storage.write() as tx:
        with pytest.raises(StorageError, match="dotted lower-case"):
            await note(tx, action)


async def test_details_are_no_place_for_texts(world: World) -> None:
    async with world.storage.write() as tx:
        with pytest.raises(StorageError, match="16384 bytes"):
            await note(tx, "poll.close", text="a" * 20_000)


async def test_l4_admins_alone_read_it_newest_first_page_by_page(
    world: World, accounts: Accounts, admin: Caller
) -> None:
    bob = await accounts.users.add(admin, BOB, password=PASSWORD)
    caller = (await world.sign_in(accounts, BOB))[0]
    audit = Audit(world.storage, 400)
    with pytest.raises(Forbidden):
        await audit.page(caller, 50, None, AuditQuery())
    with pytest.raises(BadRequest):
        await audit.page(admin, 50, "nonsense", AuditQuery())
    everything = (await audit.page(admin, 200, None, AuditQuery())).entries
    assert [one.id for one in everything] == sorted((one.id for one in everything), reverse=True)
    found: list[AuditEntry] = []
    before: str | None = None
    while True:
        page = await audit.page(admin, 2, before, AuditQuery())
        found += page.entries
        if (before := page.next) is None:
            break
    assert found == list(everything)
    of_bob = await audit.page(admin, 200, None, AuditQuery(target_id=bob))
    assert [one.action for one in of_bob.entries] == ["user.create"]
    by_bob = await audit.page(admin, 200, None, AuditQuery(actor_id=bob))
    assert [one.action for one in by_bob.entries] == ["session.create"]
    for action, wanted in {"user": {"user.create"}, "user.create": {"user.create"}, "use": set()}.items():
        asked = await audit.page(admin, 200, None, AuditQuery(action=action))
        assert {one.action for one in asked.entries} == wanted


async def test_l4_what_is_too_old_goes_and_nothing_else(world: World) -> None:
    async with world.storage.write() as tx:
        for _ in range(3):
            await note(tx, "poll.close")
    [first, *_] = await entries(world)
    day = 86_400_000
    for passed, left in ((399 * day, 3), (401 * day, 0)):
        await Audit(world.storage, 400, lambda passed=passed: first.at + passed).sweep()
        assert len(await entries(world)) == left


async def test_of_a_time_there_is_what_happened_then(world: World) -> None:
    async with world.storage.write() as tx:
        for at in (1_000_000, 2_000_000, 3_000_000):
            await tx.fetch(
                """insert into audit_entries (id, at, action, details) values ($1, $2, 'poll.close', '{}')""",
                f"{at:012x}".ljust(32, "0"),
                at,
            )
    audit = Audit(world.storage, 400)

    async def of(**times: int) -> list[int]:
        return [one.at async for one in audit.all(AuditQuery(), **times)]

    assert await of() == [1_000_000, 2_000_000, 3_000_000]
    assert await of(since=2_000_000) == [2_000_000, 3_000_000]
    assert await of(until=2_000_000) == [1_000_000]
    assert await of(since=1_000_001, until=3_000_000) == [2_000_000]
