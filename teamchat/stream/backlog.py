"""How much waits for all clients together.

What must stay true: bytes that wait for several clients are in memory once, and count once.  So a burst to
ten thousand streams weighs no more than a burst to one; what weighs is what stalled clients each have of
their own.  Past the bound the hub cuts those that are furthest behind.
"""

from __future__ import annotations

from teamchat.stream.sse import Piece

MOST_WAITING_IN_ALL = 128 * 1024 * 1024


class Backlog:
    """Counts the bytes that are held."""

    def __init__(self, most: int = MOST_WAITING_IN_ALL) -> None:
        self.held = 0
        self._most = most

    @property
    def is_too_much(self) -> bool:
        return self.held > self._most

    def hold(self, piece: Piece) -> None:
        """Count a piece that waits for one client more."""
        if not piece.holders:
            self.held += len(piece.data)
        piece.holders += 1

    def release(self, piece: Piece) -> None:
        """Count a piece that waits for one client less."""
        piece.holders -= 1
        if not piece.holders:
            self.held -= len(piece.data)
