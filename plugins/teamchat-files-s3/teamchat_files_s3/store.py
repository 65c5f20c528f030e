"""Files as objects of one bucket, written in parts.

All parts of a file but the last have the same length, so that a part which is written again is what it was
before; what is too short for one waits as an object of its own (the tail) until more has come.  All that a
node needs to go on with an upload is in its state: the upload's id, how many parts count, and how long the
tail is.  What comes is kept in a temporary file until it is a part: a part that failed can be sent again, and
what came before a line was cut is kept.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
import msgspec
import trio

from teamchat import Gone, StorageError, Unavailable, WrittenPart
from teamchat_files_s3.bucket import Body, Bucket, S3Error, open_bucket, refused_at_start, unavailable, whole
from teamchat_files_s3.options import S3Options
from teamchat_files_s3.roles import NoCredentials

PIECE_BYTES = 64 * 1024
PART_BYTES = 8 * 1024 * 1024
"""S3 takes parts of 5 MiB and more; this is also what `files.chunkBytes` is by default."""
MOST_PARTS = 10_000
_KEY = re.compile(r"[A-Za-z0-9-][A-Za-z0-9.-]{0,199}\Z")


class State(msgspec.Struct, frozen=True, array_like=True):
    """Of an upload: its id, the parts that count, and the tail that counts with its length in bytes."""

    upload_id: str = ""
    parts: int = 0
    tail: int = 0
    tail_bytes: int = 0

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def of(cls, text: str) -> State:
        return msgspec.json.decode(text, type=cls) if text else cls()


class S3FileStore:
    """`teamchat.FileStore` on a bucket. Made by `opened`."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def put(self, key: str, data: bytes) -> None:
        body = await trio.to_thread.run_sync(whole, data)
        # In one request: a crash between several leaves parts that are paid for and that nobody sees.
        await self._to_its_end(lambda: self._bucket.put(_checked(key), body))

    async def begin(self, key: str, size: int) -> str:
        if size == 0:
            return str(State())
        with _told():
            return str(State(await self._bucket.begin_upload(key)))

    async def write(
        self,
        key: str,
        size: int,
        state: str,
        offset: int,
        pieces: AsyncIterator[bytes],
        length: int | None,  # noqa: ARG002  # how much has come decides
    ) -> WrittenPart:
        now = State.of(state)
        # Larger files have larger parts: there may be ten thousand.
        most = max(PART_BYTES, -(-size // MOST_PARTS))
        source = _Pieces(pieces)
        with _told():
            if now.tail > 1:
                await self._bucket.delete(
                    _tail(key, now.tail - 1)
                )  # The state of it does not count any more.
            while not source.is_over:
                async with _spool() as spool:
                    await self._take_tail(key, now, spool)
                    await spool.fill(source, most)
                    arrived = spool.length - now.tail_bytes
                    if not arrived:
                        break
                    offset += arrived
                    now = await self._keep(key, now, spool, is_whole=spool.length == most or offset >= size)
        return WrittenPart(offset, str(now))

    async def finish(self, key: str, size: int, state: str) -> None:
        now = State.of(state)
        with _told():
            if not now.upload_id:
                await self._bucket.put(key, whole(b""))
                return
            try:
                tags = await self._bucket.parts(key, now.upload_id)
                counting = {number: tag for number, tag in tags.items() if number <= now.parts}
                if len(counting) < now.parts:
                    raise _lost()
                await self._bucket.complete_upload(key, now.upload_id, counting)
            except S3Error as error:
                # It was finished before, if the object is there.
                if error.code != "NoSuchUpload":
                    raise
                if await self._bucket.size(key) != size:
                    raise _lost() from None
            await self._drop_tails(key, now)

    async def abandon(self, key: str, state: str) -> None:
        now = State.of(state)
        with _told():
            if now.upload_id:
                await self._bucket.delete(key, uploadId=now.upload_id)
            await self._drop_tails(key, now)

    async def read(self, key: str, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes] | None:
        if stop is not None and stop <= start:
            with _told():
                return None if await self._bucket.size(_checked(key)) is None else _nothing()
        chunks = self._chunks(_checked(key), start, stop)
        with _told():
            try:
                first = await anext(chunks, b"")
            except FileNotFoundError:
                return None
        return _Chunks(first, chunks)

    async def remove(self, key: str) -> None:
        await self._to_its_end(lambda: self._bucket.delete(_checked(key)))

    async def _to_its_end(self, request: Callable[[], Awaitable[None]]) -> None:
        """Wait for a change also if the task is cancelled: who cleans up must not be overtaken by it."""
        with trio.move_on_after(self._bucket.patience, shield=True):
            with _told():
                await request()
            return
        raise Unavailable("The store is too slow. Try again later.")

    async def free_bytes(self) -> int | None:
        """Nobody can tell of a bucket."""
        return None

    async def check(self, *, in_parts: bool) -> None:
        """Write, read and remove an object, as serving will need. Raises `StorageError` for the operator."""
        key = f"start-{secrets.token_hex(16)}"
        try:
            if in_parts:
                upload = await self._bucket.begin_upload(key)
                await self._bucket.delete(key, uploadId=upload)
            await self._bucket.put(key, whole(b"teamchat"))
            read = b"".join([bytes(chunk) async for chunk in self._chunks(key, 0, None)])
            await self._bucket.delete(key)
        except S3Error as error:
            raise refused_at_start(error, in_parts=in_parts) from None
        except NoCredentials:
            raise StorageError(
                "There are no credentials for the store. "
                "Give files-s3.accessKeyId and files-s3.secretAccessKey."
            ) from None
        except Unavailable:
            raise StorageError(
                "files-s3.endpoint: no store answers there. Look at the address, whether it begins with "
                "http:// or https://, whether the store runs, and for a private CA at files-s3.caFile."
            ) from None
        if read != b"teamchat":
            raise StorageError("files-s3.bucket does not give back what was written to it.")

    async def _keep(self, key: str, now: State, spool: _Spool, *, is_whole: bool) -> State:
        """Write what the spool holds: as the next part, or as a tail if it is too short for one."""
        if is_whole:
            upload = await self._put_part(key, now, spool)
            return State(upload, now.parts + 1, now.tail, 0)
        await self._bucket.put(_tail(key, now.tail + 1), spool.body())
        return State(now.upload_id, now.parts, now.tail + 1, spool.length)

    async def _put_part(self, key: str, now: State, spool: _Spool) -> str:
        """Write a part, and return the id of the upload that it is in."""
        number, upload = str(now.parts + 1), now.upload_id
        try:
            await self._bucket.put(key, spool.body(), partNumber=number, uploadId=upload)
        except S3Error as error:
            # There are stores in which a part can't be replaced by other bytes. As long as it is the first
            # one, another upload can.
            if error.code == "NoSuchUpload":
                raise _lost() from None
            if error.code != "NotImplemented" or now.parts:
                raise
            await self._bucket.delete(key, uploadId=upload)
            upload = await self._bucket.begin_upload(key)
            await self._bucket.put(key, spool.body(), partNumber=number, uploadId=upload)
        return upload

    async def _take_tail(self, key: str, now: State, spool: _Spool) -> None:
        if now.tail_bytes:
            try:
                async for chunk in self._chunks(_tail(key, now.tail), 0, None):
                    await spool.add(chunk)
            except FileNotFoundError:
                pass
            if spool.length != now.tail_bytes:
                raise _lost()

    async def _drop_tails(self, key: str, now: State) -> None:
        """Remove the tail that counts, the one before it, and one that was written and never counted."""
        for number in range(max(1, now.tail - 1), now.tail + 2):
            await self._bucket.delete(_tail(key, number))

    async def _chunks(self, key: str, start: int, stop: int | None) -> AsyncIterator[bytes]:
        """Yield an object's bytes; where the transfer breaks it goes on. Raises `FileNotFoundError`."""
        tries = 3
        while True:
            async with self._bucket.reading(key, start, None if stop is None else stop - 1) as answer:
                if answer is None:
                    raise FileNotFoundError(key)
                try:
                    async with _read_in_pieces(answer) as pieces:
                        async for chunk in pieces:
                            start += len(chunk)
                            yield chunk
                    return
                except httpx2.TransportError:
                    tries -= 1
                    if not tries:
                        raise Unavailable("The store can't be reached. Try again later.") from None


@asynccontextmanager
async def _read_in_pieces(answer: httpx2.Response) -> AsyncIterator[AsyncIterator[bytes]]:
    pieces = answer.aiter_raw(PIECE_BYTES)
    try:
        yield pieces
    finally:
        # Who goes away in the middle leaves generators of the library behind each other, which nothing would
        # close but what ends the innermost one.
        with trio.CancelScope() as ending:
            ending.cancel()
            async for _ in pieces:
                pass


class _Chunks:
    """The chunks of an object whose first one is here already."""

    def __init__(self, first: bytes, rest: Any) -> None:
        self._first: bytes | None = first or None
        self._rest = rest

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        with _told():
            chunk: bytes = await anext(self._rest)
        return chunk

    async def aclose(self) -> None:
        await self._rest.aclose()


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


class _Pieces:
    """What a request brings, of which a piece may be put back."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = aiter(pieces)
        self._kept = b""
        self.is_over = False

    async def next(self, most: int) -> bytes:
        """Return the next piece, of at most so many bytes; none at the end."""
        piece = self._kept or await anext(self._pieces, b"")
        self.is_over = not piece
        self._kept = piece[most:]
        return piece[:most]


class _Spool:
    """A temporary file for one part, with the digest of what it holds."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.length = 0

    async def add(self, piece: bytes) -> None:
        await self._file.write(piece)
        self._digest.update(piece)
        self.length += len(piece)

    async def fill(self, source: _Pieces, most: int) -> None:
        """Take pieces until there are enough for a part, or no more."""
        while self.length < most and (piece := await source.next(most - self.length)):
            await self.add(piece)

    def body(self) -> Body:
        return Body(self._read, self.length, self._digest.hexdigest())

    async def _read(self) -> AsyncIterator[bytes]:
        await self._file.seek(0)
        while piece := await self._file.read(PIECE_BYTES):
            yield piece


@asynccontextmanager
async def _spool() -> AsyncIterator[_Spool]:
    with tempfile.TemporaryFile(buffering=0) as file:
        yield _Spool(trio.wrap_file(file))


@contextmanager
def _told() -> Iterator[None]:
    """Tell a refusal of the store as one that a client may try again."""
    try:
        yield
    except S3Error as error:
        raise unavailable(error) from None


def _checked(key: str) -> str:
    if not _KEY.match(key):
        raise ValueError("A key has 1 to 200 ASCII letters, digits, '-' and '.', and no '.' first.")
    return key


def _lost() -> Gone:
    return Gone("What had arrived of this file is not in the bucket any more. Begin it anew.")


def _tail(key: str, number: int) -> str:
    return f"{key}.tail-{number}"


@asynccontextmanager
async def opened(options: S3Options) -> AsyncIterator[S3FileStore]:
    """Try the bucket of `options` out. Raises an `OperatorError` that names a key of ``[files-s3]``."""
    async with open_bucket(options) as bucket:
        store = S3FileStore(bucket)
        await store.check(in_parts=options.in_parts)
        yield store
