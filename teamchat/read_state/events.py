"""What a user's other devices are told about a read state."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from teamchat.events import Signal


class ReadStateChanged(Signal, frozen=True):
    """A read state has changed, by another device of the user's own. Its counts hold at `as_of`."""

    type = "READ_STATE"
    asked_as = "read"
    latest_of = ("place_id",)
    place_id: str
    kind: str
    position: str
    generation: int
    is_marked_unread: bool
    unread_count: int
    mention_count: int
    last_message_id: str | None
    level: str
    is_muted: bool
    muted_until: int | None
    as_of: str
    ignore_channel_mentions: bool | UnsetType = UNSET

    def recency(self) -> tuple[int, str, int, int]:
        """Order states as D-3 does; within a generation none is marked as unread after one that is not."""
        return self.generation, self.position, int(not self.is_marked_unread), int(self.as_of)
