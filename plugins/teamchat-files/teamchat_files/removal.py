"""What goes: uploads that expired, files that nobody attached, files past their time, and then their bytes.

Access ends in the transaction that removes a row.  Its bytes are noted in that same transaction, and removed
within a minute (extension G-3); a store that is away is asked again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio

from teamchat import Problem, StorageError
from teamchat.model import now_ms
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat_files import stored
from teamchat_files.attaching import remove
from teamchat_files.processing import tell
from teamchat_files.stored import DAY_MS

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat_files.options import FilesOptions

EVERY_SECONDS = 15.0
"""How often bytes are removed that are to go."""
KEPT_MS = DAY_MS
"""How long a file may stand in no message."""
_TOLD_MS = 7 * DAY_MS  # how long an upload that expired is answered 410
_AT_ONCE = 100
_DUE = "select key, state from files_doomed where due <= $1 and key > $2 order by key limit $3"
_EXPIRED = """select id, key, coalesce(state, ''), is_whole from files_uploads
where expires_at <= $1 and is_over = 0 order by expires_at limit $2"""
_LOOSE = """select id from files where message_id is null and created_at <= $1
order by created_at limit $2"""
_OLD = """select id, key from files where created_at <= $1 and message_id is not null and state <> 'expired'
order by created_at limit $2"""

_log = get_logger(__name__)


class Removal:
    """Removes what is to go. A service of the server."""

    name = "files-removal"

    def __init__(self, app: Teamchat, options: FilesOptions) -> None:
        self._app, self._options = app, options
        self._fails = False
        self._has_looked = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Remove bytes until cancelled."""
        task_status.started()
        outage = Outage(_log, "files that are to go can't be looked for and will be later")
        while True:
            with outage.noted(StorageError):
                await self.remove_doomed()
                if metrics.count_requests.is_on:
                    await self.measure()
            await trio.sleep(EVERY_SECONDS)

    async def sweep(self) -> None:
        """Remove what has had its time; a job of every hour."""
        now = now_ms()
        await self._expire_uploads(now)
        await self._remove_loose(now - KEPT_MS)
        if not self._has_looked:
            await self._let_go_unnamed()
            self._has_looked = True
        if self._options.retention_days:
            await self._expire_files(now - self._options.retention_days * DAY_MS)
        async with self._app.storage.write() as tx:
            await tx.fetch("delete from files_uploads where expires_at <= $1", now - _TOLD_MS)
            await tx.fetch("delete from files_tickets where expires_at <= $1", now)
            await tx.fetch("delete from files_spent where hour <= $1", now // 3_600_000 - 25)

    async def measure(self) -> None:
        """Have the metrics tell what the store has, and what it has room for."""
        try:
            free = await self._app.file_store.free_bytes()
        except (OSError, Problem):  # It is away; what is stored there is known all the same.
            free = None
        async with self._app.storage.read() as tx:
            [(count, size)] = await tx.fetch("select count(*), coalesce(sum(size), 0) from files_stored")
        metrics.files_stored.value, metrics.files_stored_bytes.value = int(count), int(size)
        metrics.files_free_bytes.value = math.nan if free is None else free
        metrics.files_reserve_bytes.value = self._options.reserve_bytes

    async def remove_doomed(self) -> None:
        """Remove the bytes that are to go from the store."""
        last = ""
        while True:
            async with self._app.storage.read() as tx:
                rows = await tx.fetch(_DUE, now_ms(), last, _AT_ONCE)
            for key, state in rows:
                await self._remove(key, state)
                last = key
            if len(rows) < _AT_ONCE:
                return

    async def _remove(self, key: str, state: str | None) -> None:
        store = self._app.file_store
        try:
            if state is not None:
                await store.abandon(key, state)
            await store.remove(key)
        except Exception as error:
            if not self._fails:
                _log.error("a file could not be removed and will be tried again", exc_info=error)
            self._fails = True
            return
        self._fails = False
        async with self._app.storage.write() as tx:
            await tx.fetch("delete from files_doomed where key = $1", key)

    async def _expire_uploads(self, now: int) -> None:
        while True:
            async with self._app.storage.write() as tx:
                rows = await tx.fetch(_EXPIRED, now, _AT_ONCE)
                for id_, key, state, is_whole in rows:
                    await tx.fetch("update files_uploads set is_over = 1 where id = $1", id_)
                    if not is_whole:
                        await stored.doom(tx, key, state)
                        metrics.uploads.add("expired")
            if len(rows) < _AT_ONCE:
                return

    async def _remove_loose(self, before: int) -> None:
        while True:
            async with self._app.storage.write() as tx:
                rows = await tx.fetch(_LOOSE, before, _AT_ONCE)
                await remove(tx, [id_ for (id_,) in rows])
            if len(rows) < _AT_ONCE:
                return

    async def _let_go_unnamed(self) -> None:
        """Doom bytes whose files went while the capability was off: nobody told it of deletions."""
        last = ""
        while True:
            async with self._app.storage.read() as tx:
                page = await stored.kept_after(tx, last, _AT_ONCE)
            unnamed = [key for key, has_file in page if not has_file and not stored.is_thumbnail(key)]
            if unnamed:
                async with self._app.storage.write() as tx:
                    await stored.let_go(tx, unnamed)
            if len(page) < _AT_ONCE:
                return
            last = page[-1][0]

    async def _expire_files(self, before: int) -> None:
        """Let files go whose messages stay, and tell who sees these (extension G-7)."""
        while True:
            async with self._app.storage.write() as tx:
                rows = await tx.fetch(_OLD, before, _AT_ONCE)
                for id_, key in rows:
                    await tx.fetch(
                        """update files set state = 'expired', key = '', todo = 0, small_key = null,
                        small_size = null, large_key = null, large_size = null where id = $1""",
                        id_,
                    )
                    await stored.let_go(tx, [key])
                    await tell(self._app, tx, id_)
            if len(rows) < _AT_ONCE:
                return
