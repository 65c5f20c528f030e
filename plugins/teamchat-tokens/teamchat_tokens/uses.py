"""When each token was used last, and from which address: written now and then, never by a request.

A process writes a token's use at once if it has written none for five minutes, or none from that address for
one; what comes in between is told by the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat import StorageError
from teamchat.model import now_ms
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage

if TYPE_CHECKING:
    from teamchat import Storage

PAUSE_SECONDS = 300.0
PAUSE_OF_ANOTHER_ADDRESS_SECONDS = 60.0
_TOGETHER_SECONDS = 0.5
_MOST = 10_000

_log = get_logger(__name__)


class Uses:
    """Keeps what is to be written, and writes it: a service of the server."""

    name = "uses of tokens"

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._written: dict[str, tuple[float, str]] = {}
        self._due: dict[str, tuple[int, str]] = {}
        self._is_due = trio.Event()

    def note(self, id_: str, ip: str) -> None:
        """Note that a token was used."""
        at, address = self._written.get(id_, (float("-inf"), ""))
        pause = PAUSE_SECONDS if address == ip else PAUSE_OF_ANOTHER_ADDRESS_SECONDS
        if trio.current_time() - at < pause:
            return
        self._written.pop(id_, None)
        self._written[id_] = trio.current_time(), ip
        while len(self._written) > _MOST:
            del self._written[next(iter(self._written))]
        self._due[id_] = now_ms(), ip
        self._is_due.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write until cancelled."""
        task_status.started()
        outage = Outage(_log, "when tokens were used can't be written")
        while True:
            await self._is_due.wait()
            await trio.sleep(_TOGETHER_SECONDS)
            self._is_due = trio.Event()
            due, self._due = self._due, {}
            with outage.noted(StorageError):
                await self._write(due)

    async def _write(self, due: dict[str, tuple[int, str]]) -> None:
        async with self._storage.write() as tx:
            for id_, (at, ip) in sorted(due.items()):
                await tx.fetch(
                    """update tokens set last_used_at = $2, ip = $3
                       where id = $1 and (last_used_at is null or last_used_at < $2)""",
                    *(id_, at, ip),
                )
