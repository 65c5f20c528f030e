"""Images as objects of one bucket.

The event loop waits for nothing here, for every request runs in a thread; and whoever
reads can stop at once.  A write that has begun is waited for even by a task that is cancelled, as long as
``images.writeSeconds`` at most: who cleans up after it must not be overtaken by it.  An object is there whole
or not at all, and once it is acknowledged the store answers for it.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeVar

import obstore
import trio
from obstore.exceptions import BaseError, GenericError
from obstore.store import S3Store

from teamchat import StorageError
from teamchat_images_s3.failures import StoreUnavailable, code_of, is_no_bucket, refused_at_start, unavailable
from teamchat_images_s3.options import RETRY_SECONDS, S3Options, connections

CHUNK_BYTES = 64 * 1024
READERS = 40
WRITERS = 8

_KEY = re.compile(r"[A-Za-z0-9-][A-Za-z0-9.-]{0,199}\Z")
_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class _Opened(NamedTuple):
    """An object on its way: the piece that came first, and the rest."""

    piece: memoryview
    rest: Iterator[bytes]


class S3ImageStore:
    """`teamchat.ImageStore` on a bucket. Made by `open_s3`."""

    def __init__(self, options: S3Options) -> None:
        self._reading, self._writing = connections(options)
        # The longest that a request can take: its last try may begin when the time for tries is over.
        self._patience = RETRY_SECONDS + options.connect_seconds + options.read_seconds
        self._fails = False
        self._readers = trio.CapacityLimiter(READERS)
        self._writers = trio.CapacityLimiter(WRITERS)

    async def put(self, key: str, data: bytes) -> None:
        await self._write(lambda: _put(self._writing, _checked(key), data))

    async def get(self, key: str) -> AsyncIterator[bytes] | None:
        opened = await self._read(lambda: _open(self._reading, _checked(key)))
        return None if opened is None else self._chunks(opened)

    async def delete(self, key: str) -> None:
        await self._write(lambda: _delete(self._writing, _checked(key)))

    async def check(self) -> None:
        """Write, read and remove an object, as serving will need. Raises `StorageError` for the operator."""
        key = f"start-{secrets.token_hex(16)}"
        try:
            await trio.to_thread.run_sync(_try_out, self._writing, self._reading, key)
        except (BaseError, OSError) as error:
            raise refused_at_start(error) from None

    async def _chunks(self, opened: _Opened) -> AsyncIterator[bytes]:
        piece: memoryview | None = opened.piece
        while piece is not None:
            for at in range(0, len(piece), CHUNK_BYTES):
                yield bytes(piece[at : at + CHUNK_BYTES])
            piece = await self._read(lambda: _next(opened.rest))

    async def _read(self, work: Callable[[], _T]) -> _T:
        """Read in a thread, which is left alone with its deadline when nobody waits for it any more."""
        with trio.move_on_after(self._patience):
            return await self._in_thread(work, self._readers, abandon=True)
        self._tell("too slow")
        raise StoreUnavailable("is too slow")

    async def _write(self, work: Callable[[], _T]) -> _T:
        return await self._in_thread(work, self._writers, abandon=False)

    async def _in_thread(self, work: Callable[[], _T], limiter: trio.CapacityLimiter, *, abandon: bool) -> _T:
        try:
            done = await trio.to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=abandon)
        except (BaseError, OSError) as error:
            self._tell(code_of(error))
            raise unavailable(error) from None
        self._tell(None)
        return done

    def _tell(self, failure: str | None) -> None:
        """Log when the store begins to fail and when it works again, not each request in between."""
        if failure is not None and not self._fails:
            _log.warning("the image store fails: %s", failure)
        elif failure is None and self._fails:
            _log.info("the image store works again")
        self._fails = failure is not None


@asynccontextmanager
async def open_s3(options: S3Options) -> AsyncIterator[S3ImageStore]:
    """Try the bucket of `options` out. Raises an `OperatorError` that names a key of ``[images]``."""
    store = S3ImageStore(options)
    await store.check()
    yield store


def _checked(key: str) -> str:
    if not _KEY.match(key):
        raise ValueError("A key has 1 to 200 ASCII letters, digits, '-' and '.', and no '.' first.")
    return key


def _put(store: S3Store, key: str, data: bytes) -> None:
    # In one request: a crash in the middle of several leaves parts that are paid for and that nobody sees.
    obstore.put(store, key, data, use_multipart=False)


def _open(store: S3Store, key: str) -> _Opened | None:
    """Return the object with its first piece already here, or None if there is no such object."""
    try:
        found = obstore.get(store, key)
    except FileNotFoundError as error:
        if is_no_bucket(error):
            raise
        return None
    rest = iter(found.stream(min_chunk_size=CHUNK_BYTES))
    return _Opened(_next(rest) or memoryview(b""), rest)


def _next(rest: Iterator[bytes]) -> memoryview | None:
    piece = next(rest, None)
    return None if piece is None else memoryview(piece)


def _delete(store: S3Store, key: str) -> None:
    began = time.monotonic()
    try:
        _delete_once(store, key)
    except GenericError:
        # The library does not repeat a removal that a connection's end cut off; nothing speaks against it.
        if time.monotonic() - began > RETRY_SECONDS:
            raise
        _delete_once(store, key)


def _delete_once(store: S3Store, key: str) -> None:
    try:
        obstore.delete(store, key)
    except FileNotFoundError as error:
        if is_no_bucket(error):
            raise


def _try_out(writing: S3Store, reading: S3Store, key: str) -> None:
    _put(writing, key, b"teamchat")
    opened = _open(reading, key)
    _delete(writing, key)
    if opened is None or bytes(opened.piece) != b"teamchat":
        raise StorageError(
            "images.bucket does not give back what was written to it. "
            "Look at images.endpoint and images.bucket."
        )
