"""What every capability must do that asks for second factors, beside what every capability must."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from teamchat.application import Application
from teamchat.capabilities.second_step import SecondStep
from teamchat.model import Caller
from teamchat.model.ids import new_id
from teamchat.testing.capabilities import CapabilityContract, posted


class SecondStepContract(CapabilityContract):
    """Tests of a capability with `Parts.second_step`. Subclass it with a name that begins with ``Test``::

    class TestCards(SecondStepContract):
        def capability(self):
            return CARDS

        async def set_up(self, app, caller):
            return (await Cards(app).register(caller)).next_code()
    """

    @abstractmethod
    async def set_up(self, app: Application, caller: Caller) -> str:
        """Set up a second factor for the caller, and return a code of it that was not used yet."""

    async def test_m1_nobody_has_a_second_factor_until_they_set_one_up(self, tmp_path: Path) -> None:
        async with self._signed_in(tmp_path) as (app, step, caller):
            assert step.methods, "it names no method, such as totp"
            async with app.storage.write() as tx:
                assert not await step.is_set_in(tx, caller.user.id), "somebody has one who never set one up"
                assert not await step.check_in(tx, caller.user.id, "123456"), "a code of nothing is good"
                assert not await step.forget_in(tx, caller.user.id), "there was one to forget, it says"

    async def test_m1_a_code_is_good_once_and_for_nobody_else(self, tmp_path: Path) -> None:
        async with self._signed_in(tmp_path) as (app, step, caller):
            code = await self.set_up(app, caller)
            async with app.storage.write() as tx:
                assert await step.is_set_in(tx, caller.user.id), "who set one up has none"
                assert not await step.check_in(tx, new_id(), code), "a code is good for somebody else"
                assert not await step.check_in(tx, caller.user.id, f"{code}0"), "a wrong code is good"
            with suppress(_TakenBack):
                async with app.storage.write() as tx:
                    assert await step.check_in(tx, caller.user.id, code), "a good code is not good"
                    raise _TakenBack
            for is_good, wrong in (
                (True, "a code is spent by a transaction that was taken back"),
                (False, "a code is good twice"),
            ):
                async with app.storage.write() as tx:
                    assert await step.check_in(tx, caller.user.id, code) == is_good, wrong

    async def test_m1_an_operator_takes_all_of_them_away(self, tmp_path: Path) -> None:
        async with self._signed_in(tmp_path) as (app, step, caller):
            code = await self.set_up(app, caller)
            async with app.storage.write() as tx:
                assert await step.forget_in(tx, caller.user.id), "there was none to forget, it says"
            async with app.storage.write() as tx:
                assert not await step.is_set_in(tx, caller.user.id), "one is set after all were forgotten"
                assert not await step.check_in(tx, caller.user.id, code), "a forgotten one's code is good"

    @asynccontextmanager
    async def _signed_in(self, tmp_path: Path) -> AsyncIterator[tuple[Application, SecondStep, Caller]]:
        async with self.application(tmp_path) as app:
            step = app.capabilities.second_step
            assert step is not None, "the capability has no second_step among its parts"
            caller, _ = await posted(app)
            yield app, step, caller


class _TakenBack(Exception):
    """Ends a transaction of which nothing is to be kept."""
