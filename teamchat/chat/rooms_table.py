"""The rows of rooms and of their members. Functions here check no permissions and append no events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import text

KINDS = ("public", "private", "group", "notes", "direct")
_MEMBERSHIPS = """select count(*) from memberships m
where (select kind from rooms r where r.id = m.room_id) <> 'direct'"""


class RoomCounts(NamedTuple):
    """How many rooms of each kind there are (`by_kind`), and rows that say who is in one.

    The kinds are ``public`` and ``private`` channels, ``group``, ``notes``, ``direct``.  Who is in a channel
    because everybody is, or in a direct conversation, is not counted.
    """

    by_kind: Mapping[str, int]
    memberships: int


def pair_key(one: str, another: str) -> str:
    """Return by what the direct conversation of two users is found, whoever of them asks."""
    return " ".join(sorted((one, another)))


async def insert_direct(tx: Transaction, room_id: str, members: tuple[str, str], now: int) -> None:
    """Make the direct conversation of two users, who have none yet. `now` is in epoch milliseconds."""
    await tx.fetch(
        "insert into rooms (id, kind, pair_key, is_private, created_at) values ($1, 'direct', $2, 1, $3)",
        room_id,
        pair_key(*members),
        now,
    )
    await tx.fetch(
        "insert into memberships (room_id, user_id, joined_at) values ($1, $2, $4), ($1, $3, $4)",
        room_id,
        *members,
        now,
    )


async def check_name_is_free(tx: Transaction, name: str, *, but: str = "") -> None:
    """Raise `BadRequest` if a public channel other than `but` has a name; private ones have no `name_key`.

    So a refused name gives no hidden channel away (extension rule X-3).
    """
    if await tx.fetch("select 1 from rooms where name_key = $1 and id <> $2", text.fold(name), but):
        raise BadRequest("A channel with this name exists.")


async def claim_name(tx: Transaction, room_id: str, name: str, *, is_private: bool) -> None:
    """Have a channel's name clash with others if it is public now, and with none if it is private.

    Raises `BadRequest` if another public channel has it.
    """
    if not is_private:
        await check_name_is_free(tx, name, but=room_id)
    key = None if is_private else text.fold(name)
    await tx.fetch("update rooms set name_key = $2 where id = $1", room_id, key)


async def counts(tx: Transaction) -> RoomCounts:
    """Count rooms and memberships, for who watches the server: no names, no ids."""
    rooms = await tx.fetch(
        "select kind, is_private, count(*) from rooms where kind <> 'gone' group by kind, is_private"
    )
    [(memberships,)] = await tx.fetch(_MEMBERSHIPS)
    found = dict.fromkeys(KINDS, 0)
    for kind, is_private, count in rooms:
        found[("private" if is_private else "public") if kind == "channel" else kind] += count
    return RoomCounts(found, memberships)
