"""The service that delivers events to plugins' listeners.

A listener receives every event that clients can receive, in the log's order, after its commit and at
least once, as long as the event is in the log (``events.retentionSeconds``); what left the log before is
reported as missed. It holds up nobody, not the next listener either. Its position is kept in the database
under its name, so it goes on after a restart where it was; a new one begins with what happens from then
on. Of all processes on one database one serves a listener at a time: it holds a lease on the listener's
row and renews it; when it dies, another one takes over once the lease has run out. A listener that fails
is named in the log, and the event counts as delivered.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import cast

import trio

from teamchat.errors import StorageError
from teamchat.events import LoggedEvent, is_internal
from teamchat.interfaces import EventListener, MissedEventsListener, Storage
from teamchat.model import now_ms
from teamchat.model.ids import new_id
from teamchat.model.text import plain
from teamchat.observability.logs import get_logger

HOLD_SECONDS = 15.0
"""For how long a process holds a listener that it does not renew."""
SAVE_SECONDS = 1.0
"""How often, at most, it is written down how far a listener has come."""
_RENEW_SECONDS = 5.0
_AGAIN_SECONDS = 5.0
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
        cursor = _Cursor(self._storage, plain(listener.name))
        while True:
            try:
                await cursor.take()
                await self._tell(listener, cursor)
            except* (StorageError, _Lost) as group:
                reason = type(group.exceptions[0]).__name__
                _log.warning("an event listener pauses", listener=listener.name, reason=reason)
            await trio.sleep(_AGAIN_SECONDS)

    async def _tell(self, listener: EventListener, cursor: _Cursor) -> None:
        async with trio.open_nursery() as nursery:
            try:
                nursery.start_soon(cursor.keep)
                await self._tell_missed(listener, cursor)
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

    async def _tell_missed(self, listener: EventListener, cursor: _Cursor, before: int | None = None) -> None:
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


class _Lost(Exception):
    """Another process holds the listener now: this one was away for too long."""


class _Cursor:
    """How far a listener has come, and which process delivers to it."""

    def __init__(self, storage: Storage, name: str, clock: Callable[[], int] = now_ms) -> None:
        self._storage = storage
        self._name = name
        self._clock = clock
        self._holder = new_id()
        self.position = 0
        self._saved = 0

    async def take(self) -> None:
        """Wait for the listener's lease; return the position to deliver from."""
        while not await self._taken():  # noqa: ASYNC110  # It is another process that will let it go.
            await trio.sleep(_AGAIN_SECONDS)

    async def keep(self) -> None:
        """Renew the hold, and write down how far the listener has come. Raises `_Lost`."""
        renewed = trio.current_time()
        while True:
            await trio.sleep(SAVE_SECONDS)
            if self.position != self._saved or trio.current_time() - renewed >= _RENEW_SECONDS:
                await self._save(self._clock() + int(HOLD_SECONDS * 1000))
                renewed = trio.current_time()

    async def give_back(self) -> None:
        """Write down how far the listener has come, and let others have it."""
        with trio.move_on_after(SAVE_SECONDS, shield=True):
            try:
                await self._save(0)
            except (StorageError, _Lost):
                return

    async def _taken(self) -> bool:
        now = self._clock()
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
        return True

    async def _save(self, held_until: int) -> None:
        position = self.position
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
            raise _Lost
        self._saved = position
