"""Uploads that resume: tus 1.0 over a store of files (extensions G-1, G-6).

An upload's row says how far it is: what the row says is durable in the store.  Bytes are written outside any
transaction; then one transaction moves the offset on, if the upload still is where the request took it up and
no newer request has taken it over.  So of two requests at once one wins, a process that dies loses what it
had not acknowledged and nothing else, and any process goes on where another has stopped.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import trio

from teamchat import (
    ChecksumMismatch,
    Conflict,
    FileStore,
    Forbidden,
    Gone,
    KeyedRequest,
    NotFound,
    Problem,
    StorageFull,
    TooLarge,
    TooManyRequests,
    Transaction,
)
from teamchat.model import Caller, now_ms
from teamchat.observability import metrics
from teamchat_files import stored
from teamchat_files.media_types import HEAD_BYTES, media_type
from teamchat_files.retried import Brought
from teamchat_files.tus import Checksum, Metadata

if TYPE_CHECKING:
    from teamchat import Room, Teamchat
    from teamchat_files.options import FilesOptions

LASTS_MS = 24 * 60 * 60 * 1000
"""How long an upload may take."""
_HOUR_MS = 60 * 60 * 1000
_LOCK_SECONDS = 10.0
# Of many uploads that begin, go on or end at once so many write to the database: who writes a message
# meanwhile waits for these and not for all, and the uploads do not stay in step.
_WRITING = 2
_COLUMNS = """id, place_id, uploader_id, key, name, declared, size, written, state, writer, is_whole, is_over,
created_at, expires_at, brought"""
_MINE = f"select {_COLUMNS} from files_uploads where id = $1 and uploader_id = $2"  # noqa: S608
_UNFINISHED = "select coalesce(sum(size), 0) from files_uploads where is_whole = 0 and is_over = 0"
_UNWRITTEN = "select coalesce(sum(size - written), 0) from files_uploads where is_whole = 0 and is_over = 0"
_SPENT = "select coalesce(sum(size), 0) from files_spent where user_id = $1 and hour > $2"
_SPEND = """insert into files_spent (user_id, hour, size) values ($1, $2, $3)
on conflict (user_id, hour) do update set size = files_spent.size + excluded.size"""
_TAKE_UP = """update files_uploads set writer = $3 where id = $1 and written = $2 and is_over = 0
returning id"""
_MOVE_ON = """update files_uploads set written = $4, state = $5, brought = coalesce($6, brought)
where id = $1 and writer = $2 and written = $3 and is_over = 0 returning id"""
_LOSE = """update files_uploads set is_over = 1
where id = $1 and writer = $2 and is_whole = 0 and is_over = 0 returning id"""

Process = Callable[[str, str], Awaitable[None]]
"""Has a new file looked at, and waits for that, though not for ever."""


class Upload(NamedTuple):
    """An upload as it is stored."""

    id: str
    place_id: str
    uploader_id: str
    key: str
    name: str
    declared: str
    size: int
    written: int
    state: str | None
    writer: str
    is_whole: int
    is_over: int
    created_at: int
    expires_at: int
    brought: str | None

    @property
    def is_complete(self) -> bool:
        """Whether all bytes have arrived."""
        return self.written == self.size


class Uploads:
    """The uploads of a server."""

    def __init__(self, app: Teamchat, options: FilesOptions, process: Process) -> None:
        self._app, self._options, self._process = app, options, process
        self._writing: dict[str, _Incoming] = {}
        self._turns = trio.CapacityLimiter(_WRITING)

    @property
    def _store(self) -> FileStore:
        return self._app.file_store

    @asynccontextmanager
    async def _write_tx(self) -> AsyncIterator[Transaction]:
        """Write to the database when it is the request's turn among those of all uploads."""
        async with self._turns, self._app.storage.write() as tx:
            yield tx

    # Beginning one

    async def check_place(self, caller: Caller, place_id: str) -> None:
        """Raise `NotFound` or `Forbidden` unless the caller may write something in a place."""
        async with self._app.storage.read() as tx:
            await self.place(tx, caller, place_id)

    async def begin(
        self, caller: Caller, about: Metadata, size: int, key: str | None = None, *, brings: bool
    ) -> Upload:
        """Reserve room for a file of `size` bytes, and return its upload, which has none of them yet.

        With a `key` (Idempotency-Key) the upload may be one of before; `brings` says that bytes come along.
        Raises `TooLarge`, `TooManyRequests` and `StorageFull` for limits, and `BadRequest` for a key of
        another request, or of an upload that was ended.
        """
        self.check_size(size)
        free = await self._store.free_bytes()
        request = KeyedRequest(caller.user.id, "files", key)
        async with self._write_tx() as tx:
            await self.place(tx, caller, about.place_id)
            begin = partial(self._begin, tx, caller, about, size, free)
            return await request.once(tx, [size, brings, *about], begin, partial(_own, tx, caller))

    async def _begin(
        self, tx: Transaction, caller: Caller, about: Metadata, size: int, free: int | None
    ) -> str:
        now = now_ms()
        await self._reserve(tx, caller, size, free, now)
        made = Upload(
            id=secrets.token_hex(16),
            place_id=about.place_id,
            uploader_id=caller.user.id,
            key=secrets.token_hex(16),
            name=about.filename,
            declared=about.filetype,
            size=size,
            written=0,
            state=None,
            writer="",
            is_whole=0,
            is_over=0,
            created_at=now,
            expires_at=now + LASTS_MS,
            brought=None,
        )
        await tx.fetch(
            f"""insert into files_uploads ({_COLUMNS}) values
            ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)""",  # noqa: S608
            *made,
        )
        metrics.uploads.add("begun")
        return made.id

    def check_size(self, size: int) -> None:
        """Raise `TooLarge` for a file that is larger than one may be."""
        if size > self._options.max_bytes:
            metrics.uploads.add("too large")
            raise TooLarge(f"A file has at most {self._options.max_bytes} bytes here.")

    async def place(self, tx: Transaction, caller: Caller, place_id: str) -> Room:
        """Return a place that the caller may write in. Raises `NotFound` or `Forbidden` for any other."""
        room = await self._app.room(tx, caller, place_id)
        if room.is_archived:
            raise Forbidden("The channel is archived.")
        return room

    async def _reserve(self, tx: Transaction, caller: Caller, size: int, free: int | None, now: int) -> None:
        """Note what is reserved, within the transaction that inserts the row: so none passes with another."""
        options, hour = self._options, now // _HOUR_MS
        if options.bytes_per_day is not None:
            [(spent,)] = await tx.fetch(_SPENT, caller.user.id, hour - 24)
            if int(spent) + size > options.bytes_per_day:
                metrics.uploads.add("over quota")
                raise TooManyRequests(
                    3600, f"You may upload {options.bytes_per_day} bytes in 24 hours. Try again later."
                )
        if options.total_bytes is not None:
            [(unfinished,)] = await tx.fetch(_UNFINISHED)
            [(kept,)] = await tx.fetch("select coalesce(sum(size), 0) from files_stored")
            if int(unfinished) + int(kept) + size > options.total_bytes:
                metrics.uploads.add("no room")
                raise StorageFull("The server has no room for more files.")
        if free is not None:
            [(unwritten,)] = await tx.fetch(_UNWRITTEN)
            if free - int(unwritten) - size < options.reserve_bytes:
                metrics.uploads.add("no room")
                raise StorageFull("The server has no room for files any more.")
        await tx.fetch(_SPEND, caller.user.id, hour, size)

    # Going on with one

    async def find(self, caller: Caller, upload_id: str) -> Upload:
        """Return an upload of the caller's own, in whose place they may still write.

        Raises `NotFound` for any other, and `Gone` for one that has expired.
        """
        async with self._app.storage.read() as tx:
            return await self._find(tx, caller, upload_id)

    async def _find(
        self, tx: Transaction, caller: Caller, upload_id: str, *, is_ended: bool = False
    ) -> Upload:
        found = await _own(tx, caller, upload_id)
        # In an archived channel nothing is written, but what one may delete is deleted (extension B-6).
        await (self._app.room if is_ended else self.place)(tx, caller, found.place_id)
        if found.is_over or found.expires_at <= now_ms():
            raise Gone("This upload has expired. Begin it anew.")
        return found

    async def where(self, caller: Caller, upload_id: str) -> Upload:
        """Return an upload for who asks how far it is; one that has all its bytes is a file then."""
        found = await self.find(caller, upload_id)
        if found.is_complete and not found.is_whole:
            await self._complete(found)
        return found

    async def write(
        self,
        caller: Caller,
        upload: Upload,
        pieces: AsyncIterator[bytes],
        *,
        length: int | None,
        checksum: Checksum | None = None,
        may_come_again: bool = False,
    ) -> int:
        """Write what a request brings from where the upload is, and return how far it is then.

        What one brings that `may_come_again` is noted for the upload (`teamchat_files.retried`).
        Raises `Conflict` if it is elsewhere by now, `ChecksumMismatch`, `TooLarge` for more than is missing,
        and `StorageFull`.
        """
        left = upload.size - upload.written
        if length is not None and length > left:
            raise TooLarge("The request brings more bytes than are missing.")
        if not left:
            return await self._nothing_more(upload, _Incoming(pieces, 0, checksum, is_noted=False))
        await self._check_room(min(left, length or self._options.chunk_bytes))
        writer = secrets.token_hex(8)
        async with self._write_tx() as tx:
            await self._find(tx, caller, upload.id)
            if not await tx.fetch(_TAKE_UP, upload.id, upload.written, writer):
                raise Conflict("The upload is at another offset.")
        incoming = _Incoming(pieces, left, checksum, is_noted=may_come_again)
        earlier, self._writing[upload.id] = self._writing.get(upload.id), incoming
        try:
            if earlier is not None:
                await earlier.give_way()
            return await self._write(upload._replace(writer=writer), incoming, length)
        finally:
            incoming.is_done.set()
            if self._writing.get(upload.id) is incoming:
                del self._writing[upload.id]

    async def _nothing_more(self, upload: Upload, incoming: _Incoming) -> int:
        """Take the body of a request that goes on at the end: there may be nothing in it."""
        async for _ in incoming:
            pass
        incoming.check(0)
        if incoming.failure is not None:
            raise incoming.failure
        return upload.written

    async def _write(self, upload: Upload, incoming: _Incoming, length: int | None) -> int:
        state = upload.state
        if state is None:
            state = await self._store.begin(upload.key, upload.size)
        async with self._noticing_loss(upload):
            written, state = await self._in_turn(upload, state, incoming, length)
        incoming.check(written - upload.written)
        brought = incoming.brought(written - upload.written)
        async with self._write_tx() as tx:
            moved = await tx.fetch(
                _MOVE_ON, upload.id, upload.writer, upload.written, written, state, brought
            )
        if not moved:
            raise Conflict("Another request goes on with this upload.")
        if incoming.failure is not None:
            raise incoming.failure
        if written == upload.size:
            await self._complete(upload._replace(written=written, state=state))
        return written

    async def _in_turn(
        self, upload: Upload, state: str, incoming: _Incoming, length: int | None
    ) -> tuple[int, str]:
        """Write; another process that still does, for a request whose line is cut perhaps, is waited for."""
        deadline = trio.current_time() + _LOCK_SECONDS
        while True:
            try:
                return await self._store.write(
                    upload.key, upload.size, state, upload.written, incoming, length
                )
            except Conflict:
                if incoming.has_begun or trio.current_time() > deadline:
                    raise
            await trio.sleep(0.1)

    async def _check_room(self, size: int) -> None:
        free = await self._store.free_bytes()
        if free is not None and free - size < self._options.reserve_bytes:
            raise StorageFull("The server has no room for files any more.")

    # Ending one

    @asynccontextmanager
    async def _noticing_loss(self, upload: Upload) -> AsyncIterator[None]:
        """End an upload whose bytes are not in the store any more: moves and backups have finished files."""
        try:
            yield
        except Gone:
            async with self._write_tx() as tx:
                ended = await tx.fetch(_LOSE, upload.id, upload.writer)
                if ended:
                    await stored.doom(tx, upload.key, upload.state or "")
            raise

    async def _complete(self, upload: Upload) -> None:
        """Make a file of an upload that has all its bytes; again and again, if that is how it comes."""
        state = upload.state
        if state is None:
            state = await self._store.begin(upload.key, upload.size)
        async with self._noticing_loss(upload):
            await self._store.finish(upload.key, upload.size, state)
        kind = media_type(await self._head(upload.key), name=upload.name, declared=upload.declared)
        made = stored.FileRow(
            upload.id,
            upload.place_id,
            upload.uploader_id,
            upload.key,
            upload.name,
            kind,
            upload.size,
            "checking",
            *(None,) * 7,
            created_at=now_ms(),
            message_id=None,
            todo=1,
        )
        async with self._write_tx() as tx:
            rows = await tx.fetch(
                "update files_uploads set is_whole = 1 where id = $1 and is_whole = 0 and is_over = 0"
                " returning id",
                upload.id,
            )
            if not rows:
                return  # Somebody else has made one, or has ended it.
            await stored.insert(tx, made)
        metrics.uploads.add("finished")
        await self._process(upload.uploader_id, upload.id)

    async def _head(self, key: str) -> bytes:
        chunks = await self._store.read(key, 0, HEAD_BYTES)
        return b"" if chunks is None else b"".join([bytes(one) async for one in chunks])

    async def end(self, caller: Caller, upload_id: str) -> None:
        """End an upload: what has arrived is removed, unless it stands in a message."""
        async with self._write_tx() as tx:
            upload = await self._find(tx, caller, upload_id, is_ended=True)
            await tx.fetch("delete from files_uploads where id = $1", upload.id)
            if upload.is_whole:
                rows = await tx.fetch(
                    "delete from files where id = $1 and message_id is null returning key", upload.id
                )
                await stored.let_go(tx, [key for (key,) in rows])
            else:
                await stored.doom(tx, upload.key, upload.state or "")
        if not upload.is_whole:
            metrics.uploads.add("ended")
        writing = self._writing.get(upload_id)
        if writing is not None:
            writing.stop()


async def _own(tx: Transaction, caller: Caller, upload_id: str) -> Upload:
    rows = await tx.fetch(_MINE, upload_id, caller.user.id)
    if not rows:
        raise NotFound("No such upload.")
    return Upload(*rows[0])


class _Incoming:
    """The bytes of one request on their way to the store: counted, hashed, and ended without an error.

    What the store is given ends early where the line is cut, so that it keeps what came; `failure` says what
    went wrong.
    """

    def __init__(
        self, pieces: AsyncIterator[bytes], most: int, checksum: Checksum | None, *, is_noted: bool
    ) -> None:
        self._pieces, self._left, self._checksum = pieces, most, checksum
        self._noted = hashlib.sha256() if is_noted else None
        self._hasher = checksum.hasher() if checksum is not None else None
        self._waiting: trio.CancelScope | None = None
        self._is_stopped = False
        self._arrived = 0
        self.has_begun = False
        self.failure: Problem | None = None
        self.is_done = trio.Event()

    def __aiter__(self) -> _Incoming:
        return self

    async def __anext__(self) -> bytes:
        self.has_begun = True
        if self.failure is not None:
            raise StopAsyncIteration
        piece = b""
        try:
            if not self._is_stopped:
                with trio.CancelScope() as self._waiting:
                    piece = await anext(self._pieces)
        except Problem as problem:
            self.failure = problem
        if self._is_stopped:
            self.failure = Conflict("Another request goes on with this upload.")
        elif len(piece) > self._left:
            self.failure = TooLarge("The request brings more bytes than are missing.")
        if self.failure is not None:
            raise StopAsyncIteration
        self._left -= len(piece)
        self._arrived += len(piece)
        metrics.file_bytes_received.value += len(piece)
        for hasher in (self._hasher, self._noted):
            if hasher is not None:
                hasher.update(piece)
        return piece

    def stop(self) -> None:
        """Take no more: a newer request goes on with the upload, or it was ended."""
        self._is_stopped = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def give_way(self) -> None:
        """Stop, and wait until the store has let go."""
        self.stop()
        with trio.move_on_after(_LOCK_SECONDS):
            await self.is_done.wait()

    def check(self, kept: int) -> None:
        """Raise `ChecksumMismatch` unless what was kept is all that has the checksum."""
        if self._checksum is None or self._hasher is None:
            return
        if self.failure is not None:
            raise self.failure
        if kept != self._arrived or self._hasher.digest() != self._checksum.digest:
            raise ChecksumMismatch("What arrived is not what Upload-Checksum is of. Send it again.")

    def brought(self, kept: int) -> str | None:
        """Return what is to be noted of a request that may come again; of a part nobody knows the digest."""
        if self._noted is None or not kept or kept != self._arrived:
            return None
        return Brought.of(kept, self._noted, is_all=self.failure is None).noted()
