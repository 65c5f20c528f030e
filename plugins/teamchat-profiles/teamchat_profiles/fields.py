"""What profiles add to users, wherever those are told of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType

from teamchat import Transaction
from teamchat.model import now_ms
from teamchat.storage.statements import chunks

_COLUMNS = """user_id, full_name, title, pronouns, timezone, locale, avatar_version, status_emoji,
status_text, status_until"""


class Status(Struct, frozen=True):
    """What somebody is at; `until` is when that ends, in epoch milliseconds."""

    emoji: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    until: int | UnsetType = UNSET


class ProfileFields(Struct, frozen=True, rename="camel"):
    """The fields of a user; one that is not set is missing. `avatar_version` is another with each picture."""

    full_name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    pronouns: str | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    locale: str | UnsetType = UNSET
    avatar_version: str | UnsetType = UNSET
    status: Status | UnsetType = UNSET


async def read_fields(tx: Transaction, user_ids: Sequence[str] | None) -> Mapping[str, ProfileFields]:
    """Return the fields of those users who have any; of all without ids."""
    if user_ids is None:
        rows = await tx.fetch(f"select {_COLUMNS} from profiles")  # noqa: S608
    else:
        rows = []
        for marks, piece in chunks(user_ids):
            rows += await tx.fetch(f"select {_COLUMNS} from profiles where user_id in ({marks})", *piece)  # noqa: S608
    now = now_ms()
    found = {}
    for user_id, full_name, title, pronouns, timezone, locale, version, emoji, said, until in rows:
        is_over = until is not None and until <= now
        status = Status(emoji or UNSET, said or UNSET, UNSET if until is None else until)
        found[user_id] = ProfileFields(
            full_name=full_name or UNSET,
            title=title or UNSET,
            pronouns=pronouns or UNSET,
            timezone=timezone or UNSET,
            locale=locale or UNSET,
            avatar_version=version or UNSET,
            status=status if (emoji or said) and not is_over else UNSET,
        )
    return found


async def full_names(tx: Transaction) -> Mapping[str, Sequence[str]]:
    """Return the full names of those who have one."""
    rows = await tx.fetch("select user_id, full_name from profiles where full_name <> ''")
    return {user_id: (name,) for user_id, name in rows}
