"""One timer per connection: how long a client may keep it waiting (see the docstring of the package)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import trio
from hypercorn.typing import Event as Flag


class Timer:
    """Closes a connection that waited too long for a request, and an idle one when the server stops.

    It stands where Hypercorn keeps a task that it starts anew with every request; here one task lives as
    long as the connection, and its deadline moves.
    """

    def __init__(self, stopping: Flag, close: Callable[[], Awaitable[None]]) -> None:
        self._stopping = stopping
        self._close = close
        self._deadline = inf
        self._scope = trio.CancelScope()
        self._runs = False
        self._gone = False

    def give(self, seconds: float) -> None:
        """Give the client `seconds` from now; infinity means that it is the server's turn."""
        self._deadline = self._scope.deadline = trio.current_time() + seconds

    async def restart(self, task_group: Any, action: Callable[[], Awaitable[None]]) -> None:
        """Hypercorn's call when the wait for a request begins: `action` sets the deadline."""
        await action()
        if not self._runs:
            self._runs = True
            task_group.spawn(self._watch)

    async def stop(self) -> None:
        """Hypercorn's call when a request has come."""
        self.give(inf)

    def end(self) -> None:
        """The client has gone: there is nothing to watch over."""
        self._gone = True
        self._scope.cancel()

    async def _watch(self) -> None:
        while not self._stopping.is_set():
            with trio.CancelScope(deadline=self._deadline) as self._scope:
                await self._stopping.wait()
            if self._gone:
                return
            if self._deadline <= trio.current_time():
                break
        if self._deadline < inf:
            with trio.CancelScope(shield=True):
                await self._close()
