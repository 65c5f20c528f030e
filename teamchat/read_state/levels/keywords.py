"""Words that count as mentions of the user who set them, from when they were set (extension E-7).

Only that user is told them. Code that looks for them in posts keeps them in memory, and reads them again when
`version` has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import now_ms, text
from teamchat.storage.supposing import likely

MOST = 20
"""How many keywords a user has at most."""
SHORTEST, LONGEST = 2, 64
"""How many characters a keyword has."""


class Keyword(NamedTuple):
    """A keyword: whose, as it is compared (`text.fold`), and since when, in epoch milliseconds."""

    user_id: str
    key: str
    since: int


def checked(words: Sequence[str]) -> list[str]:
    """Return keywords as they are stored, each once. Raises `BadRequest` for too many, or a wrong one."""
    kept: dict[str, str] = {}
    for word in words:
        trimmed = text.name("keywords", word, most=LONGEST)
        if len(trimmed) < SHORTEST:
            raise BadRequest(f"A keyword has {SHORTEST} to {LONGEST} characters.")
        kept.setdefault(text.fold(trimmed), trimmed)
        if len(kept) > MOST:
            raise BadRequest(f"There are more than {MOST} keywords.")
    return list(kept.values())


async def of_user(tx: Transaction, user_id: str) -> list[str]:
    """Return a user's keywords, in the order that they were given in."""
    rows = await tx.fetch(
        "select keyword from notification_levels_keywords where user_id = $1 order by place", user_id
    )
    return [keyword for (keyword,) in rows]


async def store(tx: Transaction, user_id: str, words: Sequence[str]) -> None:
    """Put `words`, which were checked, in the place of a user's keywords; those that stay keep their time."""
    rows = await tx.fetch(
        "select keyword_key, since from notification_levels_keywords where user_id = $1", user_id
    )
    now = now_ms()
    known: dict[str, int] = dict(rows)
    await tx.fetch("delete from notification_levels_keywords where user_id = $1", user_id)
    for place, word in enumerate(words):
        key = text.fold(word)
        await tx.fetch(
            """insert into notification_levels_keywords (user_id, keyword_key, keyword, place, since)
            values ($1, $2, $3, $4, $5)""",
            *(user_id, key, word, place, known.get(key, now)),
        )
    await changed(tx)


async def set_since(tx: Transaction, user_id: str, since: Mapping[str, int]) -> None:
    """Have a user's keywords count from other times, in epoch milliseconds."""
    for word, time in since.items():
        await tx.fetch(
            "update notification_levels_keywords set since = $3 where user_id = $1 and keyword_key = $2",
            *(user_id, text.fold(word), time),
        )


async def changed(tx: Transaction) -> None:
    """Have everybody who keeps keywords in memory read them again."""
    await tx.fetch("update notification_levels_versions set keywords = keywords + 1 where id = 1")


async def version(tx: Transaction) -> int:
    """Return a number that is another one whenever somebody's keywords have changed."""
    [(number,)] = await likely(tx, "select keywords from notification_levels_versions where id = 1")
    return int(number)


async def everybodys(tx: Transaction) -> list[Keyword]:
    """Return the keywords of all users."""
    rows = await tx.fetch("select user_id, keyword_key, since from notification_levels_keywords")
    return [Keyword(*row) for row in rows]
