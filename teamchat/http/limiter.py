"""The limits on connections: how many, how many per address, and which idle one makes room for a new one.

A descriptor is always left for the database, for images and for mail. When the limit is reached, the
connection that has asked for nothing for the longest time makes room for the new one. What is being served,
above all a live stream, is never dropped for it. A client that has not sent a complete head has asked for
nothing.

One client can't have all there is: once half of all connections are taken, no address gets more than its
share (IPv6 addresses share by /64). Its own idle connections make room for its new ones, and after that it is
refused. Until then it may be a large office, and harms nobody. This machine's own addresses and trusted
proxies speak for many clients and have no such share. Nothing that a client can cause fills the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address, ip_network
from math import inf
from typing import Any, Generic, Protocol, TypeVar

import trio

from teamchat.accounts.attempts import network_of
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger

MOST_CONNECTIONS = 100_000
SHARES = 8
"""Where room is scarce, an address may have one part in so many of all, and always `LEAST_SHARE`."""
LEAST_SHARE = 64
AGAIN_SECONDS = 0.1
_SPARE_DESCRIPTORS = 64
_LOG_SECONDS = 60.0

TakeIn = Callable[[trio.socket.SocketType, Any], object]

_log = get_logger(__name__)


class Limited(Protocol):
    """A connection, as far as its limiter is concerned."""

    def abort(self) -> None:
        """Drop it at once."""


G = TypeVar("G", bound=Limited)


class Address(Generic[G]):
    """What there is of one address: how many connections, and which of them are idle, longest first."""

    __slots__ = ("count", "idle", "network")

    def __init__(self, network: str) -> None:
        self.network = network
        self.count = 0
        self.idle: dict[G, None] = {}


class ConnectionLimiter(Generic[G]):
    """The connections of a server: who they are, and who of them waits for a request."""

    def __init__(self, proxies: Sequence[str] = (), most: int | None = None) -> None:
        self.most = most_connections() if most is None else most
        self.share = max(LEAST_SHARE, self.most // SHARES)
        self._proxies = [ip_network(text, strict=False) for text in proxies]
        self._all: dict[G, Address[G] | None] = {}
        self._idle: dict[G, None] = {}  # longest first
        self._addresses: dict[str, Address[G]] = {}
        self._left = trio.Event()
        self._logged: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._all)

    def all(self) -> Sequence[G]:
        """Return those that are here now."""
        return tuple(self._all)

    def has_room(self, peer: object) -> bool:
        """Whether one more may come from `peer`, a socket's address. An idle one may have to go for it."""
        address = self._addresses.get(self._network(peer) or "")
        if address is not None and address.count >= self.share and self._is_scarce:
            hint = "if this is a proxy, name it in server.trustedProxies"
            self._tell("an address has too many connections", client=address.network, hint=hint)
            return self._dismiss(address.idle)
        if len(self._all) < self.most or self._dismiss(self._idle):
            return True
        self._tell("there are too many connections")
        return False

    def enter(self, connection: G, peer: object) -> None:
        """Count one that has come. It is idle until it says otherwise."""
        network = self._network(peer)
        address = None
        if network is not None:
            address = self._addresses.setdefault(network, Address(network))
            address.count += 1
        self._all[connection] = address
        self.rests(connection)
        metrics.connections.value += 1

    def rests(self, connection: G) -> None:
        """One waits for a request, and may have to make room; who did already keeps its place in the row."""
        if connection in self._all:
            self._idle[connection] = None
            if (address := self._all[connection]) is not None:
                address.idle[connection] = None

    def asks(self, connection: G) -> None:
        """One has sent a request, and stays until it is answered."""
        self._idle.pop(connection, None)
        if (address := self._all.get(connection)) is not None:
            address.idle.pop(connection, None)

    def leave(self, connection: G) -> None:
        """Count one no more; one that was let go has left already."""
        if connection not in self._all:
            return
        self.asks(connection)
        address = self._all.pop(connection)
        if address is not None:
            address.count -= 1
            if not address.count:
                del self._addresses[address.network]
        metrics.connections.value -= 1
        self._left.set()

    async def until_empty(self) -> None:
        """Wait until all have left."""
        while self._all:
            self._left = trio.Event()
            await self._left.wait()

    async def take_in_until(
        self,
        stop: trio.Event,
        listeners: Sequence[trio.SocketListener],
        take: TakeIn,
        task_status: trio.TaskStatus[None],
    ) -> None:
        """Hand `take` every socket that connects, with its address; at `stop`, stop listening."""
        async with trio.open_nursery() as accepting:
            for listener in listeners:
                accepting.start_soon(self._take_in_all, listener, take)
            task_status.started()
            await stop.wait()
            accepting.cancel_scope.cancel()

    async def _take_in_all(self, listener: trio.SocketListener, take: TakeIn) -> None:
        async with listener:  # Nobody must wait in the queue of a server that has stopped.
            while True:
                try:
                    accepted, peer = await listener.socket.accept()
                except OSError as error:  # no descriptor or memory left, or a client that left meanwhile
                    self._tell("a connection could not be taken", errno=error.errno)
                    await trio.sleep(AGAIN_SECONDS)
                else:
                    take(accepted, peer)

    def _tell(self, event: str, **fields: Any) -> None:
        """Log of what clients can bring about at will, at most once a minute."""
        if trio.current_time() - self._logged.get(event, -inf) >= _LOG_SECONDS:
            self._logged[event] = trio.current_time()
            _log.warning(event, connections=len(self._all), **fields)

    @property
    def _is_scarce(self) -> bool:
        return 2 * len(self._all) >= self.most

    def _dismiss(self, idle: dict[G, None]) -> bool:
        """Let go whoever has been idle for the longest, and return whether there was one."""
        connection = next(iter(idle), None)
        if connection is None:
            return False
        self.leave(connection)
        connection.abort()
        return True

    def _network(self, peer: object) -> str | None:
        """Return what an address has its share with; None if it has none."""
        try:
            address = ip_address(peer[0].partition("%")[0]) if isinstance(peer, tuple) else None
        except ValueError:
            return None
        address = getattr(address, "ipv4_mapped", None) or address
        if address is None or address.is_loopback or any(address in network for network in self._proxies):
            return None
        return network_of(str(address))


def most_connections() -> int:
    """Return how many connections there are descriptors for, with some to spare for files."""
    with suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit != resource.RLIM_INFINITY:
            return max(1, min(MOST_CONNECTIONS, limit - max(_SPARE_DESCRIPTORS, limit // 16)))
    return MOST_CONNECTIONS
