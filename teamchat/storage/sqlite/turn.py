"""Who may use the one connection that writes: a body of a transaction, or a commit."""

from __future__ import annotations

import trio


class Turn:
    """A lock for work that hardly ever waits while it holds it. An async context manager.

    Who finds it free takes it without a turn of the loop, and when it is given back all who wait are woken
    at once: those that do not wait for anything else then follow each other within that same turn.  By
    `trio.StrictFIFOLock`, which hands it from one to the next, each would take a turn of the loop of its own.
    """

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting = trio.lowlevel.ParkingLot()

    async def __aenter__(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        while self._is_taken:
            await self._waiting.park()
        self._is_taken = True

    async def __aexit__(self, *_: object) -> None:
        self._is_taken = False
        self._waiting.unpark_all()
