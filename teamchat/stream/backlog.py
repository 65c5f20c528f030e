"""How much is waiting for all clients together.

Bytes that wait for several clients are in memory once and count once. So a burst to ten thousand streams
weighs no more than a burst to one; what weighs is what stalled clients each have for themselves. Beyond the
bound, the hub cuts those that are furthest behind.
"""

from __future__ import annotations

from teamchat.stream.sse import SharedBytes

MOST_WAITING_IN_ALL = 128 * 1024 * 1024


class Backlog:
    """Counts the bytes that are held."""

    def __init__(self, most: int = MOST_WAITING_IN_ALL) -> None:
        self.held = 0
        self._most = most

    @property
    def is_too_much(self) -> bool:
        return self.held > self._most

    def hold(self, shared: SharedBytes) -> None:
        """Count bytes that wait for one client more."""
        if not shared.holders:
            self.held += len(shared.data)
        shared.holders += 1

    def release(self, shared: SharedBytes) -> None:
        """Count bytes that wait for one client less."""
        shared.holders -= 1
        if not shared.holders:
            self.held -= len(shared.data)
