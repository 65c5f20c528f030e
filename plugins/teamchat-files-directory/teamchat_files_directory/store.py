"""Files in one directory: what is finished under its key, what is not under the key with ``.part``.

What is put at once is written to a temporary name, synced and renamed, and the directory is synced after
that.  Servers may share the directory.  Who writes a part holds a lock on the file while it does, so two
never write one file at once; who finishes holds it too, so nobody writes any more what can be read.  A part
counts when its bytes are synced.  All work on files runs in threads, but for reading what the kernel has in
memory already, which takes no longer than the way to a thread would.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import trio
from msgspec import Struct

from teamchat import Conflict, Gone, StorageError, StorageFull, Unavailable, WrittenPart
from teamchat.storage.disk import TEMPORARY, make_directory, remove_file, sync, write_file

CHUNK_BYTES = 64 * 1024
_GATHERED = 64 * 1024  # so much is written at a time; with one piece more an upload takes 256 KiB at most
# Several servers may share the directory; a temporary file this old is nobody's any more.
LEFTOVER_SECONDS = 60 * 60
_KEY = re.compile(r"(?!.*\.part\Z)[A-Za-z0-9-][A-Za-z0-9.-]{0,199}\Z")
_PART = ".part"
_THREADS = 16
# On many file systems whoever syncs waits for what others have written before, a commit of the database too:
# so uploads leave little unsynced, and one of them syncs at a time.
_UNSYNCED = 8 * 1024 * 1024  # bytes of an upload that no other waits for
_UNSYNCED_OF_MANY = 2 * 1024 * 1024
_SYNCING = 1
# Of many uploads that have bytes waiting so many go on at a turn of the event loop, or each would be long.
_WRITING = 2
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class DirectoryOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of ``[files-directory]``. `path` is the directory; without it, ``files`` in storage.path."""

    path: str | None = None


class DirectoryStore:
    """`teamchat.FileStore` on a directory. Made by `open_directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._threads = trio.CapacityLimiter(_THREADS)
        self._writing = trio.CapacityLimiter(_WRITING)
        self._syncing = trio.CapacityLimiter(_SYNCING)

    async def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        await self._synced(lambda: write_file(path, data))

    async def begin(self, key: str, size: int) -> str:  # noqa: ARG002
        path = self._path(key, _PART)
        await self._synced(lambda: _make(path))
        return ""

    async def write(
        self,
        key: str,
        size: int,  # noqa: ARG002
        state: str,
        offset: int,
        pieces: AsyncIterator[bytes],
        length: int | None,  # noqa: ARG002
    ) -> WrittenPart:
        part, path = self._path(key, _PART), self._path(key)
        descriptor = await self._changing(lambda: _open_locked(part, path, offset))
        try:
            end = await self._write_all(descriptor, offset, pieces)
        finally:
            os.close(descriptor)  # And with it goes the lock.
        return WrittenPart(end, state)

    async def _write_all(self, descriptor: int, offset: int, pieces: AsyncIterator[bytes]) -> int:
        """Write and sync what comes, and return where it ends."""
        gathered: list[bytes | memoryview] = []
        size = unsynced = 0

        async def put() -> None:
            nonlocal offset, size, unsynced
            at, end = offset, offset + size
            await self._changing(lambda: _write(descriptor, gathered, at))
            offset, size, unsynced = end, 0, unsynced + size

        async def sync() -> None:
            nonlocal unsynced
            await self._synced(lambda: os.fdatasync(descriptor))
            unsynced = 0

        async for piece in pieces:
            async with self._writing:
                gathered.append(piece)
                size += len(piece)
                if size >= _GATHERED:
                    await put()
                if unsynced >= (_UNSYNCED_OF_MANY if self._are_many else _UNSYNCED):
                    await sync()
        if gathered:
            await put()
        if unsynced:
            await sync()
        return offset

    @property
    def _are_many(self) -> bool:
        """Whether more uploads have bytes than go on at a time."""
        return self._writing.statistics().tasks_waiting > 0

    async def finish(self, key: str, size: int, state: str) -> None:  # noqa: ARG002
        part, path = self._path(key, _PART), self._path(key)
        await self._synced(lambda: _finish(part, path, size))

    async def abandon(self, key: str, state: str) -> None:  # noqa: ARG002
        path = self._path(key, _PART)
        await self._synced(lambda: remove_file(path))

    async def read(self, key: str, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes] | None:
        path = self._path(key)
        try:
            descriptor = await self._in_thread(lambda: os.open(path, os.O_RDONLY))
        except FileNotFoundError:
            return None
        return _Reading(self, descriptor, start, stop)

    async def read_some(self, descriptor: int, size: int, at: int) -> bytes:
        """Return at most `size` bytes; without a thread if they are in memory."""
        if _NOWAIT:
            buffer = bytearray(size)
            try:
                count = os.preadv(descriptor, [buffer], at, _NOWAIT)
            except OSError:  # They are not, or the file system can't tell.
                count = 0
            if count:
                await trio.lowlevel.checkpoint()
                return bytes(buffer) if count == size else bytes(memoryview(buffer)[:count])
        return await self._in_thread(lambda: os.pread(descriptor, size, at))

    async def remove(self, key: str) -> None:
        path = self._path(key)
        await self._synced(lambda: remove_file(path))

    async def free_bytes(self) -> int | None:
        found = await self._in_thread(lambda: os.statvfs(self._directory))
        return found.f_bavail * found.f_frsize

    def _path(self, key: str, suffix: str = "") -> Path:
        if not _KEY.match(key):
            raise ValueError("A key has 1 to 200 ASCII letters, digits, '-' and '.', and no '.' first.")
        return self._directory / f"{key}{suffix}"

    async def _synced(self, work: Callable[[], _T]) -> _T:
        """Do what ends with a sync, when it is its turn."""
        async with self._syncing:
            return await self._changing(work)

    async def _changing(self, work: Callable[[], _T]) -> _T:
        try:
            return await self._in_thread(work)
        except OSError as error:
            # Its message holds a path; what the system says of it holds none.
            _log.error("a file could not be written: %s", error.strerror or type(error).__name__)
            if error.errno in _NO_ROOM:
                raise StorageFull("The server has no room for files any more.") from error
            raise Unavailable("The server can't keep files now. Try again later.") from error

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await trio.to_thread.run_sync(work, limiter=self._threads)


class _Reading:
    """The bytes of one file on their way; the file is open until the last of them, or `aclose`."""

    def __init__(self, store: DirectoryStore, descriptor: int, start: int, stop: int | None) -> None:
        self._store, self._descriptor = store, descriptor
        self._at, self._stop = start, stop

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> bytes:
        left = CHUNK_BYTES if self._stop is None else min(CHUNK_BYTES, self._stop - self._at)
        chunk = b""
        if left > 0 and self._descriptor >= 0:
            chunk = await self._store.read_some(self._descriptor, left, self._at)
        if not chunk:
            self._close()
            raise StopAsyncIteration
        self._at += len(chunk)
        return chunk

    async def aclose(self) -> None:
        """Leave the rest unread."""
        self._close()
        await trio.lowlevel.checkpoint()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self._close()


@asynccontextmanager
async def open_directory(options: DirectoryOptions) -> AsyncIterator[DirectoryStore]:
    """Open (or make) the directory `options.path`. Raises `StorageError` if it can't be used."""
    directory = Path(options.path or "teamchat-data/files")
    try:
        await trio.to_thread.run_sync(_prepare, directory)
    except OSError as error:
        raise StorageError(
            f"The directory of files-directory.path can't be used: {error.strerror}. "
            "Give a directory that this user may write to."
        ) from error
    yield DirectoryStore(directory)


def _prepare(directory: Path) -> None:
    make_directory(directory)
    newest = time.time() - LEFTOVER_SECONDS
    for leftover in directory.glob(f"{TEMPORARY}*"):
        with suppress(FileNotFoundError):  # Another server has just finished with it.
            if leftover.stat().st_mtime < newest:
                leftover.unlink()


def _make(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    sync(path.parent)


def _open_locked(part: Path, path: Path, least: int) -> int:
    """Open a file that is not finished and has so many bytes at least, for one writer alone."""
    try:
        descriptor = os.open(part, os.O_WRONLY)
    except FileNotFoundError:
        if path.exists():
            raise Conflict("This file is written no more.") from None
        raise _lost() from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise Conflict("This file is being written by another request.") from None
    if os.fstat(descriptor).st_size < least:
        os.close(descriptor)
        raise _lost()
    return descriptor


def _lost() -> Gone:
    return Gone("What had arrived of this file is not there any more. Begin it anew.")


def _write(descriptor: int, pieces: list[bytes | memoryview], at: int) -> None:
    while pieces:
        count = os.pwritev(descriptor, pieces, at)
        at += count
        while pieces and count >= len(pieces[0]):
            count -= len(pieces.pop(0))
        if count:
            pieces[0] = memoryview(pieces[0])[count:]


def _finish(part: Path, path: Path, size: int) -> None:
    """Give a file its name. What was written beyond its end by a part that did not count goes."""
    try:
        descriptor = _open_locked(part, path, size)
    except Conflict:
        if path.exists():
            return
        raise
    try:
        os.ftruncate(descriptor, size)
        os.fsync(descriptor)
        part.rename(path)
    finally:
        os.close(descriptor)
    sync(path.parent)
