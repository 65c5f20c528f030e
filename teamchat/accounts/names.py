"""Names of users: how they are made, and that no two users have the same one (decisions D-21, D-41).

Two names count as the same if they differ only in case, or if people can't tell them apart. Words that
mention many people at once can't be names. Existing names from before these rules stay as they are.
"""

from __future__ import annotations

import secrets
from functools import cache

from teamchat.accounts import skeletons
from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import text

WORDS = {"channel": "channel", "all": "channel", "everyone": "channel", "here": "here"}
"""Words that mention many at once after an ``@``, each with whom: nobody newly takes one as a name (E-3)."""
_NUMBERS_TRIED = 50


def default_name(email: str) -> str:
    """Return the name a user starts with: the part of the email before the ``@`` (decision D-21)."""
    try:
        return text.made_name("userName", email.partition("@")[0], most=text.MAX_USER_NAME)
    except BadRequest:
        return "user"


async def free_name_in(tx: Transaction, wanted: str) -> str:
    """Return `wanted`, or `wanted` with the first number that makes it unique.

    After some numbers a random one is taken: thousands of ``info@`` must not make adding one slow.
    """
    name, number = wanted, 1
    while await is_taken_in(tx, name):
        number = number + 1 if number < _NUMBERS_TRIED else secrets.randbelow(10**9)
        name = f"{wanted[: text.MAX_USER_NAME - len(str(number))]}{number}"
    return name


async def is_taken_in(tx: Transaction, name: str, *, but: str = "") -> bool:
    """Return whether a user other than `but` has this name, or one that looks like it, or it is a word."""
    await _complete_in(tx)
    if text.fold(name) in WORDS or not _looks_of_words().isdisjoint(skeletons.skeletons(name)):
        return True
    if await tx.fetch("select 1 from users where user_name_key = $1 and id <> $2", text.fold(name), but):
        return True
    for skeleton in skeletons.skeletons(name):
        if await tx.fetch(
            "select 1 from name_skeletons where skeleton = $1 and user_id <> $2 limit 1", skeleton, but
        ):
            return True
    return False


@cache
def _looks_of_words() -> frozenset[str]:
    return frozenset(skeleton for word in WORDS for skeleton in skeletons.skeletons(word))


async def note_in(tx: Transaction, user_id: str, name: str) -> None:
    """Keep by what a user's name is compared."""
    await forget_in(tx, user_id)
    for skeleton in skeletons.skeletons(name):
        await tx.fetch("insert into name_skeletons (user_id, skeleton) values ($1, $2)", user_id, skeleton)
    await _mark_in(tx, user_id)


async def forget_in(tx: Transaction, user_id: str) -> None:
    """Let others have the name of a user who is gone."""
    await tx.fetch("delete from name_skeletons where user_id = $1", user_id)


async def _complete_in(tx: Transaction) -> None:
    """Note the names that were given before this was kept, or when another table was used."""
    rows = await tx.fetch(
        "select id, user_name, user_name_key from users where skeletons_version <> $1", skeletons.VERSION
    )
    for user_id, name, key in rows:
        if key is None:
            await _mark_in(tx, user_id)
        else:
            await note_in(tx, user_id, name)


async def _mark_in(tx: Transaction, user_id: str) -> None:
    await tx.fetch("update users set skeletons_version = $2 where id = $1", user_id, skeletons.VERSION)
