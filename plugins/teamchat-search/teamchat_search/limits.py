"""How much one user may search: so many a minute, two at a time (extension F-5).

Each process counts for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from teamchat import TooManyRequests

AT_ONCE = 2
_MINUTE = 60.0
_MOST_USERS = 20_000


class Limits:
    """Counts the searches of each user."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._running: dict[str, int] = {}
        self._windows: dict[str, tuple[float, int]] = {}

    @contextmanager
    def taken(self, user_id: str) -> Iterator[None]:
        """Count a search as long as it runs. Raises `TooManyRequests`."""
        self._count(user_id)
        running = self._running.get(user_id, 0)
        if running >= AT_ONCE:
            raise TooManyRequests(1)
        self._running[user_id] = running + 1
        try:
            yield
        finally:
            if self._running[user_id] == 1:
                del self._running[user_id]
            else:
                self._running[user_id] -= 1

    def _count(self, user_id: str) -> None:
        now = trio.current_time()
        begun, count = self._windows.pop(user_id, (now, 0))
        if now - begun >= _MINUTE:
            begun, count = now, 0
        if len(self._windows) >= _MOST_USERS:
            del self._windows[next(iter(self._windows))]
        self._windows[user_id] = begun, count + 1
        if count >= self._per_minute:
            raise TooManyRequests(int(begun + _MINUTE - now) + 1)
