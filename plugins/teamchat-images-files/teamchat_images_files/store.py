"""Images as files of one directory.

A file stands under its key only when all of its bytes are on the disk.  So bytes are
written to a temporary name, synced and renamed, and the directory is synced after that.  All work on files
runs in threads.  No file stays open between two chunks, so a reader who goes away leaves nothing behind.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import trio
from msgspec import Struct

from teamchat import StorageError, Unavailable

CHUNK_BYTES = 64 * 1024
# Several servers may share the directory; a temporary file this old is nobody's any more.
LEFTOVER_SECONDS = 60 * 60

_KEY = re.compile(r"[A-Za-z0-9-][A-Za-z0-9.-]{0,199}\Z")
_TEMPORARY = ".writing-"
_THREADS = 8

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class FilesOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of ``[images]`` for the backend ``files``. `path` is the directory of the images."""

    path: str = "teamchat-data/images"


class FilesStore:
    """`teamchat.ImageStore` on a directory. Made by `open_files`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._threads = trio.CapacityLimiter(_THREADS)

    async def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        try:
            await self._in_thread(lambda: _write(path, data))
        except OSError as error:
            # Its message holds a path; what the system says of it holds none.
            _log.error("an image could not be written: %s", error.strerror or type(error).__name__)
            raise Unavailable(
                "The server can't keep images now. Nothing was changed; try again later."
            ) from error

    async def get(self, key: str) -> AsyncIterator[bytes] | None:
        path = self._path(key)
        try:
            first = await self._in_thread(lambda: _read(path, 0))
        except FileNotFoundError:
            return None
        return self._chunks(path, first)

    async def delete(self, key: str) -> None:
        path = self._path(key)
        await self._in_thread(lambda: _remove(path))

    async def _chunks(self, path: Path, chunk: bytes) -> AsyncIterator[bytes]:
        offset = 0
        while chunk:
            yield chunk
            offset += len(chunk)
            if len(chunk) < CHUNK_BYTES:
                return
            chunk = await self._in_thread(lambda at=offset: _read(path, at))  # type: ignore[misc]

    def _path(self, key: str) -> Path:
        if not _KEY.match(key):
            raise ValueError("A key has 1 to 200 ASCII letters, digits, '-' and '.', and no '.' first.")
        return self._directory / key

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await trio.to_thread.run_sync(work, limiter=self._threads)


@asynccontextmanager
async def open_files(options: FilesOptions) -> AsyncIterator[FilesStore]:
    """Open (or make) the directory `options.path`. Raises `StorageError` if it can't be used."""
    directory = Path(options.path)
    try:
        await trio.to_thread.run_sync(_prepare, directory)
    except OSError as error:
        raise StorageError(
            f"The directory of images.path can't be used: {error.strerror}. "
            "Give a directory that this user may write to."
        ) from error
    yield FilesStore(directory)


def _prepare(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    directory.chmod(0o700)
    newest = time.time() - LEFTOVER_SECONDS
    for leftover in directory.glob(f"{_TEMPORARY}*"):
        with suppress(FileNotFoundError):  # Another server has just finished with it.
            if leftover.stat().st_mtime < newest:
                leftover.unlink()


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(_TEMPORARY + secrets.token_hex(16))
    try:
        with open(temporary, "xb", opener=_owner_only) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(CHUNK_BYTES)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except FileNotFoundError:
        return
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
