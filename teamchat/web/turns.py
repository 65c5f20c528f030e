"""A few turns for what only a few may do at a time; the others wait in order, for a limited time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from teamchat.errors import Unavailable


class Turns:
    """So many turns at once. Who waited for `seconds` is told `sentence`, and to come back after `again`."""

    def __init__(self, most: int, seconds: float, sentence: str, again: int) -> None:
        self._free = trio.Semaphore(most)
        self._seconds, self._sentence, self._again = seconds, sentence, again

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._free.statistics().tasks_waiting

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, which ends with the context. Raises `Unavailable`.

        The loop comes round before it begins, so of many who wait no more than `most` go on at each round.
        """
        with trio.move_on_after(self._seconds) as waiting:
            await self._free.acquire()
        if waiting.cancelled_caught:
            raise Unavailable(self._sentence, self._again)
        try:
            yield
        finally:
            self._free.release()


class GoingFirst:
    """The requests that others give way to: each is handled inside of this context, several at once."""

    def __init__(self) -> None:
        self._count = 0
        self._latest = 0.0
        self._over: trio.Event | None = None

    def __enter__(self) -> None:
        self._count += 1
        self._latest = trio.current_time()

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count and self._over is not None:
            self._over.set()
            self._over = None

    async def until_over(self, seconds: float) -> None:
        """Wait until none is being handled, or the latest has been for so long: it may be a slow upload."""
        left = self._latest + seconds - trio.current_time()
        if self._count and left > 0:
            if self._over is None:
                self._over = trio.Event()
            with trio.move_on_after(left):
                await self._over.wait()
