"""Setting a second factor up, confirming it, and taking it away (M-3)."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import trio
import trio.testing
from teamchat_second_factor.factors import MOST, PENDING_MS

from teamchat import BadRequest, CodeNeeded, Conflict, Forbidden, NotFound, TooManyRequests, Unauthorized
from teamchat.errors import SecondFactorNeeded
from teamchat.web import of_problem
from tests.second_factor.world import BOB, ELSEWHERE, HOME, PASSWORD, opened, outcome


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
