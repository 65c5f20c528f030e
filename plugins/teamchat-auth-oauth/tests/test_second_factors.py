"""A sign-in at a provider of who has a second factor: a ticket in place of tokens (extension M-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from teamchat import BadRequest, Transaction
from teamchat.accounts import Attempt, Passed
from teamchat.errors import SecondFactorNeeded

from .conftest import ADMIN, World

TRIED = Attempt(ADMIN, "192.0.2.7", "tests")


class Step:
    """Everybody has a second factor, and one code is right, as often as it is tried."""

    methods: Sequence[str] = ("totp",)

    async def is_set_in(self, tx: Transaction, user_id: str) -> bool:
        return True

    async def check_in(self, tx: Transaction, user_id: str, code: str) -> bool:
        return code == "123456"

    async def forget_in(self, tx: Transaction, user_id: str) -> bool:
        return False


@pytest.fixture
async def steps(world: World) -> Any:
    """The second steps of a world whose users all have one; who signs in has proved their address before."""
    await world.sign_in()
    taking_part: Any = world.app.accounts.sessions._capabilities
    taking_part.second_step = Step()
    return world.app.accounts.second_steps


async def test_the_application_is_told_a_ticket_and_no_session_begins(world: World, steps: Any) -> None:
    told = await world.sign_in()
    assert set(told) == {"second_factor"}
    assert await world.count("sessions") == 1  # That of the first sign-in, without a second factor.
    assert await world.count("identities") == 1
    waiting = await steps.redeem(told["second_factor"])
    assert waiting.is_proved
    assert (waiting.user.id,) in await world.fetch("select user_id from identities")


async def test_the_ticket_begins_no_session_without_the_code(world: World, steps: Any) -> None:
    waiting = await steps.redeem((await world.sign_in())["second_factor"])
    sign_in_in = world.app.accounts.proofs.sign_in_in
    async with world.app.storage.write() as tx:
        with pytest.raises(SecondFactorNeeded):
            await sign_in_in(tx, waiting.user.id, "192.0.2.7", "tests")
        with pytest.raises(SecondFactorNeeded):
            await sign_in_in(tx, waiting.user.id, "192.0.2.7", "tests", passed=Passed("0" * 32))
    passed = await steps.verify(TRIED, waiting.user.id, "123456")
    async with world.app.storage.write() as tx:
        await sign_in_in(tx, waiting.user.id, "192.0.2.7", "tests", passed=passed)
    assert await world.count("sessions") == 2


async def test_a_ticket_is_good_for_ten_minutes_and_unchanged(world: World, steps: Any) -> None:
    ticket = (await world.sign_in())["second_factor"]
    with pytest.raises(BadRequest):
        await steps.redeem(ticket[:-2] + ("AA" if not ticket.endswith("AA") else "BB"))
    world.clock.now += 600_000
    with pytest.raises(BadRequest):
        await steps.redeem(ticket)


async def test_d40_the_first_proof_ends_sessions_and_password_before_the_code_comes(world: World) -> None:
    await world.sign_in()
    taking_part: Any = world.app.accounts.sessions._capabilities
    taking_part.second_step = Step()
    async with world.app.storage.write() as tx:
        await tx.fetch("update users set email_proved_at = null, password_hash = 'a hash'")
    assert set(await world.sign_in()) == {"second_factor"}
    assert await world.count("sessions") == 0
    kept = "select 1 from users where email_proved_at is not null and password_hash = 'a hash'"
    assert await world.fetch(kept) == []
