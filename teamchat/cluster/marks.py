"""The table ``marks``: what stands in a storage for every process that opens it, by name."""

from __future__ import annotations

from teamchat.interfaces import Transaction


async def mark_in(tx: Transaction, name: str) -> str | None:
    """Return a mark, or None if there is none of that name."""
    rows = await tx.fetch("select value from marks where name = $1", name)
    return str(rows[0][0]) if rows else None


async def set_mark_in(tx: Transaction, name: str, value: str) -> None:
    """Set a mark, in place of one that may be there."""
    await tx.fetch(
        "insert into marks (name, value) values ($1, $2) on conflict (name) do update set value = $2",
        name,
        value,
    )


async def remove_mark_in(tx: Transaction, name: str) -> None:
    """Remove a mark; removing what is not there is no error."""
    await tx.fetch("delete from marks where name = $1", name)
