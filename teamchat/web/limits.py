"""How often one client may ask (``server.rateLimit``, decision D-18), counted over all processes together.

From one network, no more requests than the limit are let through in a window, however many processes there
are. Yet few requests wait for the storage: a process takes a twentieth of a window's budget at a time (at
least one request), in one transaction that counts it as used, and spends it from memory. So a window costs a
client at most some twenty small writes, or as many as the limit if that is smaller; those who ask at the same
moment share one. What a process has taken and not spent is lost to the others, so a client whose requests are
spread over processes may be refused up to a twentieth early for each of them.

A limit must not be worth more to an attacker than what it protects. So a process keeps pieces for 20,000
networks at a time, handles 128 in a transaction, rests after each transaction for as long as it took, and
lets no request wait longer than a second, nor more than 1,000 at once. If there is no room, or no storage,
requests are counted by this process alone; each process then lets the full limit through.

Windows are dated by the machines' clocks; if these differ by a second, windows are a second shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import trio

from teamchat.accounts.counters import counting
from teamchat.errors import TooManyRequests
from teamchat.model import now_ms
from teamchat.observability.logs import get_logger
from teamchat.storage.statements import in_pieces

if TYPE_CHECKING:
    from teamchat.interfaces import Storage
    from teamchat.settings import RateLimit

PIECES = 20
"""Into how many pieces the budget of a window is cut."""
MOST_NETWORKS = 20_000
MOST_WAITING = 1_000
MOST_AT_ONCE = 128
WAIT_SECONDS = 1.0
AWAY_SECONDS = 5.0
"""How long a storage that failed is not asked again."""
_SWEPT = 8  # more rows than were asked for: so the table shrinks again after an attack

_log = get_logger(__name__)
_counting = partial(counting, "request_windows", "network", "taken")


class _Lease:
    """A piece of a window's budget. `ends` is by Trio's clock; `is_last`: there is no more in this window."""

    __slots__ = ("ends", "is_last", "left", "window")

    def __init__(self, window: int, left: int, ends: float, *, is_last: bool) -> None:
        self.window = window
        self.left = left
        self.ends = ends
        self.is_last = is_last


class RequestLimit:
    """Counts the requests of networks."""

    def __init__(self, storage: Storage, limit: RateLimit, clock: Callable[[], int] = now_ms) -> None:
        self._storage = storage
        self._most = limit.attempts
        self._window_ms = limit.window_seconds * 1000
        self._piece = max(1, limit.attempts // PIECES)
        self._clock = clock
        self._alone = Windows(limit.attempts, limit.window_seconds)
        # In the order in which they were taken, which is nearly that in which they end.
        self._leases: dict[str, _Lease] = {}
        self._wanted: dict[str, None] = {}
        self._turn = trio.StrictFIFOLock()
        self._rests_until = self._is_away_until = 0.0

    async def count(self, network: str) -> None:
        """Count a request; raise `TooManyRequests` for one too many. Waits only to take a new piece."""
        while True:
            lease = self._leases.get(network)
            if lease is not None and (remaining := lease.ends - trio.current_time()) > 0:
                if lease.left:
                    lease.left -= 1
                    return
                if lease.is_last:
                    raise TooManyRequests(int(remaining) + 1)
            if not await self._take(network):
                self._alone.count(network)
                return

    async def _take(self, network: str) -> bool:
        """Take another piece for a network, and return whether that was possible."""
        if trio.current_time() < self._is_away_until or not self._has_room(network):
            return False
        before = self._leases.get(network)
        self._wanted[network] = None
        with trio.move_on_after(WAIT_SECONDS):
            async with self._turn:
                while network in self._wanted:  # Otherwise who came before has taken it along.
                    await self._take_all()
        return self._leases.get(network) is not before

    def _has_room(self, network: str) -> bool:
        if network in self._wanted or network in self._leases:
            return True
        while len(self._leases) + len(self._wanted) >= MOST_NETWORKS:
            oldest = next(iter(self._leases), None)
            if oldest is None or self._leases[oldest].ends > trio.current_time():
                return False
            del self._leases[oldest]
        return len(self._wanted) < MOST_WAITING

    async def _take_all(self) -> None:
        await trio.sleep_until(self._rests_until)
        networks = list(islice(self._wanted, MOST_AT_ONCE))
        for network in networks:
            del self._wanted[network]
        start = trio.current_time()
        try:
            now = self._clock()
            async with self._storage.write() as tx:
                taken = [
                    row
                    for piece in in_pieces(networks)
                    for row in await tx.fetch(_counting(len(piece)), *self._parameters(now, piece))
                ]
                await tx.fetch(
                    """delete from request_windows where network in
                       (select network from request_windows where window_start <= $1 limit $2)""",
                    now - self._window_ms,
                    len(networks) + _SWEPT,
                )
        except Exception as error:
            self._is_away_until = trio.current_time() + AWAY_SECONDS
            _log.warning("requests are counted by this process alone for a while", exc_info=error)
            return
        for network, window, used in taken:
            self._keep(network, window, used, now)
        end = trio.current_time()
        self._rests_until = end + (end - start)

    def _parameters(self, now: int, networks: Sequence[str]) -> tuple[object, ...]:
        return (now, now - self._window_ms, now + self._window_ms, self._piece, *networks)

    def _keep(self, network: str, window: int, used: int, now: int) -> None:
        """Keep the piece that brought the window begun at `window` to `used`, with what is left of others."""
        granted = self._piece - min(self._piece, max(0, used - self._most))
        before = self._leases.pop(network, None)
        if before is not None and before.window == window:
            granted += before.left
        remaining = max(0, min(self._window_ms, window + self._window_ms - now))
        ends = trio.current_time() + remaining / 1000
        self._leases[network] = _Lease(window, granted, ends, is_last=used >= self._most)


class Windows:
    """Counts requests in one process alone; forgets the oldest beyond 20,000 networks."""

    def __init__(self, attempts: int, window_seconds: float) -> None:
        self._attempts = attempts
        self._seconds = window_seconds
        self._windows: dict[str, tuple[float, int]] = {}

    def count(self, network: str) -> None:
        """Count a request; raise `TooManyRequests` for one too many."""
        now = trio.current_time()
        start, seen = self._windows.get(network, (now, 0))
        if now - start >= self._seconds:
            start, seen = now, 0
        if seen >= self._attempts:
            raise TooManyRequests(int(start + self._seconds - now) + 1)
        self._windows.pop(network, None)
        if len(self._windows) >= MOST_NETWORKS:
            del self._windows[next(iter(self._windows))]
        self._windows[network] = (start, seen + 1)
