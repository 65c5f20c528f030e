"""How long a client may keep the server waiting: a while, and longer only for what it sends or takes.

What must stay true: a slow client is not taken for one that stalls, and a byte now and then is no progress.
So every KiB adds a second to the patience that is left, up to `MOST_SECONDS`; whoever is slower than 1 KiB a
second in the long run uses it up.
"""

from __future__ import annotations

MOST_SECONDS = 30.0


def left(patience: float, waited: float, size: int) -> float:
    """Return the seconds that are left of a patience after a wait of so many seconds for so many bytes."""
    return min(MOST_SECONDS, patience - waited + size / 1024)
