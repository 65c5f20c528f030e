"""Second steps that each get one thing wrong: cards with codes on them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, ClassVar

from teamchat import Capability, Migration, Parts
from teamchat.application import Application
from teamchat.model import Caller
from teamchat.testing import SecondStepContract

TABLE = """create table cards (user_id text not null references users(id) on delete cascade,
code text not null, primary key (user_id, code)){table_end}"""
OF_USER = "user_id = $1 and code = $2"


class Cards:
    """Nothing is wrong with these; what is below changes one thing of them."""

    methods: Sequence[str] = ("card",)

    async def is_set_in(self, tx: Any, user_id: str) -> bool:
        return bool(await tx.fetch("select 1 from cards where user_id = $1 limit 1", user_id))

    async def check_in(self, tx: Any, user_id: str, code: str) -> bool:
        sql = f"update cards set code = $3 where {OF_USER} returning 1"
        return bool(await tx.fetch(sql, user_id, code, f"spent {secrets.token_hex(8)}"))

    async def forget_in(self, tx: Any, user_id: str) -> bool:
        return bool(await tx.fetch("delete from cards where user_id = $1 returning 1", user_id))


class Right(SecondStepContract):
    """A capability with nothing wrong."""

    found_by: ClassVar[dict[str, str]] = {}
    step: type[Cards] = Cards

    def capability(self) -> Capability:
        return Capability(
            name="cards",
            tables=[Migration(1, (TABLE,))],
            parts=lambda app, options: Parts(second_step=self.step()),
        )

    async def set_up(self, app: Application, caller: Caller) -> str:
        code = secrets.token_hex(8)
        async with app.storage.write() as tx:
            await tx.fetch("insert into cards (user_id, code) values ($1, $2)", caller.user.id, code)
        return code


class TestForgetsWhatWasNotThere(Right):
    """It says that there was one, whether there was or not."""

    found_by: ClassVar[dict[str, str]] = {
        "test_m1_nobody_has_a_second_factor_until_they_set_one_up": "there was one to forget, it says",
    }

    class step(Cards):  # noqa: N801
        async def forget_in(self, tx: Any, user_id: str) -> bool:
            await super().forget_in(tx, user_id)
            return True


class TestGoodTwice(Right):
    """A code stays good."""

    found_by: ClassVar[dict[str, str]] = {
        "test_m1_a_code_is_good_once_and_for_nobody_else": "a code is good twice",
    }

    class step(Cards):  # noqa: N801
        async def check_in(self, tx: Any, user_id: str, code: str) -> bool:
            return bool(await tx.fetch(f"select 1 from cards where {OF_USER}", user_id, code))


class TestGoodForAll(Right):
    """A code is good for whoever has it."""

    found_by: ClassVar[dict[str, str]] = {
        "test_m1_a_code_is_good_once_and_for_nobody_else": "good for somebody else",
    }

    class step(Cards):  # noqa: N801
        async def check_in(self, tx: Any, user_id: str, code: str) -> bool:
            return bool(await tx.fetch("delete from cards where code = $1 returning 1", code))


class TestSpentInMemory(Right):
    """What was spent is remembered beside the transaction, and stays so when that is taken back."""

    found_by: ClassVar[dict[str, str]] = {
        "test_m1_a_code_is_good_once_and_for_nobody_else": "that was taken back",
    }

    class step(Cards):  # noqa: N801
        def __init__(self) -> None:
            self.spent: set[str] = set()

        async def check_in(self, tx: Any, user_id: str, code: str) -> bool:
            if code in self.spent or not await super().check_in(tx, user_id, code):
                return False
            self.spent.add(code)
            return True


class TestForgetsNothing(Right):
    """An operator takes nothing away."""

    found_by: ClassVar[dict[str, str]] = {
        "test_m1_an_operator_takes_all_of_them_away": "after all were forgotten",
    }

    class step(Cards):  # noqa: N801
        async def forget_in(self, tx: Any, user_id: str) -> bool:
            return await self.is_set_in(tx, user_id)
