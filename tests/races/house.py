"""Servers on one storage in this process, and a record of what each operation wrote into the event log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from teamchat.accounts import Accounts
from teamchat.accounts.acting import AskingStorage
from teamchat.application import Application
from teamchat.chat import Chat
from teamchat.events import Event, is_internal
from teamchat.interfaces import Storage, Transaction
from teamchat.settings import AuthSettings, EventsSettings, InitialUser, Settings
from teamchat.stream import Hub
from teamchat.stream.recent import Recent
from teamchat.testing.images import MemoryStore
from teamchat.web.app import App, create_app
from tests.races.model import Operation
from tests.storages import open_storage

SECRET = b"a secret of the tests that is long enough"
ADMIN = "root@example.org"
CURRENT: ContextVar[Operation | None] = ContextVar("operation", default=None)
_TOLD_OF = "_ROOM_CHANGED"


@dataclass(eq=False)
class Entry:
    """An event that an operation wrote. Its place among the others is that of the log, if it is committed."""

    operation: Operation
    type: str
    payload: dict[str, Any]
    is_committed: bool | None = None  # None: it is not known yet


class Record:
    """All that was written into the log, in its order: writing bodies run one at a time, on all servers."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def begun(self) -> int:
        """Return the place in the log that whoever asks now sees at least."""
        return max((n for n, one in enumerate(self.entries, 1) if one.is_committed), default=0)

    def ended(self) -> int:
        """Return the place in the log that who was just answered has seen at most."""
        return len(self.entries)


class RecordingStorage:
    """A storage whose transactions are recorded."""

    def __init__(self, storage: Storage, record: Record) -> None:
        self._storage = storage
        self._record = record

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Transaction]:
        written: list[Entry] = []
        try:
            async with self._storage.write() as tx:
                yield _Recording(tx, self._record, written)  # type: ignore[misc]
        except BaseException:
            for one in written:
                one.is_committed = False
            raise
        for one in written:
            one.is_committed = True


class _Recording:
    def __init__(self, tx: Transaction, record: Record, written: list[Entry]) -> None:
        self._tx, self._record, self._written = tx, record, written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    async def append(self, event: Event) -> None:
        operation = CURRENT.get()
        if operation is not None and (event.type == _TOLD_OF or not is_internal(event.type)):
            entry = Entry(operation, event.type, json.loads(event.payload))
            self._record.entries.append(entry)
            self._written.append(entry)
        await self._tx.append(event)


@dataclass
class House:
    """Servers (`apps`, and `sites` by which they are asked) on one storage with one image store."""

    apps: list[Application]
    sites: list[App]
    record: Record
    images: MemoryStore
    tokens: dict[str, str] = field(default_factory=dict)

    async def user(self, name: str, *, is_admin: bool = False) -> str:
        """Sign somebody in; return their id, by which their token is kept."""
        users = self.apps[0].accounts
        user, signed_in = await users.sign_in(f"{name}@example.org", "192.0.2.1", "tests")
        if is_admin and not user.is_admin:
            async with self.apps[0].storage.write() as tx:
                await users.users.set_role_in(tx, user, is_admin=True)
        self.tokens[user.id] = signed_in.access_token
        return user.id


@asynccontextmanager
async def open_house(directory: Path, servers: int, most_in_memory: int = 10_000) -> AsyncIterator[House]:
    """Open so many servers; streams resume from the last events, of which so many are in memory."""
    auth = AuthSettings(auth_mode="dev", is_invite_required=False, max_active_sessions=50)
    events = EventsSettings(max_streams_per_user=1000)
    record, images = Record(), MemoryStore()
    async with AsyncExitStack() as stack:
        apps = []
        for _ in range(servers):
            opened = await stack.enter_async_context(open_storage(directory))
            storage = AskingStorage(RecordingStorage(opened, record))  # type: ignore[arg-type]
            accounts = Accounts.build(storage, auth, SECRET)
            chat, hub = (
                Chat.build(storage, images, 16_000),
                Hub(storage, events, recent=Recent(most_in_memory)),
            )
            apps.append(Application(Settings(auth=auth), storage, accounts, chat, hub))
        await apps[0].accounts.ensure_initial_user(InitialUser("Root", ADMIN))
        await apps[0].chat.channels.ensure_first()
        async with trio.open_nursery() as nursery:
            for app in apps:
                await nursery.start(app.hub.run)
            yield House(apps, [create_app(app, []) for app in apps], record, images)
            nursery.cancel_scope.cancel()
