"""What happens to chosen levels as people leave and are removed, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.capabilities import Changes
from teamchat.chat.sight import Room
from teamchat.interfaces import Transaction
from teamchat.read_state.levels import keywords
from teamchat.read_state.tables import is_stray
from teamchat.storage.statements import chunks

_OF_STRAYS = f"delete from notification_levels where room_id = $1 and {is_stray('notification_levels')}"  # noqa: S608


class Following(Changes):
    """A level is part of a read state, and ends with it (D-4): who comes back begins with the defaults."""

    async def members_changed(
        self, tx: Transaction, room: Room, _joined: Sequence[str], left: Sequence[str]
    ) -> None:
        """Leaving a place ends what was chosen for it."""
        for marks, piece in chunks(left, after=1):
            await tx.fetch(
                f"delete from notification_levels where room_id = $1 and user_id in ({marks})",  # noqa: S608
                room.id,
                *piece,
            )

    async def room_changed(self, tx: Transaction, room: Room) -> None:
        """Who was a member by default may be one no more."""
        if room.is_default:
            await tx.fetch(_OF_STRAYS, room.id)

    async def privacy_changed(self, tx: Transaction, room: Room) -> None:
        """Who was a member by default is one no more, unless they were named."""
        if room.is_default:
            await tx.fetch(_OF_STRAYS, room.id)

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Nothing is kept of who is no user any more, nor is anybody's list left with them in it."""
        for table in ("notification_levels", "notification_levels_settings"):
            await tx.fetch(f"delete from {table} where user_id = $1", user_id)  # noqa: S608
        await tx.fetch("delete from notification_levels_urgent where user_id = $1 or other_id = $1", user_id)
        if await tx.fetch(
            "delete from notification_levels_keywords where user_id = $1 returning keyword_key", user_id
        ):
            await keywords.changed(tx)
