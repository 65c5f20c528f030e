"""Who may use the one connection that writes: the body of a transaction, or a commit."""

from __future__ import annotations

from collections import deque

import trio

from teamchat.errors import StorageError


class WriterLock:
    """A lock for work that hardly ever waits while it holds it: first come, first served.

    An async context manager.  Who finds it free takes it without a turn of the loop, and when it is given
    back all who wait are woken at once: those that come round in the order in which they came follow each
    other within that same turn, the others in one of the next.  By `trio.StrictFIFOLock`, which is handed
    from one to the next, each would take a turn of the loop of its own.  Whoever has it and asks for it again
    would wait for ever, and all others with them: that raises a `StorageError`.
    """

    def __init__(self) -> None:
        self._holder: trio.lowlevel.Task | None = None
        self._row: deque[trio.lowlevel.Task] = deque()
        self._waiting = trio.lowlevel.ParkingLot()

    async def __aenter__(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        task = trio.lowlevel.current_task()
        if self._holder is task:
            raise StorageError("A writing transaction was begun within one of the same task.")
        if self._holder is not None or self._row:
            await self._wait(task)
        self._holder = task

    async def __aexit__(self, *_: object) -> None:
        self._holder = None
        self._waiting.unpark_all()

    async def _wait(self, task: trio.lowlevel.Task) -> None:
        self._row.append(task)
        try:
            # Trio runs those that it wakes together in either order.
            while self._holder is not None or self._row[0] is not task:
                await self._waiting.park()
        except BaseException:
            self._waiting.unpark_all()  # It may have been the first.
            raise
        finally:
            self._row.remove(task)
