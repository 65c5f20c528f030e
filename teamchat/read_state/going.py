"""Removing what is kept of a user with their account: at once if it is little, else in parts (D-22)."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.capabilities import TooMuch
from teamchat.interfaces import Transaction

AT_ONCE = 1000
"""How many rows of a table go in the transaction that removes a user; it takes some milliseconds."""
PART = 500
"""How many go in each before that, where there are more."""


def some_of(table: str, key: str, whose: str = "user_id = $1") -> str:
    """Return the statement that removes so many rows of a user's; `key` is the table's."""
    return f"""delete from {table} where ({key}) in
    (select {key} from {table} where {whose} limit {{}}) returning 1"""  # noqa: S608


async def forget_all(tx: Transaction, user_id: str, tables: Sequence[str]) -> None:
    """Remove what is a user's, by statements of `some_of`. Raises `TooMuch` for very much."""
    for some in tables:
        if len(await tx.fetch(some.format(AT_ONCE + 1), user_id)) > AT_ONCE:
            raise TooMuch(f"a table has more than {AT_ONCE} rows of the user's")


async def forget_some(tx: Transaction, user_id: str, tables: Sequence[str]) -> bool:
    """Remove as much as one transaction can, and return whether there may be more."""
    return PART in [len(await tx.fetch(some.format(PART), user_id)) for some in tables]
