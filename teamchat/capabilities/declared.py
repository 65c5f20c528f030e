"""What a capability may send: events and signals of the types that it declares.

It may also send signals of those that it needs, if the same plugin brings them.

Those of teamchat's own are for what it calls of the server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from teamchat.errors import StorageError
from teamchat.events import OWN_TYPES, Event, Payload, Signal
from teamchat.interfaces import SpeaksDialect, Storage, Transaction


class Declared:
    """The events that a capability declares."""

    def __init__(self, capability: str, events: Sequence[type[Payload]]) -> None:
        self._capability = capability
        self._signals = {one for one in events if issubclass(one, Signal)}
        self.logged = OWN_TYPES | {one.type for one in events if one not in self._signals}

    def check_signal(self, signal: Signal) -> None:
        """Raise `StorageError` for a signal that is not declared."""
        if type(signal) not in self._signals:
            raise StorageError(
                f"The signal {signal.type} can't be sent: the capability {self._capability} does not declare "
                "it among its events."
            )

    def refuse(self, event: Event) -> None:
        """Raise `StorageError` for an event that is not among `logged`."""
        if any(one.type == event.type for one in self._signals):
            why = f"it is a signal of the capability {self._capability}, which app.signal sends"
        else:
            why = f"the capability {self._capability} does not declare it among its events"
        raise StorageError(f"The event {event.type} can't be appended: {why}.")


class DeclaringTransaction:
    """A transaction that appends what a capability declares, and nothing else of its own."""

    __slots__ = ("_declared", "_tx", "advance_log", "blank", "define", "fetch", "suppose")

    def __init__(self, tx: Transaction, declared: Declared) -> None:
        self._tx = tx
        self._declared = declared
        self.fetch, self.define = tx.fetch, tx.define
        self.blank, self.advance_log = tx.blank, tx.advance_log
        self.suppose = getattr(tx, "suppose", None)  # what `teamchat.storage.supposing.likely` asks for

    async def append(self, event: Event) -> None:
        if event.type not in self._declared.logged:
            self._declared.refuse(event)
        await self._tx.append(event)


class DeclaringStorage:
    """The storage whose writing transactions are those."""

    def __init__(self, storage: Storage, declared: Declared) -> None:
        self._declared = declared
        self._storage = storage
        self.read, self.follow = storage.read, storage.follow
        self.log_bounds, self.position = storage.log_bounds, storage.position
        self.dialect = storage.dialect if isinstance(storage, SpeaksDialect) else ""

    def write(self) -> AbstractAsyncContextManager[Transaction]:
        return self._write()

    @asynccontextmanager
    async def _write(self) -> AsyncIterator[Transaction]:
        async with self._storage.write() as tx:
            yield DeclaringTransaction(tx, self._declared)
