"""Which messages somebody is to be reminded of (extension H-7)."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Reminder, Transaction

_AT_ONCE = 100
_ARE_DUE = "select 1 from saved where remind_at <= $1 and is_reminded = 0 limit 1"
_DUE = """select user_id, message_id from saved where remind_at <= $1 and is_reminded = 0
order by remind_at, user_id, message_id limit $2"""
_GIVEN = "update saved set is_reminded = 1 where user_id = $1 and message_id = $2"


class Due:
    """The reminders of a server, in the order of their times. A `teamchat.Reminders`."""

    async def are_due(self, tx: Transaction, now: int) -> bool:
        return bool(await tx.fetch(_ARE_DUE, now))

    async def take(self, tx: Transaction, now: int) -> Sequence[Reminder]:
        found = [Reminder(*row) for row in await tx.fetch(_DUE, now, _AT_ONCE)]
        for one in found:
            await tx.fetch(_GIVEN, *one)
        return found
