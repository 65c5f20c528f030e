"""What ways to sign in ask: who has a second factor, and whether a code is theirs (`teamchat.SecondStep`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from teamchat import Transaction
from teamchat_second_factor import recovery, totp
from teamchat_second_factor.sealing import Sealer

_IGNORED = re.compile(r"[\s-]+")
_BY_TIME = re.compile(rf"[0-9]{{{totp.DIGITS}}}")


class Codes:
    """The codes of a server's users. `clock` tells epoch milliseconds."""

    methods: Sequence[str] = ("totp",)

    def __init__(self, sealer: Sealer, clock: Callable[[], int]) -> None:
        self._sealer = sealer
        self._clock = clock

    async def is_set_in(self, tx: Transaction, user_id: str) -> bool:
        """Return whether a user has a second factor that is confirmed."""
        return bool(
            await tx.fetch(
                "select 1 from second_factor_totp where user_id = $1 and confirmed_at is not null limit 1",
                user_id,
            )
        )

    async def check_in(self, tx: Transaction, user_id: str, code: str) -> bool:
        """Return whether a code is good, and spend it: of an app, each step once, or a recovery code."""
        typed = _IGNORED.sub("", code)
        if not _BY_TIME.fullmatch(typed):
            return await self.is_set_in(tx, user_id) and await recovery.spend_in(tx, user_id, typed)
        rows = await tx.fetch(
            """select id, secret, last_step from second_factor_totp
               where user_id = $1 and confirmed_at is not null order by created_at, id""",
            user_id,
        )
        for id_, sealed, last_step in rows:
            if await self.use_in(tx, user_id, id_, sealed, last_step, typed):
                return True
        return False

    async def use_in(
        self, tx: Transaction, user_id: str, id_: str, sealed: str, last_step: int, code: str
    ) -> bool:
        """Return whether a code is one of an app's, and keep its step, so that it is none again."""
        secret, now = self._sealer.open(sealed, f"{user_id}:{id_}"), self._clock()
        step = None if secret is None else totp.step_of(secret, _IGNORED.sub("", code), now, last_step)
        if step is None:
            return False
        await tx.fetch(
            "update second_factor_totp set last_step = $2, last_used_at = $3 where id = $1", id_, step, now
        )
        return True

    async def forget_in(self, tx: Transaction, user_id: str) -> bool:
        """Take everything of a user away; return whether there was a factor that counted."""
        was_set = await self.is_set_in(tx, user_id)
        await tx.fetch("delete from second_factor_totp where user_id = $1", user_id)
        await recovery.forget_in(tx, user_id)
        return was_set
