"""How far the log reaches, asked with nearly every request.

The answer counts every commit, of whatever server, that returned before the question was
put.  So it is never given from memory, nor by what LISTEN told, which comes later than a commit; the database
is asked, with one tiny statement.  But those who ask while a statement is under way share the next one: it
begins after all of them have asked.
"""

from __future__ import annotations

import trio

from teamchat import StorageError
from teamchat_storage_postgres.failures import DatabaseUnavailable
from teamchat_storage_postgres.pool import Pool

_LAST = "select last from teamchat_log_end"


class _Round:
    """Those who wait for the same statement."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.position = 0
        self.error: StorageError | None = DatabaseUnavailable("is not asked any more")


class Position:
    """Asks on a connection of its own, in a task of its own: nobody who asks can spoil it for the others."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._round = _Round()
        self._wanted = trio.Event()

    async def ask(self) -> int:
        """Return the number of the last event committed. Raises `DatabaseUnavailable`."""
        joined = self._round
        self._wanted.set()
        await joined.done.wait()
        if joined.error is not None:
            raise joined.error
        return joined.position

    async def run(self) -> None:
        """Answer until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            asked, self._round = self._round, _Round()
            try:
                [(asked.position,)] = await self._pool.ask(_LAST)
                asked.error = None
            except StorageError as error:
                asked.error = error
            finally:
                asked.done.set()
