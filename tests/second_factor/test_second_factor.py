"""M-1, M-2: signing in with a password and a code, and what is tried against codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from teamchat import TooManyRequests, Unauthorized
from teamchat.errors import SecondFactorNeeded
from tests.second_factor.world import ELSEWHERE, HOME, at_once, opened, outcome


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
