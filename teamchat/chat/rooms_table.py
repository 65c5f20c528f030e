"""Rows of rooms and of who is in them. Functions here know no permissions and send no events."""

from __future__ import annotations

from teamchat.interfaces import Transaction


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
