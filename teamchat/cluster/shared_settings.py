"""Settings that the processes on one storage share, by name; their table is called ``marks``."""

from __future__ import annotations

from teamchat.interfaces import Transaction


async def shared_setting_in(tx: Transaction, name: str) -> str | None:
    """Return a setting, or None if there is none of that name."""
    rows = await tx.fetch("select value from marks where name = $1", name)
    return str(rows[0][0]) if rows else None


async def set_shared_setting_in(tx: Transaction, name: str, value: str) -> None:
    """Set one, in place of what may be there."""
    await tx.fetch(
        "insert into marks (name, value) values ($1, $2) on conflict (name) do update set value = $2",
        name,
        value,
    )


async def remove_shared_setting_in(tx: Transaction, name: str) -> None:
    """Remove one; removing what is not there is no error."""
    await tx.fetch("delete from marks where name = $1", name)
