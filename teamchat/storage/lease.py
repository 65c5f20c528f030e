"""A lease in the database, for work that one process of an installation does at a time.

Its holder renews it; if that process dies, another takes over once the lease has run out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf

import trio

from teamchat.errors import StorageError
from teamchat.interfaces import Storage
from teamchat.model import now_ms
from teamchat.model.ids import new_id

HOLD_SECONDS = 15.0
"""For how long a process holds a lease that it does not renew."""
SAVE_SECONDS = 1.0
"""How often, at most, the position is saved."""
AGAIN_SECONDS = 5.0
"""How often a lease that another process holds is asked for."""
_RENEW_SECONDS = 5.0


class LeaseLost(Exception):
    """Another process holds the lease now: this one was away for too long."""


class Lease:
    """Which process of an installation does a piece of work, and how far in the log it has come.

    `name` is that of the work. `position` is a number of an event: who holds the lease raises it, and whoever
    takes it goes on from there; it is saved every second at most, so the last ones may come again. A lease
    that is taken for the first time begins at the end of the log.
    """

    def __init__(self, storage: Storage, name: str, clock: Callable[[], int] = now_ms) -> None:
        self._storage = storage
        self._name = name
        self._clock = clock
        self._holder = new_id()
        self._held_until = -inf
        self.position = 0
        self._saved = 0

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have it yet, by this process's own clock.

        It is not any more where this process was held up for too long, though it does not know yet.
        """
        return trio.current_time() < self._held_until

    async def take(self) -> None:
        """Wait until this process has the lease."""
        while not await self._taken():  # noqa: ASYNC110  # It is another process that will let it go.
            await trio.sleep(AGAIN_SECONDS)

    async def keep(self) -> None:
        """Renew the hold until cancelled, and save the position. Raises `LeaseLost` if another one has it."""
        renewed = trio.current_time()
        while True:
            await trio.sleep(SAVE_SECONDS)
            if self.position != self._saved or trio.current_time() - renewed >= _RENEW_SECONDS:
                await self._save(self._clock() + int(HOLD_SECONDS * 1000))
                renewed = trio.current_time()

    async def during(self, work: Callable[[], Awaitable[object]]) -> None:
        """Wait for the lease, do some work while this process has it, and give it back."""
        await self.take()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.keep)
                await work()
                nursery.cancel_scope.cancel()
        finally:
            await self.give_back()

    async def give_back(self) -> None:
        """Save the position, and let others have the lease."""
        with trio.move_on_after(SAVE_SECONDS, shield=True):
            try:
                await self._save(0)
            except (StorageError, LeaseLost):
                return

    async def _taken(self) -> bool:
        now, asked = self._clock(), trio.current_time()
        _, end_of_log = await self._storage.log_bounds()
        async with self._storage.write() as tx:
            rows = await tx.fetch("select position, held_until from listeners where name = $1", self._name)
            # A hold that is longer than any was written when the clock was ahead, and holds nothing.
            if rows and now < rows[0][1] <= now + 2 * int(HOLD_SECONDS * 1000):
                return False
            self.position = rows[0][0] if rows else end_of_log
            await tx.fetch(
                """insert into listeners (name, position, holder, held_until) values ($1, $2, $3, $4)
                on conflict (name) do update set
                  holder = excluded.holder, held_until = excluded.held_until""",
                self._name,
                self.position,
                self._holder,
                now + int(HOLD_SECONDS * 1000),
            )
        self._saved = self.position
        self._held_until = asked + HOLD_SECONDS
        return True

    async def _save(self, held_until: int) -> None:
        position, asked = self.position, trio.current_time()
        async with self._storage.write() as tx:
            kept = await tx.fetch(
                """update listeners set position = $3, held_until = $4 where name = $1 and holder = $2
                returning 1""",
                self._name,
                self._holder,
                position,
                held_until,
            )
        if not kept:
            raise LeaseLost
        self._saved = position
        self._held_until = asked + HOLD_SECONDS if held_until else -inf
