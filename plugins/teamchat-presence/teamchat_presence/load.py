"""Whether the server is so busy that presence has to wait: messages go first (extension I-5)."""

from __future__ import annotations

import trio

from teamchat import Unavailable

LOOK_SECONDS = 0.5
LATE_SECONDS = 1.0
"""How late the event loop may come back to a sleeper before presence gives way."""
REST_SECONDS = 5


class Load:
    """Watches how late the event loop is."""

    def __init__(self) -> None:
        self._busy_until = float("-inf")

    @property
    def is_high(self) -> bool:
        """Whether presence gives way now."""
        return trio.current_time() < self._busy_until

    def check(self) -> None:
        """Raise `Unavailable` with a time to come back while presence gives way."""
        if self.is_high:
            raise Unavailable("The server is busy; ask for presence again later.", REST_SECONDS)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            before = trio.current_time()
            await trio.sleep(LOOK_SECONDS)
            self.slept(trio.current_time() - before - LOOK_SECONDS)

    def slept(self, late: float) -> None:
        """A sleeper came back so many seconds late."""
        if late > LATE_SECONDS:
            self._busy_until = trio.current_time() + REST_SECONDS
