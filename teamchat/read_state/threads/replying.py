"""Tells a user's other devices that their own reply has read what mentioned them in its thread.

The event of the reply tells a client that the thread is read up to it (D-8), but not what its place counts
since then (D-11). That is sent once the reply is committed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import trio

from teamchat.errors import StorageError, Unavailable
from teamchat.read_state.service import ReadStates

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat

LATE_SECONDS = 5.0
"""For so long a commit is waited for: what is not there by then was taken back."""
_SHORTEST_PAUSE = 0.02
_MOST_WAITING = 1000


class _Reply(NamedTuple):
    id: str
    author_id: str
    room_id: str
    deadline: float


class Replying:
    """A `teamchat.Service`. What is told may be lost, as any signal: the state is in the database."""

    name = "thread replies"

    def __init__(self, app: Teamchat) -> None:
        self._storage = app.storage
        self._places = ReadStates(app)
        self._tell, self._told = trio.open_memory_channel[_Reply](_MOST_WAITING)

    def has_read(self, author_id: str, room_id: str, reply_id: str) -> None:
        """Have an author's devices told of a place, in the transaction that stores their reply there."""
        with suppress(trio.WouldBlock):
            self._tell.send_nowait(_Reply(reply_id, author_id, room_id, trio.current_time() + LATE_SECONDS))

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Tell until cancelled."""
        task_status.started()
        async with trio.open_nursery() as nursery:
            async for reply in self._told:  # Each by itself: one that was taken back is waited for in vain.
                nursery.start_soon(self._notify, reply)

    async def _notify(self, reply: _Reply) -> None:
        with suppress(StorageError, Unavailable):
            if await self._is_there(reply):
                await self._places.notify(reply.author_id, [reply.room_id])

    async def _is_there(self, reply: _Reply) -> bool:
        pause = _SHORTEST_PAUSE
        while True:
            async with self._storage.read() as tx:
                if await tx.fetch("select 1 from messages where id = $1", reply.id):
                    return True
            if trio.current_time() >= reply.deadline:
                return False
            await trio.sleep(pause)
            pause *= 2
