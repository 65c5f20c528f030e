"""Drives psycopg's protocol on Trio.

psycopg 3 writes PostgreSQL's protocol as generators that do no input or output of their own but yield what
they wait for: a socket to become readable, writable, or either.  So one small loop, here, makes it run on
Trio: no thread, no second event loop.  A generator that was cut short by a
cancellation is not closed by that; whoever cancelled may `resume` it to read what is left on the wire.
"""

from __future__ import annotations

import select
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
import trio

READABLE, WRITABLE, EITHER = 1, 2, 3  # psycopg.waiting.Wait and Ready, as plain numbers: this is hot.

T = TypeVar("T")
Steps = Generator[Any, Any, T]
"""What psycopg calls PQGen: it yields what to wait for and is sent what has become ready."""


def ready_now(socket: int, wanted: int) -> int:
    """Return which of `wanted` the socket is, without waiting; 0 if none."""
    poll = select.poll()
    poll.register(
        socket,
        (select.POLLIN if wanted & READABLE else 0) | (select.POLLOUT if wanted & WRITABLE else 0),
    )
    found = poll.poll(0)
    if not found:
        return 0
    events = found[0][1]
    ready = (READABLE if events & select.POLLIN else 0) | (WRITABLE if events & select.POLLOUT else 0)
    return ready or wanted  # An error or a hang-up: libpq finds out which.


async def run(steps: Steps[T], socket: int) -> T:
    """Run a generator whose socket stays the same."""
    try:
        wanted = next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
    return await resume(steps, socket, int(wanted))


async def resume(steps: Steps[T], socket: int, wanted: int = READABLE) -> T:
    """Go on with a generator that was begun."""
    while True:
        try:
            ready = await _ready(socket, wanted)
        except (OSError, trio.ClosedResourceError) as error:
            raise psycopg.OperationalError("the socket was closed") from error
        try:
            wanted = int(steps.send(ready))
        except StopIteration as end:
            result: T = end.value
            return result


async def run_connecting(steps: Steps[T]) -> T:
    """Run a generator that connects, or cancels a query: it yields its socket each time."""
    try:
        socket, wanted = next(steps)
        while True:
            socket, wanted = steps.send(await _ready(socket, int(wanted)))
    except StopIteration as end:
        result: T = end.value
        return result
    except OSError as error:
        raise psycopg.OperationalError("the socket was closed") from error


async def _ready(socket: int, wanted: int) -> int:
    if wanted == READABLE:
        await trio.lowlevel.wait_readable(socket)
        return READABLE
    if ready := ready_now(socket, wanted):
        return ready
    if wanted == WRITABLE:
        await trio.lowlevel.wait_writable(socket)
        return WRITABLE
    return await _either(socket)


async def _either(socket: int) -> int:
    """Wait for whichever comes first: a large statement meets a full socket, and the server may speak."""
    async with trio.open_nursery() as nursery:

        async def wait(for_it: Callable[[int], Awaitable[None]]) -> None:
            with suppress(OSError, trio.ClosedResourceError):  # libpq finds out, and no group is raised.
                await for_it(socket)
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait, trio.lowlevel.wait_readable)
        nursery.start_soon(wait, trio.lowlevel.wait_writable)
    return ready_now(socket, EITHER) or EITHER
