"""Reminders of capabilities, which appear in users' activity feeds (extension H-7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from teamchat.interfaces import Transaction


class Reminder(NamedTuple):
    """A user, and the message to remind them of."""

    user_id: str
    message_id: str


class Reminders(Protocol):
    """The reminders of a capability. Times are in epoch milliseconds."""

    async def are_due(self, tx: Transaction, now: int) -> bool:
        """Return whether any are due at this time. It only reads."""

    async def take(self, tx: Transaction, now: int) -> Sequence[Reminder]:
        """Return some that are due, and mark them as given in the transaction, so that each comes once."""
