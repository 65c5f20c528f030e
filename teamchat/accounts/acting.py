"""For whom a task writes, and a storage that checks them again (decision D-39).

While an endpoint serves somebody who is signed in, every writing transaction that its task opens, or a task
below it, checks whether session, user and role are still the same: before its first statement or, if the
storage can, together with it. So somebody who was signed out, removed or demoted while the request waited for
its body, a filter or the write lock writes nothing, whatever was checked earlier. This includes endpoints of
plugins.

One transaction may write for several callers, who are then checked with one statement (`acting_for_each`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import trio

from teamchat.accounts.records import CALLER, CALLERS, caller_of, check_unchanged
from teamchat.capabilities.changes import NoCapabilities, TakesPart
from teamchat.errors import Forbidden, Unauthorized
from teamchat.events import LoggedEvent
from teamchat.interfaces import Row, SpeaksDialect, Storage, Transaction
from teamchat.model import Caller, now_ms
from teamchat.storage.statements import listed

Refusal = Unauthorized | Forbidden
"""What becomes of a caller who is not any more who they were."""


class _Each(NamedTuple):
    """Several for whom is written at once, and those among them who are refused, by their places."""

    callers: Sequence[Caller]
    refused: dict[int, Refusal]


class _Acting(NamedTuple):
    """Who is acted for (None: the server itself), and the task that does."""

    caller: Caller | _Each | None
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


@contextmanager
def acting_for_each(callers: Sequence[Caller]) -> Iterator[Mapping[int, Refusal]]:
    """Write on behalf of several callers at once, none of whom is refused for another's sake.

    The mapping has who is refused, by their places among `callers`, once the first statement of the
    transaction has returned, or it has ended: nothing may be written for them.
    """
    each = _Each(callers, {})
    token = _acting.set(_Acting(each, trio.lowlevel.current_task()))
    try:
        yield each.refused
    finally:
        _acting.reset(token)


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
        acting = _acting_now()
        if acting is None:
            return self._storage.write()
        return self._write_for_each(acting) if isinstance(acting, _Each) else self._write_for(acting)

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

            await _ask(tx, check, CALLER, session_id, user_id, now)
            yield tx

    @asynccontextmanager
    async def _write_for_each(self, each: _Each) -> AsyncIterator[Transaction]:
        now = self._clock()

        async def check(places: Sequence[int], rows: Sequence[Row]) -> None:
            found = {place: tuple(row) for place, *row in rows}
            for place in places:
                caller = each.callers[place]
                own = [found[place]] if place in found else []
                try:
                    again, _ = await caller_of(
                        tx, own, caller.user.id, caller.session_id, now, self._capabilities
                    )
                    check_unchanged(caller, again)
                except (Unauthorized, Forbidden) as refusal:
                    each.refused[place] = refusal

        async with self._storage.write() as tx:
            asked: list[tuple[Any, ...]] = [
                (place, one.session_id, one.user.id) for place, one in enumerate(each.callers)
            ]
            for rows, parameters in listed(asked, after=1):
                check_these = partial(check, sorted(set(parameters[::3])))
                await _ask(tx, check_these, CALLERS.format(rows), now, *parameters)
            yield tx


async def _ask(
    tx: Transaction, check: Callable[[Sequence[Row]], Awaitable[None]], sql: str, *parameters: Any
) -> None:
    """Have what a statement returns checked: ahead, where the transaction can do that, and otherwise now."""
    # Every write comes here: to ask whether it is an `AsksAhead` would take as long as the statement.
    ask_ahead: Callable[..., None] | None = getattr(tx, "ask_ahead", None)
    if ask_ahead is None:
        await check(await tx.fetch(sql, *parameters))
    else:
        ask_ahead(check, sql, *parameters)


def acting_user() -> str | None:
    """Return the id of the user on whose behalf this task writes; None for the server, or several at once."""
    acting = _acting_now()
    return acting.user.id if isinstance(acting, Caller) else None


def _acting_now() -> Caller | _Each | None:
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
