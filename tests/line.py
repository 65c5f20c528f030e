"""A line between two sockets that a test can let go silent."""

from __future__ import annotations

from collections.abc import Callable

import trio


async def pass_on(
    source: trio.SocketStream,
    sink: trio.SocketStream,
    both: trio.CancelScope,
    gate: Callable[[], trio.Event],
) -> None:
    """Carry bytes one way until an end is closed, then end both ways; each piece waits at the gate."""
    try:
        while data := await source.receive_some(16 * 1024):
            await gate().wait()
            await sink.send_all(data)
    except trio.BrokenResourceError:
        pass
    both.cancel()
