"""What is kept of presence: what users have chosen, and when they were seen last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from teamchat import Transaction
from teamchat.storage.statements import chunks
from teamchat_presence.statuses import NO_CHOICE, Choice, ChosenStatus

_COLUMNS = """u.id, coalesce(p.status, 'auto'), coalesce(s.shares_presence, 1), coalesce(s.shares_typing, 1),
s.paused_until, p.seen_at, case when u.deactivated_at is null then 0 else 1 end
from users u left join presence p on p.user_id = u.id
left join notification_levels_settings s on s.user_id = u.id"""
_OF = f"select {_COLUMNS} where u.removed_at is null and u.id in ({{}})"
_CHOOSERS = f"""select {_COLUMNS} where u.removed_at is null and u.id in (
select user_id from presence where status <> 'auto' union all
select user_id from notification_levels_settings where shares_presence = 0 or paused_until > $1)"""  # noqa: S608
_CHOOSE = """insert into presence (user_id, status) values ($1, $2)
on conflict (user_id) do update set status = excluded.status"""
_SEE = """insert into presence (user_id, status, seen_at) select id, 'auto', $2 from users
where id = $1 and removed_at is null
on conflict (user_id) do update set seen_at = excluded.seen_at
where presence.seen_at is null or presence.seen_at < excluded.seen_at"""


class Kept(NamedTuple):
    """What is kept of a user. `seen_at` is in epoch milliseconds."""

    choice: Choice
    seen_at: int | None
    is_deactivated: bool


def _kept(row: Sequence[Any]) -> Kept:
    _, status, shares_presence, shares_typing, paused_until, seen_at, is_deactivated = row
    choice = NO_CHOICE  # one for all who have chosen nothing
    if status != "auto" or not (shares_presence and shares_typing) or paused_until is not None:
        choice = Choice(status, bool(shares_presence), bool(shares_typing), paused_until)
    return Kept(choice, seen_at, bool(is_deactivated))


async def kept_of(tx: Transaction, user_ids: Sequence[str]) -> dict[str, Kept]:
    """Return what is kept of those of these users that there are."""
    found: dict[str, Kept] = {}
    for marks, piece in chunks(user_ids):
        found |= {row[0]: _kept(row) for row in await tx.fetch(_OF.format(marks), *piece)}
    return found


async def choosers(tx: Transaction, now_ms: int) -> dict[str, Choice]:
    """Return what those have chosen by which others are told something else of them."""
    return {row[0]: _kept(row).choice for row in await tx.fetch(_CHOOSERS, now_ms)}


async def choose(tx: Transaction, user_id: str, status: ChosenStatus) -> None:
    """Keep the status that a user has chosen."""
    await tx.fetch(_CHOOSE, user_id, status)


async def see(tx: Transaction, seen: Mapping[str, int]) -> None:
    """Keep when users were seen last, in epoch milliseconds; it never goes back."""
    for user_id, at in sorted(seen.items()):
        await tx.fetch(_SEE, user_id, at)
