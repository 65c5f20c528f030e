"""Who may mention a whole channel (``chat.wideMentions``, ``chat.wideLimit``; extension E-5)."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.capabilities import Written
from teamchat.chat.channel_rows import member_count
from teamchat.chat.permissions import MANAGER
from teamchat.chat.webhooks import may_mention_all
from teamchat.interfaces import Transaction
from teamchat.model import Caller


class WideMentions:
    """Who may mention everybody: `by` is ``everyone``, ``managers`` or ``nobody``.

    Those who manage the channel, and admins, may in one of any size, all others in one of at most `limit`
    members.
    """

    def __init__(self, by: str, limit: int) -> None:
        self._by = by
        self._limit = limit

    async def may(self, tx: Transaction, written: Written) -> bool:
        """Return whether the author of a message may."""
        if self._by == "nobody":
            return False
        if written.caller is None:
            return await may_mention_all(tx, written.message.author.id)
        if written.caller.user.is_admin or written.room.role == MANAGER:
            return True
        return self._by == "everyone" and await member_count(tx, written.room.id) <= self._limit

    async def rights(self, tx: Transaction, caller: Caller) -> Sequence[str]:  # noqa: ARG002
        """Return ``mention-channel`` for who may also where they manage nothing, for ``GET /me``."""
        may_write = caller.scopes is None or "write" in caller.scopes
        may = self._by == "everyone" or (self._by == "managers" and caller.user.is_admin)
        return ["mention-channel"] if may and may_write else []
