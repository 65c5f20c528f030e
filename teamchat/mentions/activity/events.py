"""What is sent to those whom something concerns: ids, and nothing of what was said."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from teamchat.events import Payload, Signal


class NewActivity(Payload, frozen=True):
    """There is a new item in one's feed, or a newer one of a message; `actor` is who did it.

    Being added to a channel is about no message.
    """

    type = "NEW_ACTIVITY"
    id: str
    kind: str
    place_id: str
    actor: str
    message_id: str | UnsetType = UNSET


class DeleteActivity(Payload, frozen=True):
    """An item of one's feed is gone, or one thing less is in it. With a message its items go too."""

    type = "DELETE_ACTIVITY"
    message_id: str
    kind: str


class ActivityRead(Signal, frozen=True):
    """The feed was read up to an item, on another device of the user's own; so many are unread since."""

    type = "ACTIVITY_READ"
    asked_as = "read"
    position: str
    unread_count: int
