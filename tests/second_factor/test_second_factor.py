"""M-1 to M-3: second factors, on the storage that the tests run on, and what is tried against them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import trio
import trio.testing
from msgspec.structs import replace
from teamchat_auth_magic_link.rules import MagicLinks
from teamchat_second_factor.endpoints import SecondProof, finish
from teamchat_second_factor.factors import MOST, PENDING_MS

from teamchat import BadRequest, CodeNeeded, Conflict, Forbidden, NotFound, TooManyRequests, Unauthorized
from teamchat.accounts import Purpose
from teamchat.accounts.audit import asked_by
from teamchat.errors import SecondFactorNeeded
from teamchat.model import now_ms
from teamchat.settings import Settings
from teamchat.web import Visitor, of_problem
from tests.second_factor.world import ADMIN, BOB, ELSEWHERE, HOME, PASSWORD, World, opened

Doing = Callable[[], Awaitable[Any]]


async def outcome(doing: Awaitable[Any]) -> str:
    """Return the name of the error that it raises, or "done"."""
    try:
        await doing
    except Exception as error:
        return type(error).__name__
    return "done"


async def at_once(*doing: Doing) -> list[str]:
    """Do all at once; return how each ended, sorted."""
    ended: list[str] = []

    async def one(each: Doing) -> None:
        ended.append(await outcome(each()))

    async with trio.open_nursery() as nursery:
        for each in doing:
            nursery.start_soon(one, each)
    return sorted(ended)


async def test_who_has_one_signs_in_with_its_code_and_nobody_is_asked_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.login()
        begun = await world.factors.begin(world.bob, HOME, None, None)
        await world.login()  # One that nobody has confirmed counts for nothing.
        codes = await world.factors.confirm(world.bob, begun.id, world.code(begun.secret), HOME)
        assert len(set(codes)) == 10
        world.pass_steps()
        for code in (
            None,
            "",
            "12345",
            "000000" if world.code(begun.secret) != "000000" else "111111",
            "x" * 99,
        ):
            with pytest.raises(SecondFactorNeeded):
                await world.login(code=code)
        spaced = world.code(begun.secret)[:3] + " " + world.code(begun.secret)[3:]
        await world.login(code=spaced)
        own = await world.factors.own(world.bob)
        assert ([one.id for one in own.second_factors], own.recovery_codes_left) == ([begun.id], 10)


async def test_the_address_is_one_that_apps_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        begun = await world.factors.begin(world.bob, HOME, None, None)
        parts = urlsplit(begun.uri)
        assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
        issuer, account = unquote(parts.path).lstrip("/").split(":")
        query = {name: value for name, [value] in parse_qs(parts.query).items()}
        assert account == BOB
        assert query == {
            "secret": begun.secret,
            "issuer": issuer,
            "algorithm": "SHA1",
            "digits": "6",
            "period": "30",
        }
        assert len(begun.secret) == 32
        assert begun.qr_code.startswith("<svg xmlns=")


async def test_m2_only_who_has_the_password_right_is_told_that_there_is_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        for code in (None, "123456", world.code(secret)):
            with pytest.raises(Unauthorized) as caught:
                await world.login(code=code, password="wrong horse")
            assert type(caught.value) is Unauthorized
        await world.login(code=world.code(secret))  # The code that came with a wrong password was not spent.


@pytest.mark.parametrize("steps", [-2, -1, 0, 1, 2])
async def test_a_code_is_good_one_step_around_now(tmp_path: Path, steps: int) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        is_good = await outcome(world.login(code=world.code(secret, steps))) == "done"
        assert is_good == (abs(steps) <= 1)


async def test_each_step_is_good_once_and_none_before_it_is_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        await world.login(code=world.code(secret))
        for steps in (0, -1):
            with pytest.raises(SecondFactorNeeded):
                await world.login(code=world.code(secret, steps), ip=ELSEWHERE)
        await world.login(code=world.code(secret, 1))


async def test_the_code_that_confirmed_is_spent(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        begun = await world.factors.begin(world.bob, HOME, None, None)
        code = world.code(begun.secret)
        await world.factors.confirm(world.bob, begun.id, code, HOME)
        with pytest.raises(SecondFactorNeeded):
            await world.login(code=code)


async def test_of_many_sign_ins_with_one_code_at_once_one_succeeds(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, codes = await world.set_up(world.bob)
        for code in (world.code(secret), codes[0]):
            ended = await at_once(*[lambda code=code: world.login(code=code)] * 4)  # type: ignore[misc]
            assert ended == ["SecondFactorNeeded"] * 3 + ["done"]


async def test_codes_of_somebody_else_are_wrong(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, _, _ = await world.set_up(world.bob)
        _, secret, codes = await world.set_up(world.ada)
        for code in (world.code(secret), codes[0]):
            with pytest.raises(SecondFactorNeeded):
                await world.login(code=code)
        assert (await world.factors.own(world.ada)).recovery_codes_left == 10


async def test_a_recovery_code_is_good_once_and_kept_as_a_hash(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, codes = await world.set_up(world.bob)
        await world.login(code=codes[3].upper().replace("-", " "))
        with pytest.raises(SecondFactorNeeded):
            await world.login(code=codes[3])
        assert (await world.factors.own(world.bob)).recovery_codes_left == 9
        kept = json.dumps(
            await world.rows("select * from second_factor_recovery")
            + await world.rows("select id, user_id, secret from second_factor_totp")
        )
        assert not [code for code in codes if code in kept or code.replace("-", "") in kept]
        assert secret not in kept


async def test_guesses_are_counted_at_the_address_and_for_the_account_from_everywhere(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, codes = await world.set_up(world.bob)
        most = world.app.settings.auth.rate_limit.attempts
        wrong = [lambda n=n: world.login(code="12345", ip=f"203.0.113.{n}") for n in range(most + 5)]  # type: ignore[misc]
        assert await at_once(*wrong) == ["SecondFactorNeeded"] * most + ["TooManyRequests"] * 5
        for code in (world.code(secret), codes[0]):
            with pytest.raises(TooManyRequests):
                await world.login(code=code, ip=ELSEWHERE)
        assert (await world.factors.own(world.bob)).recovery_codes_left == 10
        assert len(await world.rows("select 1 from audit_entries where action = 'session.fail'")) == most


async def test_a_right_password_takes_no_wrong_codes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.set_up(world.bob)
        most = world.app.settings.auth.rate_limit.attempts
        for _ in range(most):
            assert await outcome(world.login(code="12345")) == "SecondFactorNeeded"
            assert await outcome(world.login()) in ("SecondFactorNeeded", "TooManyRequests")
        assert await outcome(world.login(code="12345")) == "TooManyRequests"


async def test_a_right_code_takes_back_what_was_mistyped(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        for _ in range(3):
            for _ in range(world.app.settings.auth.rate_limit.attempts - 1):
                assert await outcome(world.login(code="12345")) == "SecondFactorNeeded"
            await world.login(code=world.code(secret))
            world.pass_steps()


async def test_the_first_one_ends_the_sessions_that_began_without_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        earlier = await world.login(ip=ELSEWHERE)
        await world.set_up(world.bob)
        with pytest.raises(Unauthorized):
            await world.caller(earlier)
        with pytest.raises(Unauthorized):
            await world.app.accounts.sessions.refresh(earlier.refresh_token)
        await world.app.accounts.ask_again(world.bob)


async def test_a_session_that_was_left_open_sets_none_up_and_takes_none_away(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.make_older()
        for password in (None, "wrong horse"):
            with pytest.raises(Forbidden) as refused:
                await world.factors.begin(world.bob, HOME, password, None)
            assert not isinstance(refused.value, CodeNeeded)
        begun = await world.factors.begin(world.bob, HOME, PASSWORD, None)
        await world.factors.confirm(world.bob, begun.id, world.code(begun.secret), HOME)
        world.pass_steps()
        for code in (None, "123456"):
            with pytest.raises(CodeNeeded):  # The password alone is not enough for a second one.
                await world.factors.begin(world.bob, HOME, PASSWORD, code)
            with pytest.raises(CodeNeeded) as wanted:
                await world.factors.remove(world.bob, begun.id, HOME, code)
            assert of_problem(wanted.value).status == 403
            assert (b"www-authenticate", b'SecondFactor methods="totp"') in of_problem(wanted.value).headers
        with pytest.raises(SecondFactorNeeded):
            await world.login()
        await world.factors.remove(world.bob, begun.id, HOME, world.code(begun.secret))
        await world.login()
        assert await world.rows("select 1 from second_factor_recovery") == []


async def test_one_that_is_confirmed_meanwhile_is_not_taken_away_without_a_code(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        begun, ended = await world.factors.begin(world.bob, HOME, None, None), dict[str, str]()
        await world.make_older()

        async def do(name: str, doing: Awaitable[Any]) -> None:
            ended[name] = await outcome(doing)

        async with trio.open_nursery() as nursery, world.app.storage.write():
            code = world.code(begun.secret)
            nursery.start_soon(do, "confirm", world.factors.confirm(world.bob, begun.id, code, HOME))
            await trio.testing.wait_all_tasks_blocked(0.05)
            nursery.start_soon(do, "remove", world.factors.remove(world.bob, begun.id, HOME, None))
            await trio.testing.wait_all_tasks_blocked(0.05)
        assert ended == {"confirm": "done", "remove": "Conflict"}
        assert [one.id for one in (await world.factors.own(world.bob)).second_factors] == [begun.id]


async def test_passwords_that_are_asked_again_are_counted(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.make_older()
        for _ in range(world.app.settings.auth.rate_limit.attempts):
            with pytest.raises(Forbidden):
                await world.factors.begin(world.bob, HOME, "wrong horse", None)
        with pytest.raises(TooManyRequests):
            await world.factors.begin(world.bob, HOME, PASSWORD, None)


async def test_x13_a_repeated_key_makes_no_other_secret(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        begun = await world.factors.begin(world.bob, HOME, None, None, "a key")
        with pytest.raises(Conflict):
            await world.factors.begin(world.bob, HOME, None, None, "a key")
        await world.factors.begin(world.ada, HOME, None, None, "a key")
        with pytest.raises(BadRequest):
            await world.factors.begin(world.bob, HOME, None, None, "a" * 256)
        await world.factors.confirm(world.bob, begun.id, world.code(begun.secret), HOME)
        kept = await world.rows("select * from keyed_requests")
        assert begun.secret not in str(kept)


async def test_nobody_confirms_or_removes_what_is_not_theirs(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        waiting = await world.factors.begin(world.ada, HOME, None, None)
        with pytest.raises(NotFound) as theirs:
            await world.factors.confirm(world.bob, waiting.id, world.code(waiting.secret), HOME)
        with pytest.raises(NotFound) as nobodys:
            await world.factors.confirm(world.bob, "0" * 32, "123456", HOME)
        assert theirs.value.sentence == nobodys.value.sentence
        with pytest.raises(NotFound):
            await world.factors.remove(world.bob, waiting.id, HOME, None)
        await world.factors.confirm(world.ada, waiting.id, world.code(waiting.secret), HOME)


async def test_confirming_is_for_a_first_code_within_the_hour_and_guesses_count(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        begun = await world.factors.begin(world.bob, HOME, None, None)
        for _ in range(world.app.settings.auth.rate_limit.attempts):
            with pytest.raises(BadRequest):
                await world.factors.confirm(world.bob, begun.id, "12345", HOME)
        with pytest.raises(TooManyRequests):
            await world.factors.confirm(world.bob, begun.id, world.code(begun.secret), HOME)
        async with world.app.storage.write() as tx:
            await tx.fetch("delete from attempts")
        await world.factors.confirm(world.bob, begun.id, world.code(begun.secret), HOME)
        with pytest.raises(Conflict):
            await world.factors.confirm(world.bob, begun.id, world.code(begun.secret, 1), HOME)
        late = await world.factors.begin(world.bob, HOME, None, None)
        async with world.app.storage.write() as tx:
            await tx.fetch("update second_factor_totp set created_at = created_at - $1", PENDING_MS)
        with pytest.raises(NotFound):
            await world.factors.confirm(world.bob, late.id, world.code(late.secret), HOME)


async def test_l1_one_that_waits_is_gone_when_its_user_is_deactivated_and_one_that_counts_stays(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        await world.set_up(world.bob)
        waiting = await world.factors.begin(world.bob, HOME, None, None)
        for change in ("deactivate", "activate"):
            await getattr(world.app.accounts.users, change)(world.ada, world.bob.user.id)
        with pytest.raises(NotFound):
            await world.factors.confirm(world.bob, waiting.id, world.code(waiting.secret), HOME)
        assert await world.rows("select count(*) from second_factor_totp") == [(1,)]


async def test_several_phones_are_several_factors_and_one_code_is_of_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        [first, second] = [await world.set_up(world.bob) for _ in range(2)]
        await world.login(code=world.code(first[1]))
        await world.login(code=world.code(second[1]))
        with pytest.raises(SecondFactorNeeded):  # The second confirmation has made other recovery codes.
            await world.login(code=first[2][0])
        bob = await world.caller(await world.login(code=second[2][0]))
        for _ in range(MOST - 2):
            await world.set_up(bob)
        with pytest.raises(BadRequest):
            await world.factors.begin(bob, HOME, None, None)


def demanding(world: World, demanded: str) -> None:
    """Have the server want a second factor, as ``auth.secondFactor`` says."""
    world.app.accounts.second_steps._demanded = demanded


async def test_where_it_is_wanted_nothing_is_done_before_and_the_last_one_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        authenticate, token = world.app.accounts.authenticate, (await world.login()).access_token
        demanding(world, "admins")
        await authenticate(token)
        demanding(world, "all")
        with pytest.raises(Forbidden):
            await authenticate(token)
        bob = await authenticate(token, before_password_change=True)
        first, _, _ = await world.set_up(bob)
        await authenticate(token)
        with pytest.raises(Forbidden):
            await world.factors.remove(bob, first, HOME, None)
        second, _, _ = await world.set_up(bob)
        removing = [lambda id_=id_: world.factors.remove(bob, id_, HOME, None) for id_ in (first, second)]  # type: ignore[misc]
        assert await at_once(*removing) == ["Forbidden", "done"]
        assert len((await world.factors.own(bob)).second_factors) == 1


async def test_who_became_an_admin_meanwhile_keeps_the_one_that_admins_must_have(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        demanding(world, "admins")
        own, _, _ = await world.set_up(world.bob)
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        with pytest.raises(Forbidden):
            await world.factors.remove(world.bob, own, HOME, None)


async def test_where_admins_must_have_one_who_becomes_an_admin_must(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        demanding(world, "admins")
        _, signed_in = await world.app.accounts.sign_in(ADMIN, HOME, "tests")
        with pytest.raises(Forbidden):
            await world.caller(signed_in)
        token = (await world.login()).access_token
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        with pytest.raises(Forbidden):
            await world.app.accounts.authenticate(token)


async def test_streams_end_of_who_becomes_an_admin_without_the_one_that_admins_must_have(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        demanding(world, "admins")
        users, bob = world.app.accounts.users, world.bob.user.id
        ended = "select payload from events where type = '_STREAMS_ENDED'"
        for role in ("admin", "user"):
            await users.set_role(world.ada, bob, role)
            assert await world.rows(ended) == [(json.dumps({"userId": bob}, separators=(",", ":")),)]
        await world.set_up(world.bob)
        await users.set_role(world.ada, bob, "admin")
        assert len(await world.rows(ended)) == 1


async def test_who_took_it_away_while_no_admin_must_have_one_again_in_the_same_session(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        demanding(world, "admins")
        users, bob = world.app.accounts.users, world.bob.user.id
        token = (await world.login(code=(await world.set_up(world.bob))[2][0])).access_token
        await users.set_role(world.ada, bob, "admin")
        await world.app.accounts.authenticate(token)
        await users.set_role(world.ada, bob, "user")
        async with world.app.storage.write() as tx:
            assert await world.codes.forget_in(tx, bob)
        await world.app.accounts.authenticate(token)
        await users.set_role(world.ada, bob, "admin")
        with pytest.raises(Forbidden):
            await world.app.accounts.authenticate(token)


async def test_a_mailed_reset_needs_the_code_and_stays_good_until_it_comes(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        links = world.app.accounts.links
        async with world.app.storage.write() as tx:
            await links.issue_in(tx, "reset", BOB)
        [(id_,)] = await world.rows("select id from links where purpose = 'reset'")
        token = parse_qs(urlsplit(links.url(id_, "reset", BOB)).query)["token"][0]

        def set_up(code: str | None) -> Awaitable[Any]:
            return world.passwords.set_up(BOB, token, "another password", HOME, "tests", code)

        for code in (None, "12345"):
            assert await outcome(set_up(code)) == "SecondFactorNeeded"
        await world.login(code=world.code(secret))  # The password is what it was.
        assert await outcome(set_up(world.code(secret, 1))) == "done"
        assert await outcome(world.login()) == "Unauthorized"


async def link_to_who_registered(world: World, purpose: Purpose) -> str:
    """Have Bob be one who registered without a proof; return the token of a link to him."""
    links = world.app.accounts.links
    async with world.app.storage.write() as tx:
        await tx.fetch("update users set email_proved_at = null where email = $1", BOB)
        await links.issue_in(tx, purpose, BOB)
    [(id_,)] = await world.rows("select id from links where purpose = $1", purpose)
    return parse_qs(urlsplit(links.url(id_, purpose, BOB)).query)["token"][0]


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
        links, accounts = world.app.accounts.links, world.app.accounts
        async with world.app.storage.write() as tx:
            await links.issue_in(tx, "magic", BOB)
        [(id_,)] = await world.rows("select id from links")
        token = parse_qs(urlsplit(links.url(id_, "magic", BOB)).query)["token"][0]
        magic = MagicLinks(accounts)
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
        ticket = await ticket_of(world)

        def end(ticket: str, code: str) -> Awaitable[Any]:
            return finish(world.app, visitor, SecondProof(ticket, code))

        assert await outcome(end(ticket, "12345")) == "SecondFactorNeeded"
        for bad in ("", "a.b.c.d", ticket[:-1], ticket + "x", "\ud800", ".".join(["é"] * 4)):
            assert await outcome(end(bad, world.code(secret))) == "BadRequest"
        signed_in = await end(ticket, world.code(secret))
        assert (await world.caller(signed_in)).user.id == world.bob.user.id
        world.pass_steps()
        assert await outcome(end(ticket, world.code(secret))) == "BadRequest", "it is good once"
        ticket = await ticket_of(world)
        steps._clock = lambda: now_ms() + 600_000
        assert await outcome(end(ticket, world.code(secret))) == "BadRequest"


async def ticket_of(world: World) -> str:
    """Show Bob's first proof, and return what waits for the second."""
    async with world.app.storage.write() as tx:
        return await world.app.accounts.second_steps.ticket_in(
            tx, world.bob.user.id, is_proved=True, way="oauth"
        )


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
        ticket = await ticket_of(world)
        await end(world)
        for code in (world.code(secret), "000000"):
            proof = finish(world.app, Visitor(HOME, "tests"), SecondProof(ticket, code))
            assert await outcome(proof) == "BadRequest"


async def test_with_another_signing_secret_codes_of_apps_are_wrong_and_recovery_codes_right(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        _, secret, codes = await world.set_up(world.bob)
        other: Any = world.factors._sealer.__class__(b"\1" * 32)
        world.codes._sealer = other
        with pytest.raises(SecondFactorNeeded):
            await world.login(code=world.code(secret))
        await world.login(code=codes[0])


async def test_a_sealed_secret_is_of_no_use_in_the_row_of_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, _, _ = await world.set_up(world.bob)
        _, secret, _ = await world.set_up(world.ada)
        async with world.app.storage.write() as tx:
            await tx.fetch(
                """update second_factor_totp set secret = (select secret from second_factor_totp
                   where user_id = $1) where user_id = $2""",
                world.ada.user.id,
                world.bob.user.id,
            )
        with pytest.raises(SecondFactorNeeded):
            await world.login(code=world.code(secret))


async def test_an_operator_takes_it_away_and_nothing_is_left_of_who_is_removed(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.set_up(world.bob)
        async with world.app.storage.write() as tx:
            assert await world.codes.forget_in(tx, world.bob.user.id)
            assert not await world.codes.forget_in(tx, world.bob.user.id)
        await world.login()
        await world.set_up(world.bob)
        await world.factors.begin(world.bob, HOME, None, None, "a key")
        async with world.app.storage.write() as tx:
            await world.app.accounts.users.remove_in(tx, world.bob.user)
        for table in ("second_factor_totp", "second_factor_recovery", "keyed_requests"):
            assert await world.rows(f"select 1 from {table}") == []


async def test_what_is_set_up_and_taken_away_is_in_the_audit_log_without_a_secret(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        id_, secret, codes = await world.set_up(world.bob)
        await world.factors.remove(world.bob, id_, HOME, None)
        entries = await world.rows(
            """select action, target_id, details from audit_entries
               where action like 'second-factor%' order by id"""
        )
        assert [entry[:2] for entry in entries] == [
            ("second-factor.add", world.bob.user.id),
            ("second-factor.remove", world.bob.user.id),
        ]
        assert not [one for one in (secret, *codes) if one in json.dumps(entries)]


async def test_l4_a_right_password_without_the_right_code_is_in_the_audit_log(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        _, secret, _ = await world.set_up(world.bob)
        for code, ip in ((None, HOME), (None, HOME), (None, ELSEWHERE), ("12345", HOME)):
            assert await outcome(world.login(code=code, ip=ip)) == "SecondFactorNeeded"
        assert await outcome(world.login(password="wrong horse")) == "Unauthorized"
        await world.login(code=world.code(secret))
        entries = await world.rows(
            """select action, actor_id, target_id, ip, details from audit_entries
               where action in ('session.challenge', 'session.fail') order by id"""
        )
        bob = world.bob.user.id
        assert entries == [
            ("session.challenge", None, bob, HOME, '{"way":"password"}'),  # Of two within a minute one.
            ("session.challenge", None, bob, ELSEWHERE, '{"way":"password"}'),
            ("session.fail", None, bob, HOME, '{"way":"password","secondFactor":true}'),
            ("session.fail", None, bob, HOME, '{"way":"password"}'),
        ]


async def test_l4_a_sign_in_elsewhere_that_waits_for_the_code_is_in_the_audit_log(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.set_up(world.bob)
        with asked_by(None, lambda: ELSEWHERE):
            await ticket_of(world)
        assert await world.rows(
            "select target_id, ip, details from audit_entries where action = 'session.challenge'"
        ) == [(world.bob.user.id, ELSEWHERE, '{"way":"oauth"}')]


def test_the_setting_knows_three_words() -> None:
    assert Settings().auth.second_factor == "optional"
    assert replace(Settings().auth, second_factor="all").second_factor == "all"
