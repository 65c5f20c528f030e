"""The settings that admins can change while the server runs; so far, only its name.

They are rows of ``server_settings``; a setting without a row has its default.
"""

from __future__ import annotations

from teamchat.accounts.audit import note
from teamchat.errors import Forbidden
from teamchat.events import UpdateServerSettings
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, text

DEFAULT_NAME = "teamchat"


class ServerSettings:
    """Reading and changing the server's settings."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def name(self) -> str:
        """Return the server's name."""
        async with self._storage.read() as tx:
            return await server_name(tx)

    async def check_manage(self, caller: Caller) -> None:
        """Raise `Forbidden` unless the caller is an admin."""
        if not caller.user.is_admin:
            raise Forbidden

    async def rename(self, caller: Caller, name: str) -> str:
        """Set the server's name and return it, trimmed. The name it already has sends no event (D-35)."""
        await self.check_manage(caller)
        async with self._storage.write() as tx:
            present = await server_name(tx)
            trimmed = text.name("name", name, present=present)
            if present != trimmed:
                await tx.fetch(
                    "insert into server_settings (name, value) values ('name', $1)"
                    " on conflict (name) do update set value = excluded.value",
                    trimmed,
                )
                await tx.append(UpdateServerSettings(trimmed).to())
                await note(tx, "settings.update", by=caller.user.id, name=trimmed)
        return trimmed


async def server_name(tx: Transaction) -> str:
    """Return the server's name."""
    rows = await tx.fetch("select value from server_settings where name = 'name'")
    return str(rows[0][0]) if rows else DEFAULT_NAME
