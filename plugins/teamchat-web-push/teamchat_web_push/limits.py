"""How often a user may have a device tried: each try is a request of this server's to a push service."""

from __future__ import annotations

import trio

A_MINUTE = 10
_MINUTE = 60.0
_MOST_USERS = 10_000


class Limits:
    """Counts the tries of each user; each process counts for itself."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[float, int]] = {}

    def count(self, user_id: str) -> int | None:
        """Count a try; return after how many seconds to ask again if it is one too many, else None."""
        now = trio.current_time()
        begun, count = self._windows.pop(user_id, (now, 0))
        if now - begun >= _MINUTE:
            begun, count = now, 0
        if len(self._windows) >= _MOST_USERS:
            del self._windows[next(iter(self._windows))]
        self._windows[user_id] = begun, count + 1
        return int(begun + _MINUTE - now) + 1 if count >= A_MINUTE else None
