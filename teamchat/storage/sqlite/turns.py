"""Who writes next, among the processes that share one SQLite file.

SQLite lets one connection write at a time and keeps no queue. A process with much to write takes the lock
again microseconds after it gave it back, and another that asks now and then would hardly ever find it free.
So a process that waits says so, by holding a shared ``flock`` on a file beside the database; and a process
that has just written looks there before it writes again, and steps aside for a moment.

Nothing blocks the event loop, because waiting means sleeping on Trio's clock. SQLite's own lock alone decides
who may write; this file only decides who asks first. A process that dies no longer waits, because the kernel
releases its ``flock``.
"""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Callable
from pathlib import Path

import trio

_FIRST_PAUSE = 0.0005  # seconds between two attempts
_LONGEST_PAUSE = 0.004
_GROWTH = 1.3
_ASIDE_SECONDS = 0.01  # how long others may go first, at most
_LOOK_SECONDS = 0.0005  # how often who stands aside looks whether they have gone


class Turns:
    """One process's place among those that write. `path` is the file they have in common."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._has_written = False

    async def take(self, attempt: Callable[[], bool], deadline: float) -> bool:
        """Make attempts to take the lock until one succeeds; return False if none did by the deadline.

        At least one is made. `deadline` is on Trio's clock.
        """
        if self._has_written:
            await self._let_others_go_first()
        return attempt() or await self._keep_asking(attempt, deadline)

    def wrote(self) -> None:
        """Note that this process has just written: others who wait come first now."""
        self._has_written = True

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    async def _let_others_go_first(self) -> None:
        self._has_written = False
        until = trio.current_time() + _ASIDE_SECONDS
        # Other processes hold the file: there is no event to wait for.
        while self._others_wait() and trio.current_time() < until:  # noqa: ASYNC110
            await trio.sleep(_LOOK_SECONDS)

    async def _keep_asking(self, attempt: Callable[[], bool], deadline: float) -> bool:
        pause, is_announced = _FIRST_PAUSE, False
        try:
            while trio.current_time() < deadline:
                is_announced = is_announced or self._locked(fcntl.LOCK_SH)
                await trio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads attempts
                if attempt():
                    return True
                pause = min(pause * _GROWTH, _LONGEST_PAUSE)
            return False
        finally:
            if is_announced:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _others_wait(self) -> bool:
        if self._locked(fcntl.LOCK_EX):
            fcntl.flock(self._file, fcntl.LOCK_UN)
            return False
        return True

    def _locked(self, how: int) -> bool:
        try:
            fcntl.flock(self._file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
