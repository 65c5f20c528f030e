"""What is done with a file once all its bytes are there, before others have it (extension G-8).

The place where a photograph was taken is removed from it, checks look at it, and thumbnails are made.  A
process claims a file for a while before it does so; one that dies leaves it to another.  What fails for a
reason that may pass is done again, later and later; a file that nobody could look at stays ``checking``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple

import trio

from teamchat import CheckedFile, FileStore, StorageError, Transaction
from teamchat.model import now_ms
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat_files import stored
from teamchat_files.durations import duration_ms
from teamchat_files.location import Read, location_patches, patched
from teamchat_files.media_types import is_picture
from teamchat_files.stored import FileRow, State
from teamchat_files.thumbnails import Thumbnailer, Thumbnails, open_thumbnailer
from teamchat_files.turns import Turns

if TYPE_CHECKING:
    from teamchat import FileCheck, Teamchat
    from teamchat_files.options import FilesOptions

CLAIM_MS = 120_000
"""How long a process has to look at a file before another one may; it claims it again meanwhile."""
WAIT_SECONDS = 5.0
"""How long the last request of an upload waits for that at most."""
POLL_SECONDS = 10.0
_AT_ONCE = 3
_MOST_WAITING = 1_000
_MAKING_MS = 60 * 60 * 1000  # what was not noted by then was left by a process that died
_LONGEST_MS = 60 * 60 * 1000
_CLAIM = """update files set claimed_until = $2, attempts = attempts + 1
where id = $1 and todo = 1 and claimed_until <= $3 returning attempts"""
_AGAIN = "update files set claimed_until = $2 where id = $1 and todo = 1"
_WAITING = (
    "select uploader_id, id from files where todo = 1 and claimed_until <= $1 order by claimed_until limit $2"
)
_DONE = """update files set todo = 0, state = $2, key = $3, width = $4, height = $5, duration = $6,
small_key = $7, small_size = $8, large_key = $9, large_size = $10 where id = $1 and todo = 1 returning id"""

_log = get_logger(__name__)


class _Found(NamedTuple):
    """What became of a file: where its bytes are now, its state, and what is known of it."""

    key: str
    state: State
    thumbnails: Thumbnails | None = None
    duration: int | None = None


class Processing:
    """Looks at new files. A service of the server; `process` hands it one."""

    name = "files-processing"

    def __init__(self, app: Teamchat, options: FilesOptions) -> None:
        self._app, self._options = app, options
        self._waiting: dict[str, trio.Event] = {}
        self._turns: Turns | None = None
        self._thumbnailer: Thumbnailer | None = None

    async def process(self, uploader_id: str, file_id: str) -> None:
        """Have a file looked at, and wait `WAIT_SECONDS` for that at most; without a server nobody does."""
        if self._turns is None or not self._turns.put(uploader_id, file_id):
            return  # It is found when its turn comes.
        done = self._waiting.setdefault(file_id, trio.Event())
        with trio.move_on_after(WAIT_SECONDS):
            await done.wait()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Look at files until cancelled."""
        self._turns = turns = Turns(_MOST_WAITING)
        async with open_thumbnailer() as self._thumbnailer, trio.open_nursery() as nursery:
            for _ in range(_AT_ONCE):
                nursery.start_soon(self._take_turns, turns)
            nursery.start_soon(self._look_for_more, turns)
            task_status.started()

    async def _take_turns(self, turns: Turns) -> None:
        while True:
            file_id = await turns.take()
            try:
                await self.look_at(file_id)
            except Exception as error:
                _log.error("a file could not be looked at and will be again", exc_info=error)
            finally:
                done = self._waiting.pop(file_id, None)
                if done is not None:
                    done.set()

    async def _look_for_more(self, turns: Turns) -> None:
        """Find what a process has left, and what is to be tried again."""
        outage = Outage(_log, "files that wait can't be looked for and will be later")
        while True:
            with outage.noted(StorageError):
                async with self._app.storage.read() as tx:
                    found = await tx.fetch(_WAITING, now_ms(), 100)
                for uploader_id, file_id in found:
                    if file_id not in self._waiting and turns.put(uploader_id, file_id):
                        self._waiting[file_id] = trio.Event()
            await trio.sleep(POLL_SECONDS)

    async def look_at(self, file_id: str) -> None:
        """Do what is to be done with a file, unless another process does."""
        now = now_ms()
        async with self._app.storage.write() as tx:
            claimed = await tx.fetch(_CLAIM, file_id, now + CLAIM_MS, now)
            row = await stored.file(tx, file_id) if claimed else None
        if row is None:
            return
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_claim, file_id)
                found = await self._found(row)
                nursery.cancel_scope.cancel()
        except Exception:
            metrics.files_looked_at.add("failed")
            await self._again(file_id, int(claimed[0][0]))
            raise
        metrics.files_looked_at.add(found.state)
        await self._done(row, found)

    async def _keep_claim(self, file_id: str) -> None:
        while True:
            await trio.sleep(CLAIM_MS / 3000)
            async with self._app.storage.write() as tx:
                await tx.fetch(_AGAIN, file_id, now_ms() + CLAIM_MS)

    async def _again(self, file_id: str, attempts: int) -> None:
        wait = min(_LONGEST_MS, 5_000 * 2 ** min(attempts, 20))
        async with self._app.storage.write() as tx:
            await tx.fetch(_AGAIN, file_id, now_ms() + wait)

    async def _found(self, row: FileRow) -> _Found:
        if not await self._is_harmless(row, self._app.file_checks):
            return _Found("", "blocked")
        key = await self._without_location(row)
        thumbnails = None
        if is_picture(row.media_type) and self._thumbnailer is not None:
            async with aclosing(self._bytes(key)) as chunks:
                thumbnails = await self._thumbnailer.make(chunks, row.size)
        duration = await duration_ms(self._reader(row), row.size, row.media_type)
        return _Found(key, "ready", thumbnails, duration)

    def _reader(self, row: FileRow) -> Read:
        """Return what reads some bytes of a file."""

        async def read(offset: int, length: int) -> bytes:
            async with aclosing(self._bytes(row.key, offset, min(offset + length, row.size))) as chunks:
                return b"".join([chunk async for chunk in chunks])

        return read

    async def _is_harmless(self, row: FileRow, checks: Sequence[FileCheck]) -> bool:
        """Ask all checks. Whatever one raises means that it can't tell now."""
        for check in checks:
            async with aclosing(self._bytes(row.key)) as chunks:
                asked = CheckedFile(row.id, row.name, row.media_type, row.size)
                if not await check.check(asked, chunks):
                    _log.warning("a file was blocked", file=row.id, check=check.name)
                    return False
        return True

    async def _without_location(self, row: FileRow) -> str:
        """Return the key under which the bytes are without the place where they were taken."""
        if not self._options.strip_location:
            return row.key
        patches = await location_patches(self._reader(row), row.size, row.media_type)
        if not patches:
            return row.key
        key = f"{row.id}-{now_ms():x}"
        async with aclosing(self._bytes(row.key)) as chunks:
            await self._keep(key, row.size, patched(chunks, patches))
        return key

    async def _keep(self, key: str, size: int, pieces: AsyncIterator[bytes]) -> None:
        await stored.put(self._app.storage, self._store, key, size, pieces, due=now_ms() + _MAKING_MS)

    async def _bytes(self, key: str, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        chunks = await self._store.read(key, start, stop)
        if chunks is None:
            raise OSError("the bytes of a file are not in the store")
        try:
            async for chunk in chunks:
                yield bytes(chunk)
        finally:
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()

    async def _done(self, row: FileRow, found: _Found) -> None:
        small = large = None
        pictures = found.thumbnails
        if pictures is not None:
            small, large = stored.small_key(found.key), stored.large_key(found.key)
            for key, data in ((small, pictures.small), (large, pictures.large)):
                async with self._app.storage.write() as tx:
                    await stored.doom(tx, key, due=now_ms() + _MAKING_MS)
                await self._store.put(key, data)
        async with self._app.storage.write() as tx:
            changed = await tx.fetch(
                _DONE,
                row.id,
                found.state,
                found.key,
                pictures.width if pictures else None,
                pictures.height if pictures else None,
                found.duration,
                small,
                len(pictures.small) if pictures else None,
                large,
                len(pictures.large) if pictures else None,
            )
            if not changed:  # It is gone, or another process was faster.
                await stored.let_go_of_made(tx, found.key)
                return
            if pictures is not None and small is not None and large is not None:
                await stored.now_kept(tx, small, len(pictures.small))
                await stored.now_kept(tx, large, len(pictures.large))
            if found.key != row.key:
                if found.key:
                    await stored.now_kept(tx, found.key, row.size)
                await stored.let_go(tx, [row.key])
            await self.tell(tx, row.id)

    async def tell(self, tx: Transaction, file_id: str) -> None:
        """Tell those who see its message that a file has changed."""
        await tell(self._app, tx, file_id)

    @property
    def _store(self) -> FileStore:
        return self._app.file_store


async def tell(app: Teamchat, tx: Transaction, file_id: str) -> None:
    """Tell those who see its message that a file has changed; without a message, nobody."""
    row = await stored.file(tx, file_id)
    if row is None or row.message_id is None:
        return
    place = await app.message_place(tx, row.message_id)
    if place is not None:
        await tx.append(row.changed().to(place.audience))
