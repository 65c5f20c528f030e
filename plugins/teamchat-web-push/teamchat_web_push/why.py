"""Why a push came, or did not: what was decided of a message for each device of a user (J)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from teamchat import Notices
from teamchat.model import Caller, now_ms

if TYPE_CHECKING:
    from teamchat import Teamchat

_DECIDED = """select q.subscription_id, coalesce(q.decided_at, q.due_at), coalesce(q.outcome, 'waiting'),
q.reason from web_push_queue q join web_push_subscriptions s on s.id = q.subscription_id
where q.message_id = $1 and s.user_id = $2 order by q.reached, q.subscription_id"""
_DEVICES = "select id from web_push_subscriptions where user_id = $1 order by created_at, id"


class Decision(Struct, frozen=True, rename="camel"):
    """What was decided for a device. `at` is in epoch milliseconds; of what is ``waiting``, when it is due.

    An `outcome` is ``sent``, ``skipped``, ``waiting``, ``refused``, ``expired``, or ``none`` where there was
    nothing to decide: `reason` then says what would be decided now.
    """

    subscription_id: str
    at: int
    outcome: str
    reason: str


async def decisions(app: Teamchat, notices: Notices, caller: Caller, message_id: str) -> Sequence[Decision]:
    """Return them. Raises `NotFound` for a message that the caller does not see."""
    async with app.storage.read() as tx:
        seen = await app.message(tx, caller, message_id)
        found = [Decision(*row) for row in await tx.fetch(_DECIDED, seen.id, caller.user.id)]
        told = {one.subscription_id for one in found}
        devices = [one for (one,) in await tx.fetch(_DEVICES, caller.user.id) if one not in told]
        if devices:
            reason = "own"
            message = await notices.noticed(tx, seen.id)
            if message is not None and message.author_id != caller.user.id:
                verdict = (await notices.judged(tx, message, [caller.user.id], seen.id))[caller.user.id]
                reason = verdict.reason or "later"
            found += [Decision(device, now_ms(), "none", reason) for device in devices]
    return found
