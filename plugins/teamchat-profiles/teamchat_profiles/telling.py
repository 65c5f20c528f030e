"""The service that tells of users whose turn has come: a status has ended, or two changes came at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat import StorageError
from teamchat.model import now_ms
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat_profiles.profiles import tell

if TYPE_CHECKING:
    from teamchat import Teamchat

SECONDS = 2.0
_BATCH = 100

_log = get_logger(__name__)


class Telling:
    """Looks every two seconds; it may run in several processes, of which one tells each change."""

    name = "profiles"

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Look, for as long as the server runs."""
        task_status.started()
        outage = Outage(_log, "changes of profiles can't be told and will be later")
        while True:
            with outage.noted(StorageError):
                while await self.tell_due():
                    pass
            await trio.sleep(SECONDS)

    async def tell_due(self) -> bool:
        """Tell of some whose turn it is; return whether there were as many as are told at once."""
        now, due = now_ms(), "select user_id from profiles where due_at <= $1 order by due_at limit $2"
        async with self._app.storage.read() as tx:
            if not await tx.fetch(due, now, 1):
                return False
        async with self._app.storage.write() as tx:
            rows = await tx.fetch(due, now, _BATCH)
            for (user_id,) in rows:
                await tell(tx, self._app, user_id, now)
        return len(rows) == _BATCH
