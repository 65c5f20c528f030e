"""Images: uploading, serving, and removing those that nobody can see any more (decisions D-25, D-30, D-31).

An image belongs to one room, a channel or a conversation, and is served only there. Its bytes are stored
before the row that names them, and removed after it, so a row always has its bytes.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import trio

from teamchat.accounts.acting import acting_for
from teamchat.chat import image_formats, permissions, sight
from teamchat.chat.images_table import (
    THUMBNAIL_PREFIX,
    ImageRow,
    doom_if_unused,
    doomed_keys,
    find_image,
    insert_image,
    strike_off,
    unused_images,
)
from teamchat.errors import NotFound, StorageError
from teamchat.interfaces import ImageStore, Storage, Transaction
from teamchat.model import Caller, now_ms
from teamchat.observability.logs import get_logger

KEPT_UNUSED_MS = 24 * 60 * 60 * 1000
_LARGE = 64 * 1024
_CLEAN_UP_SECONDS = 10

_log = get_logger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True)
class StoredImage:
    """An image (or its thumbnail) on its way to a client.

    `filename` names these very bytes and no others, so it can be their ETag; `size` is in bytes. `chunks` are
    the store's own: of any form, and to be closed if they have an ``aclose``.
    """

    media_type: str
    size: int
    filename: str
    chunks: AsyncIterator[bytes]


class _Upload(NamedTuple):
    """A checked upload: the bytes, and what they are."""

    extension: str
    image: bytes
    media_type: str
    thumbnail: bytes | None
    thumbnail_type: str | None


class Images:
    """Uploading and serving images, and clearing away those nobody can see any more."""

    def __init__(self, storage: Storage, image_store: ImageStore) -> None:
        self._storage = storage
        self._store = image_store
        # Checking ten megabytes takes a tenth of a second of a processor: never more than two at a time.
        self._threads = trio.CapacityLimiter(2)

    async def check_channel(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` unless the channel exists."""
        async with self._storage.read() as tx:
            await sight.channel(tx, caller, channel_id)

    async def check_upload(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` unless the channel exists, `Forbidden` if it is archived."""
        async with self._storage.read() as tx:
            permissions.check_open(await sight.channel(tx, caller, channel_id))

    async def check_thread(self, caller: Caller, message_id: str) -> None:
        """Raise `NotFound` unless the caller sees the message, `BadRequest` if it can't have a thread."""
        async with self._storage.read() as tx:
            await _channel_of(tx, caller, message_id)

    async def check_conversation(self, caller: Caller, conversation_id: str) -> None:
        """Raise `NotFound` for no conversation, `Forbidden` for one of others."""
        async with self._storage.read() as tx:
            await sight.conversation(tx, caller, conversation_id)

    async def upload_to_channel(
        self, caller: Caller, channel_id: str, filename: str, image: str, thumbnail: str | None
    ) -> str:
        """Store an image (base64) for a channel and return the filename made for it."""
        await self.check_upload(caller, channel_id)
        upload = await self._examine(filename, image, thumbnail)
        return await self._keep(caller, channel_id, upload)

    async def upload_to_thread(
        self, caller: Caller, message_id: str, filename: str, image: str, thumbnail: str | None
    ) -> str:
        """Store an image (base64) for replies to a message; it belongs to the message's channel."""
        async with self._storage.read() as tx:
            channel_id = await _channel_of(tx, caller, message_id)
        upload = await self._examine(filename, image, thumbnail)
        return await self._keep(caller, channel_id, upload)

    async def upload_to_conversation(
        self, caller: Caller, conversation_id: str, filename: str, image: str, thumbnail: str | None
    ) -> str:
        """Store an image (base64) for a conversation and return the filename made for it."""
        await self.check_conversation(caller, conversation_id)
        upload = await self._examine(filename, image, thumbnail)
        return await self._keep(caller, conversation_id, upload)

    async def open_in_channel(
        self,
        caller: Caller,
        channel_id: str,
        filename: str,
        *,
        thumbnail: bool,
    ) -> StoredImage:
        """Open an image of a channel. A thumbnail that is not there gives the image (decision D-31)."""
        async with self._storage.read() as tx:
            room = await sight.channel(tx, caller, channel_id)
            by = caller.user.id
            found = await find_image(tx, channel_id, filename, first_seen=room.first_seen, by=by)
        return await self._stored(found, thumbnail=thumbnail)

    async def open_in_conversation(
        self, caller: Caller, conversation_id: str, filename: str, *, thumbnail: bool
    ) -> StoredImage:
        """Open an image of a conversation, for its participants."""
        async with self._storage.read() as tx:
            await sight.conversation(tx, caller, conversation_id)
            found = await find_image(tx, conversation_id, filename)
        return await self._stored(found, thumbnail=thumbnail)

    async def sweep(self) -> None:
        """Remove images that no message refers to and that are older than a day, then what is doomed."""
        before = now_ms() - KEPT_UNUSED_MS
        last = ""
        while unused := await self._read(partial(unused_images, before=before, after=last)):
            for filename in unused:
                async with self._storage.write() as tx:
                    await doom_if_unused(tx, filename)
            last = unused[-1]
        await self.remove_doomed()

    async def remove_doomed(self) -> None:
        """Remove the bytes of images that are gone. What the store can't remove now is tried next time."""
        last = ""
        while keys := await self._read(partial(doomed_keys, after=last)):
            removed = [key for key in keys if await self._removed(key)]
            if removed:
                async with self._storage.write() as tx:
                    await strike_off(tx, removed)
            last = keys[-1]

    async def _read(self, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        async with self._storage.read() as tx:
            return await work(tx)

    async def _examine(self, filename: str, image: str, thumbnail: str | None) -> _Upload:
        work = partial(_examine, filename, image, thumbnail)
        if len(image) + len(thumbnail or "") <= _LARGE:
            return work()
        return await trio.to_thread.run_sync(work, limiter=self._threads)

    async def _keep(self, caller: Caller, room_id: str, upload: _Upload) -> str:
        """Store the bytes, then the row; leave no bytes behind that no row names."""
        row = _row(caller, room_id, upload)
        try:
            await self._store.put(row.filename, upload.image)
            if upload.thumbnail is not None:
                await self._store.put(THUMBNAIL_PREFIX + row.filename, upload.thumbnail)
            async with self._storage.write() as tx:
                permissions.check_open(await sight.room(tx, caller, room_id))
                await insert_image(tx, row)
        except BaseException as error:
            # A commit may be under way while its task is cancelled: a writing transaction comes after it.
            ask = self._storage.write if isinstance(error, trio.Cancelled) else self._storage.read
            with trio.move_on_after(_CLEAN_UP_SECONDS, shield=True):
                await self._remove_unless_recorded(row, ask)
            raise
        return row.filename

    async def _remove_unless_recorded(
        self, row: ImageRow, ask: Callable[[], AbstractAsyncContextManager[Transaction]]
    ) -> None:
        is_recorded = True
        # Not on behalf of who uploaded: they may be gone, which may be why this is to be cleared away.
        with suppress(StorageError), acting_for(None):
            async with ask() as tx:
                is_recorded = await find_image(tx, row.room_id, row.filename) is not None
        if not is_recorded:
            await self._store.delete(row.filename)
            await self._store.delete(THUMBNAIL_PREFIX + row.filename)

    async def _stored(self, row: ImageRow | None, *, thumbnail: bool) -> StoredImage:
        """Open the bytes; another place's image is not found."""
        if row is None:
            raise NotFound
        key, media_type, size = row.filename, row.media_type, row.size
        if thumbnail and row.thumbnail_type is not None and row.thumbnail_size is not None:
            key, media_type, size = THUMBNAIL_PREFIX + key, row.thumbnail_type, row.thumbnail_size
        chunks = await self._store.get(key)
        if chunks is None:
            raise NotFound
        return StoredImage(media_type, size, key, chunks)

    async def _removed(self, key: str) -> bool:
        try:
            await self._store.delete(key)
        except Exception as error:
            _log.error("an image could not be removed and will be tried again", exc_info=error)
            return False
        return True


def _examine(filename: str, image: str, thumbnail: str | None) -> _Upload:
    extension = image_formats.extension(filename)
    data = image_formats.decode_base64("image", image)
    media_type = image_formats.check_image(data, extension)
    if thumbnail is None:
        return _Upload(extension, data, media_type, None, None)
    small = image_formats.decode_base64("thumbnail", thumbnail)
    return _Upload(extension, data, media_type, small, image_formats.check_thumbnail(small))


def _row(caller: Caller, room_id: str, upload: _Upload) -> ImageRow:
    now = now_ms()
    return ImageRow(
        filename=f"{now}-{secrets.token_hex(16)}.{upload.extension}",
        room_id=room_id,
        uploaded_by=caller.user.id,
        created_at=now,
        media_type=upload.media_type,
        size=len(upload.image),
        thumbnail_type=upload.thumbnail_type,
        thumbnail_size=None if upload.thumbnail is None else len(upload.thumbnail),
    )


async def _channel_of(tx: Transaction, caller: Caller, message_id: str) -> str:
    """Return the channel of a message that can have a thread."""
    parent = await sight.message(tx, caller, message_id)
    permissions.check_can_have_thread(parent)
    permissions.check_open(parent.room)
    return parent.room.id
