"""Reminders that capabilities have, and that the feed of what concerns one tells (extension H-7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from teamchat.interfaces import Transaction


class Reminder(NamedTuple):
    """Whom to remind, and of which message."""

    user_id: str
    message_id: str


class Reminders(Protocol):
    """The reminders of a capability. Times are epoch milliseconds."""

    async def are_due(self, tx: Transaction, now: int) -> bool:
        """Return whether there are any by a time; it only reads."""

    async def take(self, tx: Transaction, now: int) -> Sequence[Reminder]:
        """Return some that are due, and note in the transaction that they were given: each comes once."""
