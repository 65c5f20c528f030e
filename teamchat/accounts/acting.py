"""On whose behalf a task writes, and a storage that asks for them again (decision D-39).

While an endpoint serves somebody who is signed in, every writing transaction that its task opens, or a task
below it, asks whether session, user and role are still what they were, before anything else or, where the
storage can, together with what is asked first.  So who was signed out,
removed or demoted while a body, a filter or the write lock was waited for writes nothing, whatever was looked
at before, in endpoints of plugins too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import NamedTuple

import trio

from teamchat.accounts.records import CALLER, caller_of, check_unchanged
from teamchat.capabilities.changes import NoCapabilities, TakesPart
from teamchat.events import LoggedEvent
from teamchat.interfaces import Row, SpeaksDialect, Storage, Transaction
from teamchat.model import Caller, now_ms


class _Acting(NamedTuple):
    """Who is acted for (None: the server itself), and the task that does."""

    caller: Caller | None
    task: trio.lowlevel.Task


_acting: ContextVar[_Acting | None] = ContextVar("acting", default=None)


class acting_for:  # noqa: N801 - it is named as those of contextlib are
    """A context in which is written on behalf of `caller`, or with None on the server's own.

    Tasks of a nursery that is opened in the context write on behalf of the same.
    """

    # No generator: every request enters one, which would take two microseconds more.
    __slots__ = ("_caller", "_token")

    def __init__(self, caller: Caller | None) -> None:
        self._caller = caller

    def __enter__(self) -> None:
        self._token = _acting.set(_Acting(self._caller, trio.lowlevel.current_task()))

    def __exit__(self, *_: object) -> None:
        _acting.reset(self._token)


class AskingStorage:
    """A `Storage` whose writing transactions ask again for the caller on whose behalf they are opened.

    A write raises `Unauthorized` if their session or user is gone, `Forbidden` if they are an admin no
    longer: on entry, or, where transactions ask ahead, by the body's first statement, or on exit.
    `clock` returns the time in epoch milliseconds.
    """

    def __init__(
        self, storage: Storage, clock: Callable[[], int] = now_ms, capabilities: TakesPart | None = None
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._capabilities = capabilities or NoCapabilities()

    def read(self) -> AbstractAsyncContextManager[Transaction]:
        return self._storage.read()

    def write(self) -> AbstractAsyncContextManager[Transaction]:
        caller = _acting_caller()
        return self._storage.write() if caller is None else self._write_for(caller)

    def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
        return self._storage.follow(after)

    async def log_bounds(self) -> tuple[int, int]:
        return await self._storage.log_bounds()

    async def position(self) -> int:
        return await self._storage.position()

    @property
    def dialect(self) -> str:
        return self._storage.dialect if isinstance(self._storage, SpeaksDialect) else ""

    @asynccontextmanager
    async def _write_for(self, caller: Caller) -> AsyncIterator[Transaction]:
        async with self._storage.write() as tx:
            user_id, session_id, now = caller.user.id, caller.session_id, self._clock()

            async def check(rows: Sequence[Row]) -> None:
                found, _ = await caller_of(tx, rows, user_id, session_id, now, self._capabilities)
                check_unchanged(caller, found)

            # Every write comes here: to ask whether it is an `AsksAhead` would take as long as the statement.
            ask_ahead: Callable[..., None] | None = getattr(tx, "ask_ahead", None)
            if ask_ahead is None:
                await check(await tx.fetch(CALLER, session_id, user_id, now))
            else:
                ask_ahead(check, CALLER, session_id, user_id, now)
            yield tx


def acting_user() -> str | None:
    """Return the id of the user on whose behalf this task writes; None if the server does on its own."""
    caller = _acting_caller()
    return None if caller is None else caller.user.id


def _acting_caller() -> Caller | None:
    """Return on whose behalf this task writes.

    A task inherits the context of whoever started it.  But what a request starts in a nursery of others, such
    as a service's, is not the request's: it lives on after it, and after the session.
    """
    acting = _acting.get()
    if acting is None or acting.caller is None:
        return None
    task: trio.lowlevel.Task | None = trio.lowlevel.current_task()
    while task is not None and task is not acting.task:
        task = None if task.parent_nursery is None else task.parent_nursery.parent_task
    return None if task is None else acting.caller
