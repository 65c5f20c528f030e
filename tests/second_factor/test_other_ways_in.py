"""M-1: links in mails need the code too, and sign-ins elsewhere; both stay good until it comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from teamchat_auth_magic_link.rules import MagicLinks
from teamchat_second_factor.endpoints import SecondProof, finish

from teamchat.accounts import Purpose
from teamchat.model import now_ms
from teamchat.web import Visitor
from tests.second_factor.world import BOB, ELSEWHERE, HOME, World, opened, outcome


async def link(world: World, purpose: Purpose) -> str:
    """Mail Bob a link; return its token."""
    links = world.app.accounts.links
    async with world.app.storage.write() as tx:
        await links.issue_in(tx, purpose, BOB)
    [(id_,)] = await world.rows("select id from links where purpose = $1", purpose)
    return parse_qs(urlsplit(links.url(id_, purpose, BOB)).query)["token"][0]


async def link_to_who_registered(world: World, purpose: Purpose) -> str:
    """Have Bob be one who registered without a proof; return the token of a link to him."""
    async with world.app.storage.write() as tx:
        await tx.fetch("update users set email_proved_at = null where email = $1", BOB)
    return await link(world, purpose)


async def test_a_mailed_reset_needs_the_code_and_stays_good_until_it_comes(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        token = await link(world, "reset")

        def set_up(code: str | None) -> Awaitable[Any]:
            return world.passwords.set_up(BOB, token, "another password", HOME, "tests", code)

        for code in (None, "12345"):
            assert await outcome(set_up(code)) == "SecondFactorNeeded"
        await world.login(code=world.code(secret))  # The password is what it was.
        assert await outcome(set_up(world.code(secret, 1))) == "done"
        assert await outcome(world.login()) == "Unauthorized"


async def test_m_a_mailed_reset_leaves_the_factor_of_who_registered(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        token = await link_to_who_registered(world, "reset")

        def set_up(code: str | None) -> Awaitable[Any]:
            return world.passwords.set_up(BOB, token, "another password", ELSEWHERE, "tests", code)

        for code in (None, "12345"):
            assert await outcome(set_up(code)) == "SecondFactorNeeded"
        owned = await set_up(world.code(secret))
        assert len((await world.factors.own(await world.caller(owned))).second_factors) == 1


async def test_d40_the_first_proof_ends_what_was_before_it_also_without_the_code(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        token, magic = await link_to_who_registered(world, "magic"), MagicLinks(world.app.accounts)
        for _ in range(2):
            assert await outcome(magic.verify(BOB, token, ELSEWHERE, "tests")) == "SecondFactorNeeded"
        assert await world.rows("select 1 from sessions where user_id = $1", world.bob.user.id) == []
        assert await outcome(world.login(code=world.code(secret))) == "Unauthorized"
        assert await world.rows(
            "select target_id, details from audit_entries where action = 'user.proof'"
        ) == [(world.bob.user.id, '{"endedSessions":1,"endedPassword":true}')]
        owned = await magic.verify(BOB, token, ELSEWHERE, "tests", world.code(secret))
        assert len((await world.factors.own(await world.caller(owned))).second_factors) == 1


async def test_a_magic_link_needs_the_code_and_stays_good_until_it_comes(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        token, magic = await link(world, "magic"), MagicLinks(world.app.accounts)
        for code in (None, "12345"):
            assert await outcome(magic.verify(BOB, token, HOME, "tests", code)) == "SecondFactorNeeded"
        assert await outcome(magic.verify(BOB, "x" * 43, HOME, "tests", world.code(secret))) == "BadRequest"
        await magic.verify(BOB, token, HOME, "tests", world.code(secret))


async def test_a_way_in_that_knows_nothing_of_codes_refuses_who_has_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.set_up(world.bob)
        accounts = world.app.accounts
        assert await outcome(accounts.sign_in(BOB, HOME, "tests")) == "SecondFactorNeeded"
        assert await outcome(accounts.sign_in(BOB, HOME, "", is_proved=False)) == "SecondFactorNeeded"
        assert await outcome(accounts.sessions.start(world.bob.user.id, HOME, "")) == "SecondFactorNeeded"


async def test_a_ticket_is_good_with_a_code_for_its_user_and_for_ten_minutes(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        steps, visitor = world.app.accounts.second_steps, Visitor(HOME, "tests")
        ticket = await world.ticket()

        def end(ticket: str, code: str) -> Awaitable[Any]:
            return finish(world.app, visitor, SecondProof(ticket, code))

        assert await outcome(end(ticket, "12345")) == "SecondFactorNeeded"
        for bad in ("", "a.b.c.d", ticket[:-1], ticket + "x", "\ud800", ".".join(["é"] * 4)):
            assert await outcome(end(bad, world.code(secret))) == "BadRequest"
        signed_in = await end(ticket, world.code(secret))
        assert (await world.caller(signed_in)).user.id == world.bob.user.id
        world.pass_steps()
        assert await outcome(end(ticket, world.code(secret))) == "BadRequest", "it is good once"
        ticket = await world.ticket()
        steps._clock = lambda: now_ms() + 600_000
        assert await outcome(end(ticket, world.code(secret))) == "BadRequest"


ENDINGS: dict[str, Callable[[World], Awaitable[object]]] = {
    "deactivated and activated": lambda world: _away_and_back(world),
    "signed out everywhere": lambda world: world.app.accounts.sessions.end(world.bob),
    "without a factor any more": lambda world: _without_factor(world),
}


async def _away_and_back(world: World) -> None:
    users, bob = world.app.accounts.users, world.bob.user.id
    await users.deactivate(world.ada, bob)
    await users.activate(world.ada, bob)


async def _without_factor(world: World) -> None:
    async with world.app.storage.write() as tx:
        assert await world.codes.forget_in(tx, world.bob.user.id)
        await world.app.accounts.sessions.end_all_in(tx, world.bob.user.id)


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
async def test_a_ticket_ends_with_the_sessions_of_its_user(
    tmp_path: Path, end: Callable[[World], Awaitable[object]]
) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        ticket = await world.ticket()
        await end(world)
        for code in (world.code(secret), "000000"):
            proof = finish(world.app, Visitor(HOME, "tests"), SecondProof(ticket, code))
            assert await outcome(proof) == "BadRequest"
