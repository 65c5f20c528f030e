"""How pushes leave the processor to messages, however many are due at once.

Thousands of them would otherwise have it to themselves for seconds, and whoever posts meanwhile would wait,
for the event loop and for the database, whose processes may run on the same machine.
"""

from __future__ import annotations

import ssl
from typing import Any

import httpcore2
import trio

_STEPS = 4
_PAUSE_SECONDS = 0.001


class Pace:
    """In each turn of the event loop one push takes a step, and after some steps none does for a moment."""

    def __init__(self) -> None:
        self._lock = trio.Lock()
        self._steps = 0

    async def step(self) -> None:
        """Wait until the caller may go on; first come, first served."""
        async with self._lock:  # Given back within a turn, it is the next one's in the next.
            self._steps += 1
            if self._steps % _STEPS == 0:
                await trio.sleep(_PAUSE_SECONDS)


class PacedStream(httpcore2.AsyncNetworkStream):
    """A connection that waits for its pace after each step. A request leaves in one piece."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream, pace: Pace) -> None:
        self._inner, self._pace = inner, pace
        self._unsent = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._unsent:
            request, self._unsent = self._unsent, b""
            await self._inner.write(request, timeout)
            await self._pace.step()
        data = await self._inner.read(max_bytes, timeout)
        await self._pace.step()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._unsent += buffer

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        stream = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        await self._pace.step()
        return PacedStream(stream, self._pace)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
