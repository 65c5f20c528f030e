"""Recovery codes, for who has lost the phone: ten of 80 random bits, each good once, kept as hashes."""

from __future__ import annotations

import re
import secrets

from teamchat import Transaction
from teamchat.accounts import keys

COUNT = 10
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_LENGTH = 16
_GROUP = 4
_CODE = re.compile(rf"[{_LETTERS}]{{{_LENGTH}}}")


def new_codes() -> list[str]:
    """Return ten codes as they are shown, in groups of four letters."""
    return [_shown("".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))) for _ in range(COUNT)]


async def renew_in(tx: Transaction, user_id: str) -> list[str]:
    """Make codes in place of those that a user had, and return them; nobody can read them again."""
    await forget_in(tx, user_id)
    made = new_codes()
    for code in made:
        await tx.fetch(
            "insert into second_factor_recovery (user_id, code_hash) values ($1, $2)",
            user_id,
            _hash(user_id, code.replace("-", "")),
        )
    return made


async def spend_in(tx: Transaction, user_id: str, typed: str) -> bool:
    """Spend a code that was typed, without blanks and dashes; return whether it was one."""
    code = typed.lower()
    if not _CODE.fullmatch(code):
        return False
    # Found by its hash: how long that takes says nothing about the code.
    spent = await tx.fetch(
        "delete from second_factor_recovery where user_id = $1 and code_hash = $2 returning user_id",
        user_id,
        _hash(user_id, code),
    )
    return bool(spent)


async def left_in(tx: Transaction, user_id: str) -> int:
    """Return how many codes a user has left."""
    [(count,)] = await tx.fetch("select count(*) from second_factor_recovery where user_id = $1", user_id)
    return int(count)


async def forget_in(tx: Transaction, user_id: str) -> None:
    """Take all codes of a user away."""
    await tx.fetch("delete from second_factor_recovery where user_id = $1", user_id)


def _shown(code: str) -> str:
    return "-".join(code[at : at + _GROUP] for at in range(0, _LENGTH, _GROUP))


def _hash(user_id: str, code: str) -> str:
    return keys.digest(f"{user_id}\n{code}")
