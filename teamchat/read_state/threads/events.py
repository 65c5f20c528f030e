"""What a user's other devices are told about a thread."""

from __future__ import annotations

from teamchat.events import Signal


class ThreadStateChanged(Signal, frozen=True):
    """A thread state has changed, by another device of the user's own. Its counts hold at `as_of`."""

    type = "THREAD_STATE"
    asked_as = "read"
    latest_of = ("message_id",)
    message_id: str
    place_id: str
    following: bool
    position: str
    generation: int
    unread_count: int
    last_reply_at: int | None
    mention_count: int
    as_of: str

    def recency(self) -> tuple[int, str, int]:
        """Order states as D-3 does."""
        return self.generation, self.position, int(self.as_of)
