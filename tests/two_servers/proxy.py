"""A TCP proxy in front of several servers: each connection goes to the next one that takes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import trio


class Proxy:
    """Hands connections out in turn. `port` is its own; `taken` counts those each server got."""

    def __init__(self, bases: Sequence[str]) -> None:
        self._ports = [urlsplit(base).port or 0 for base in bases]
        self.port = 0
        self.taken = [0] * len(bases)
        self._next = 0

    async def serve(self, client: trio.SocketStream) -> None:
        """Join a client to a server until one of them has gone."""
        try:
            server = await self._connected()
            if server is None:
                return
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_pass_on, client, server, nursery.cancel_scope)
                    nursery.start_soon(_pass_on, server, client, nursery.cancel_scope)
            finally:
                server.socket.close()
        finally:
            client.socket.close()

    async def _connected(self) -> trio.SocketStream | None:
        for _ in self._ports:
            number = self._next % len(self._ports)
            self._next += 1
            with suppress(OSError):
                stream = await trio.open_tcp_stream("127.0.0.1", self._ports[number])
                self.taken[number] += 1
                return stream
        return None


async def _pass_on(source: trio.SocketStream, to: trio.SocketStream, both: trio.CancelScope) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        async for data in source:
            await to.send_all(data)
    both.cancel()


@asynccontextmanager
async def proxied(bases: Sequence[str]) -> AsyncIterator[Proxy]:
    """Run a proxy in front of these servers."""
    proxy = Proxy(bases)
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, proxy.serve, 0)
        proxy.port = listeners[0].socket.getsockname()[1]
        yield proxy
        nursery.cancel_scope.cancel()
