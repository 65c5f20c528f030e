"""What a user has chosen for a place (extension D-9)."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.read_state.following import tick
from teamchat.read_state.levels.levels import Choice, Chosen

_READ = """select level, is_muted, muted_until, ignores_wide from notification_levels
where user_id = $1 and room_id = $2"""
_STORE = """insert into notification_levels
(user_id, room_id, level, is_muted, muted_until, ignores_wide, changed)
values ($1, $2, $3, $4, $5, $6, $7) on conflict (user_id, room_id) do update set level = excluded.level,
is_muted = excluded.is_muted, muted_until = excluded.muted_until, ignores_wide = excluded.ignores_wide,
changed = excluded.changed"""


class PlaceChange(Struct, frozen=True, rename="camel"):
    """What is to be chosen for a place; what is not named stays.

    A `muted_until` (epoch milliseconds) mutes the place until then, null without an end what is muted; with
    `is_muted` false there is none.
    """

    level: Chosen | UnsetType = UNSET
    is_muted: bool | UnsetType = UNSET
    muted_until: Annotated[int, Meta(ge=0, lt=2**53)] | UnsetType | None = UNSET
    ignore_channel_mentions: bool | UnsetType = UNSET

    def made_to(self, choice: Choice) -> Choice:
        """Return the choice after this change. Raises `BadRequest` for one that says two things."""
        until = self.muted_until
        if self.is_muted is False and isinstance(until, int):
            raise BadRequest("mutedUntil is for a place that is muted.")
        if self.is_muted is False:
            choice = choice._replace(is_muted=False, muted_until=None)
        elif isinstance(until, int):
            choice = choice._replace(is_muted=True, muted_until=until)
        else:
            choice = choice._replace(
                is_muted=choice.is_muted or self.is_muted is True,
                muted_until=None if until is None else choice.muted_until,
            )
        if self.level is not UNSET:
            choice = choice._replace(level=self.level)
        if self.ignore_channel_mentions is not UNSET:
            choice = choice._replace(ignores_wide=self.ignore_channel_mentions)
        return choice.at(now_ms())


async def choice_of(tx: Transaction, user_id: str, room_id: str) -> Choice:
    """Return what a user has chosen for a room."""
    rows = await tx.fetch(_READ, user_id, room_id)
    return Choice.of(rows[0]) if rows else Choice()


async def choose(tx: Transaction, user_id: str, room_id: str, choice: Choice) -> None:
    """Store what a user has chosen for a room."""
    level, is_muted, until, ignores_wide = choice
    await tx.fetch(_STORE, user_id, room_id, level, int(is_muted), until, int(ignores_wide), await tick(tx))
