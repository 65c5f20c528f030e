"""How pushes leave the processor to messages, however many are due at once.

Thousands of them would otherwise have it to themselves for seconds, and whoever posts meanwhile would wait,
for the event loop and for the database, whose processes may run on the same machine.
"""

from __future__ import annotations

import trio

_STEPS = 2
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
