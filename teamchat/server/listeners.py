"""The service that delivers events to plugins' listeners.

A listener receives every event that clients can receive, in the log's order, after its commit and at least
once, as long as the event is in the log (``events.retentionSeconds``); events that left the log before are
reported as missed. It holds up nobody, not even the next listener. Its position is stored in the database
under its name, so after a restart it continues there; a new listener begins with what happens from then on.
Of all processes on one database, one serves a listener at a time: it holds a lease on the listener's row and
renews it; if it dies, another takes over once the lease has run out. If a listener fails, the log names it,
and the event counts as delivered.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import cast

import trio

from teamchat.errors import StorageError
from teamchat.events import LoggedEvent, is_internal
from teamchat.interfaces import EventListener, MissedEventsListener, Storage
from teamchat.model.text import plain
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat.storage.lease import AGAIN_SECONDS, Lease, LeaseLost

_SLOW_SECONDS = 60.0
"""How long a listener may take for what was read at once before it is looked what left the log meanwhile."""

_log = get_logger(__name__)


class Listeners:
    """Tells each listener of the events, in a task of its own."""

    name = "event listeners"

    def __init__(
        self,
        storage: Storage,
        listeners: Sequence[EventListener],
        label_of: Callable[[EventListener], str] = lambda _: "unknown",
    ) -> None:
        """Take the listeners; `label_of` names the plugin of one, for the log."""
        self._storage = storage
        self._listeners = listeners
        self._label_of = label_of

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Tell until cancelled; then give the listeners back, so that another process need not wait."""
        async with trio.open_nursery() as nursery:
            for listener in self._listeners:
                nursery.start_soon(self._tell_for_ever, listener, name=f"listener {listener.name}")
            task_status.started()

    async def _tell_for_ever(self, listener: EventListener) -> None:
        cursor = Lease(self._storage, plain(listener.name))
        outage = Outage(_log, "an event listener pauses", listener=listener.name)
        while True:
            with outage.noted(StorageError, LeaseLost):
                await cursor.take()
                await self._tell(listener, cursor, outage)
            await trio.sleep(AGAIN_SECONDS)

    async def _tell(self, listener: EventListener, cursor: Lease, outage: Outage) -> None:
        async with trio.open_nursery() as nursery:
            try:
                nursery.start_soon(cursor.keep)
                await self._tell_missed(listener, cursor)
                outage.is_over()
                followed = self._storage.follow(cursor.position)
                async with aclosing(cast("AsyncGenerator[Sequence[LoggedEvent], None]", followed)) as log:
                    async for events in log:
                        if events[0].seq != cursor.position + 1:
                            await self._tell_missed(listener, cursor, before=events[0].seq)
                        began = trio.current_time()
                        for event in events:
                            await self._hear(listener, event)
                            cursor.position = event.seq
                        if trio.current_time() - began > _SLOW_SECONDS:
                            await self._tell_missed(listener, cursor)
            finally:
                await cursor.give_back()

    async def _tell_missed(self, listener: EventListener, cursor: Lease, before: int | None = None) -> None:
        """Tell a listener of the events that left the log before it heard them, up to the one `before`.

        A number that no event has may be among them: those of changes that were rolled back.
        """
        oldest, newest = await self._storage.log_bounds()
        first, last = cursor.position + 1, min(oldest - 1, newest) if before is None else before - 1
        if oldest <= first or last < first:
            return
        _log.warning("an event listener missed events", listener=listener.name, first=first, last=last)
        if isinstance(listener, MissedEventsListener):
            try:
                await listener.missed(first, last)
            except Exception as error:
                self._fail(listener, "missed", error)
        cursor.position = last

    async def _hear(self, listener: EventListener, event: LoggedEvent) -> None:
        if is_internal(event.type):
            return
        try:
            await listener.hear(event)
        except Exception as error:
            self._fail(listener, event.type, error)

    def _fail(self, listener: EventListener, kind: str, error: Exception) -> None:
        plugin = self._label_of(listener)
        _log.error(
            "an event listener failed", listener=listener.name, plugin=plugin, type=kind, exc_info=error
        )
