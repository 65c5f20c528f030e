"""What users have because of bots: `isBot` (L-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType

from teamchat import Transaction
from teamchat.storage.statements import chunks


class BotFields(Struct, frozen=True, rename="camel"):
    """Whether a user is a bot: true, or not there."""

    is_bot: bool | UnsetType = UNSET


_IS_ONE = BotFields(is_bot=True)


async def read_fields(tx: Transaction, user_ids: Sequence[str] | None) -> Mapping[str, BotFields]:
    """Return the fields of those users who are bots; of all without ids."""
    if user_ids is None:
        rows = await tx.fetch("select id from users where is_bot = 1")
    else:
        rows = []
        for marks, piece in chunks(user_ids):
            rows += await tx.fetch(f"select id from users where is_bot = 1 and id in ({marks})", *piece)  # noqa: S608
    return {user_id: _IS_ONE for (user_id,) in rows}
