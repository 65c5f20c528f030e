"""Whom a message notifies, for capabilities that tell them of it elsewhere (extensions D-9, J-3).

The capability `notification-levels` answers it; what is told, how and when is the business of who asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from teamchat.interfaces import Transaction


class Noticed(NamedTuple):
    """A message that somebody may be notified of, as it is now. `created_at` is in epoch milliseconds.

    `room_kind` is ``channel``, ``group``, ``notes`` or ``direct``; the last two have no `room_name`, groups
    have an empty one. `parent_id` is the message that a reply is to.
    """

    id: str
    room_id: str
    room_kind: str
    room_name: str
    parent_id: str | None
    author_id: str
    author_name: str
    content: str
    image_count: int
    created_at: int


class Verdict(NamedTuple):
    """Whether a message notifies a user now: as which `kind`, or for which `reason` not.

    Kinds are ``mention``, ``direct``, ``reply`` and ``message``; of a message that does not notify it is
    empty. Reasons are ``own``, ``gone`` (the user), ``sight``, ``member``, ``muted``, ``level``, ``read``.
    `is_here` says that it is for those alone who are online at the moment (``@here``), `is_named` that it
    mentions the user themselves, and not by a keyword or with everybody.
    """

    kind: str = ""
    reason: str = ""
    is_here: bool = False
    is_named: bool = False


class QuietTimes(NamedTuple):
    """When a user wants no notices, and how much one shows (J-4, J-5).

    `hours` are the quiet hours as they were chosen: (time zone, days from 1 to 7, from, to), or None.
    `paused_until` is in epoch milliseconds. `lets_through` says that the author who was asked about is among
    those whose direct messages the user always hears of, and where they name the user. `preview` is ``full``,
    ``sender`` or ``none``.
    """

    hours: tuple[str, Sequence[int], str, str] | None = None
    paused_until: int | None = None
    lets_through: bool = False
    preview: str = "full"


class Notices(Protocol):
    """Tells whom messages notify, as it is in the transaction that asks."""

    async def noticed(self, tx: Transaction, message_id: str) -> Noticed | None:
        """Return a message, or None if it is not there (any more)."""

    async def candidates(self, tx: Transaction, message: Noticed) -> Sequence[str]:
        """Return everybody whom a message may notify, and few others: `judged` decides.

        The work grows with those it may notify, not with who is in the room.
        """

    async def judged(
        self, tx: Transaction, message: Noticed, user_ids: Sequence[str], reached: str
    ) -> Mapping[str, Verdict]:
        """Return the verdict for each of these users.

        `reached` is the id of the message, or that of an item of the feed that came of it later: a mention
        that was added by an edit, or a reminder. Such an item is read where the feed is read.
        """

    async def sees(self, tx: Transaction, message: Noticed, user_id: str, reached: str) -> Verdict:
        """Return the verdict on an item that is for this user in any case, such as a reminder.

        Sight and reading alone are asked for; its kind is ``reminder``.
        """

    async def quiet_times(
        self, tx: Transaction, user_ids: Sequence[str], author_id: str
    ) -> Mapping[str, QuietTimes]:
        """Return what these users have chosen; who has chosen nothing is left out."""

    async def badges(self, tx: Transaction, user_ids: Sequence[str]) -> Mapping[str, int]:
        """Return for each of these users the number that a client shows of all that is unread (D-9)."""
