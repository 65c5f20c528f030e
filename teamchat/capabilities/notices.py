"""Whom a message notifies, for capabilities that notify people elsewhere (extensions D-9, J-3).

The capability `notification-levels` answers this.  What is sent, how and when, is up to whoever asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from teamchat.interfaces import Transaction


class Noticed(NamedTuple):
    """A message that somebody may be notified of, as it is now. `created_at` is in epoch milliseconds.

    `room_kind` is ``channel``, ``group``, ``notes`` or ``direct``; the last two have no `room_name`, and that
    of a group is empty.  `parent_id` is the message that a reply is to.
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
    """Whether a message notifies a user now: as which `kind`, or for which `reason` it does not.

    Kinds are ``mention``, ``direct``, ``reply``, ``message`` and ``reminder``; if the message does not
    notify, the kind is empty.  Reasons are ``own``, ``gone`` (the user is), ``sight``, ``member``, ``muted``,
    ``level`` and ``read``.  `is_here` says that the message is only for those who are online at the moment
    (``@here``), `is_named` that it mentions the user themselves, rather than by a keyword or along with
    everybody.
    """

    kind: str = ""
    reason: str = ""
    is_here: bool = False
    is_named: bool = False


class QuietTimes(NamedTuple):
    """When a user wants no notifications, and how much these show (J-4, J-5).

    `hours` are the quiet hours that the user has chosen: (time zone, days from 1 to 7, from, to), or None.
    `paused_until` is in epoch milliseconds.  `lets_through` says that the author in question is among those
    of whose direct messages and mentions the user is always notified.  `preview` is ``full``, ``sender`` or
    ``none``.
    """

    hours: tuple[str, Sequence[int], str, str] | None = None
    paused_until: int | None = None
    lets_through: bool = False
    preview: str = "full"


class Notices(Protocol):
    """Says whom messages notify, as of the transaction that asks."""

    async def noticed(self, tx: Transaction, message_id: str) -> Noticed | None:
        """Return a message, or None if it does not exist (any more)."""

    async def candidates(self, tx: Transaction, message: Noticed) -> Sequence[str]:
        """Return everybody whom a message may notify, and few others; `judged` decides.

        The work grows with the number of people it may notify, not with the size of the room.
        """

    async def judged(
        self, tx: Transaction, message: Noticed, user_ids: Sequence[str], reached: str
    ) -> Mapping[str, Verdict]:
        """Return the verdict for each of these users.

        `reached` is the id of the message, or of a feed item that it led to later: a mention that an edit has
        added, or a reminder.  Such an item counts as read when the feed is read.
        """

    async def sees(self, tx: Transaction, message: Noticed, user_id: str, reached: str) -> Verdict:
        """Return the verdict on an item that is for this user in any case, such as a reminder.

        It depends only on whether they see the message and have read the item; its kind is ``reminder``.
        """

    async def quiet_times(
        self, tx: Transaction, user_ids: Sequence[str], author_id: str
    ) -> Mapping[str, QuietTimes]:
        """Return what these users have chosen; users who have chosen nothing are left out."""

    async def badges(self, tx: Transaction, user_ids: Sequence[str]) -> Mapping[str, int]:
        """Return for each of these users the number that a client shows as its badge (D-9)."""
