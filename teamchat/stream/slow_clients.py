"""Slow-client timeouts: a stalled client is dropped after `MOST_SECONDS`, a slow one is served.

Every KiB that moves adds a second to the time that is left, up to `MOST_SECONDS`. So a byte now and then is
not progress: a client slower than 1 KiB a second in the long run is dropped.
"""

from __future__ import annotations

MOST_SECONDS = 30.0


def time_left(timeout: float, waited: float, size: int) -> float:
    """Return the seconds that are left of `timeout` after a wait of `waited` seconds for `size` bytes."""
    return min(MOST_SECONDS, timeout - waited + size / 1024)
