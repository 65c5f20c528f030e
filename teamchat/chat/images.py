"""Images: uploading, serving, belonging to messages, and going away (decisions D-25, D-30, D-31).

What must stay true:

* An image belongs to one channel or conversation (its place) and is served and attached there alone.
* The bytes are stored before the row that names them; a row therefore always has its bytes.
* Rows go first when an image goes: what the row names is served no more from that commit on, and the key
  of the bytes waits in ``doomed_images`` until the store has let go of it, whatever crashes in between.
* Whoever changes what refers to the images of a place holds the lock ``images:<place>``.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import trio

from teamchat.chat import image_formats
from teamchat.chat.records import chunks
from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.ids import could_be_id, is_conversation_id
from teamchat.interfaces import ImageStore, Storage, Transaction
from teamchat.model import Caller, now_ms

MAX_PER_MESSAGE = 10
KEPT_UNUSED_MS = 24 * 60 * 60 * 1000
THUMBNAIL_PREFIX = "thumb-"

_SHAPE = re.compile(r"[0-9]{1,16}-[0-9a-f]{32}\.(?:jpg|jpeg|png|webp|svg)\Z")
_PLACES_OF = """select distinct place_id from images
where filename in (select filename from message_images where message_id in ({})) order by place_id"""
_TAKE_FROM = "delete from message_images where message_id in ({}) returning filename"
_LARGE = 64 * 1024
_BATCH = 200
_CLEAN_UP_SECONDS = 10
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True)
class StoredImage:
    """An image (or its thumbnail) on its way to a client.

    `filename` names these very bytes and no others, so it can be their ETag; `size` is in bytes.
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


# What the other parts of the domain call in their own transactions.


async def attach(tx: Transaction, place_id: str, message_id: str, filenames: Sequence[str]) -> None:
    """Make `filenames` the images of a message, in this order, in place of those it had.

    Raises `BadRequest` if there are more than ten, or one is not an image of `place_id` (decision D-25).
    Images that the message no longer has stay until `Images.sweep` finds them without any message.
    """
    if len(filenames) > MAX_PER_MESSAGE:
        raise BadRequest(f"images names more than {MAX_PER_MESSAGE} images.")
    if filenames:
        await tx.lock(f"images:{place_id}")
    for filename in filenames:
        await _check_attachable(tx, place_id, filename)
    await tx.fetch("delete from message_images where message_id = $1", message_id)
    if filenames:
        await tx.fetch("update messages set is_decorated = 1 where id = $1", message_id)
    for place, filename in enumerate(filenames):
        await tx.fetch(
            "insert into message_images (message_id, place, filename) values ($1, $2, $3)",
            message_id,
            place,
            filename,
        )


async def forget_images_of(tx: Transaction, message_ids: Sequence[str]) -> None:
    """Take the images from messages that are being deleted, and doom those no other message has."""
    for marks, piece in chunks(message_ids):
        for (place_id,) in await tx.fetch(_PLACES_OF.format(marks), *piece):
            await tx.lock(f"images:{place_id}")
        rows = await tx.fetch(_TAKE_FROM.format(marks), *piece)
        for filename in sorted({filename for (filename,) in rows}):
            await _doom_if_unused(tx, filename)


async def forget_images_in(tx: Transaction, place_id: str) -> None:
    """Doom every image of a channel or conversation that is being deleted."""
    await tx.lock(f"images:{place_id}")
    await tx.fetch(
        "delete from message_images where filename in (select filename from images where place_id = $1)",
        place_id,
    )
    rows = await tx.fetch(
        "delete from images where place_id = $1 returning filename, thumbnail_type", place_id
    )
    for filename, thumbnail_type in rows:
        await _doom(tx, filename, has_thumbnail=thumbnail_type is not None)


class Images:
    """Uploading and serving images, and clearing away those nobody can see any more."""

    def __init__(self, storage: Storage, image_store: ImageStore) -> None:
        self._storage = storage
        self._store = image_store
        # Checking ten megabytes takes a tenth of a second of a processor: never more than two at a time.
        self._threads = trio.CapacityLimiter(2)

    async def check_channel(self, caller: Caller, channel_id: str) -> None:  # noqa: ARG002
        """Raise `NotFound` unless the channel exists."""
        async with self._storage.read() as tx:
            await _check_channel(tx, channel_id)

    async def check_thread(self, caller: Caller, message_id: str) -> None:
        """Raise `NotFound` unless the caller sees the message, `BadRequest` if it can't have a thread."""
        async with self._storage.read() as tx:
            await _channel_of_parent(tx, caller, message_id)

    async def check_conversation(self, caller: Caller, conversation_id: str) -> None:
        """Raise `NotFound` for no conversation, `Forbidden` for one of others."""
        async with self._storage.read() as tx:
            await _check_conversation(tx, caller, conversation_id)

    async def upload_to_channel(
        self, caller: Caller, channel_id: str, filename: str, image: str, thumbnail: str | None
    ) -> str:
        """Store an image (base64) for a channel and return the filename made for it."""
        await self.check_channel(caller, channel_id)
        upload = await self._examine(filename, image, thumbnail)
        return await self._keep(caller, channel_id, upload)

    async def upload_to_thread(
        self, caller: Caller, message_id: str, filename: str, image: str, thumbnail: str | None
    ) -> str:
        """Store an image (base64) for replies to a message; it belongs to the message's channel."""
        async with self._storage.read() as tx:
            channel_id = await _channel_of_parent(tx, caller, message_id)
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
        caller: Caller,  # noqa: ARG002
        channel_id: str,
        filename: str,
        *,
        thumbnail: bool,
    ) -> StoredImage:
        """Open an image of a channel. A thumbnail that is not there gives the image (decision D-31)."""
        async with self._storage.read() as tx:
            await _check_channel(tx, channel_id)
            found = await _find(tx, channel_id, filename, thumbnail=thumbnail)
        return await self._stored(*found)

    async def open_in_conversation(
        self, caller: Caller, conversation_id: str, filename: str, *, thumbnail: bool
    ) -> StoredImage:
        """Open an image of a conversation, for its participants."""
        async with self._storage.read() as tx:
            await _check_conversation(tx, caller, conversation_id)
            found = await _find(tx, conversation_id, filename, thumbnail=thumbnail)
        return await self._stored(*found)

    async def sweep(self) -> None:
        """Remove images that no message refers to and that are older than a day, then what is doomed."""
        oldest_kept = now_ms() - KEPT_UNUSED_MS
        last = ""
        while rows := await self._unused(oldest_kept, last):
            for filename, place_id in rows:
                async with self._storage.write() as tx:
                    await tx.lock(f"images:{place_id}")
                    await _doom_if_unused(tx, filename)
            last = rows[-1][0]
        await self.remove_doomed()

    async def remove_doomed(self) -> None:
        """Remove the bytes of images that are gone. What the store can't remove now is tried next time."""
        last = ""
        while keys := await self._doomed(last):
            removed = [key for key in keys if await self._removed(key)]
            if removed:
                await self._strike_off(removed)
            last = keys[-1]

    async def _examine(self, filename: str, image: str, thumbnail: str | None) -> _Upload:
        work = partial(_examine, filename, image, thumbnail)
        if len(image) + len(thumbnail or "") <= _LARGE:
            return work()
        return await self._in_thread(work)

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await trio.to_thread.run_sync(work, limiter=self._threads)

    async def _keep(self, caller: Caller, place_id: str, upload: _Upload) -> str:
        """Store the bytes, then the row; leave no bytes behind that no row names."""
        filename = f"{now_ms()}-{secrets.token_hex(16)}.{upload.extension}"
        try:
            await self._store.put(filename, upload.image)
            if upload.thumbnail is not None:
                await self._store.put(THUMBNAIL_PREFIX + filename, upload.thumbnail)
            async with self._storage.write() as tx:
                await tx.lock(f"images:{place_id}")
                await _check_place(tx, caller, place_id)
                await _insert(tx, caller, place_id, filename, upload)
        except BaseException:
            # A task cancelled during the commit can't tell whether it happened, so ask.
            with trio.move_on_after(_CLEAN_UP_SECONDS, shield=True):
                await self._remove_unless_recorded(filename)
            raise
        return filename

    async def _remove_unless_recorded(self, filename: str) -> None:
        async with self._storage.read() as tx:
            rows = await tx.fetch("select 1 from images where filename = $1", filename)
        if not rows:
            await self._store.delete(filename)
            await self._store.delete(THUMBNAIL_PREFIX + filename)

    async def _stored(self, key: str, media_type: str, size: int) -> StoredImage:
        chunks = await self._store.get(key)
        if chunks is None:
            raise NotFound
        return StoredImage(media_type, size, key, chunks)

    async def _unused(self, oldest_kept: int, after: str) -> list[tuple[str, str]]:
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                "select filename, place_id from images where created_at < $1 and filename > $2"
                " and not exists (select 1 from message_images m where m.filename = images.filename)"
                " order by filename limit $3",
                oldest_kept,
                after,
                _BATCH,
            )
        return [(filename, place_id) for filename, place_id in rows]

    async def _doomed(self, after: str) -> list[str]:
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                "select key from doomed_images where key > $1 order by key limit $2", after, _BATCH
            )
        return [key for (key,) in rows]

    async def _strike_off(self, keys: Sequence[str]) -> None:
        async with self._storage.write() as tx:
            for marks, piece in chunks(keys):
                await tx.fetch(f"delete from doomed_images where key in ({marks})", *piece)  # noqa: S608

    async def _removed(self, key: str) -> bool:
        try:
            await self._store.delete(key)
        except Exception:
            _log.exception("The image store could not remove an image; it is tried again later.")
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


async def _insert(tx: Transaction, caller: Caller, place_id: str, filename: str, upload: _Upload) -> None:
    await tx.fetch(
        "insert into images (filename, place_id, uploaded_by, created_at, media_type, size,"
        " thumbnail_type, thumbnail_size) values ($1, $2, $3, $4, $5, $6, $7, $8)",
        filename,
        place_id,
        caller.user.id,
        now_ms(),
        upload.media_type,
        len(upload.image),
        upload.thumbnail_type,
        None if upload.thumbnail is None else len(upload.thumbnail),
    )


async def _check_place(tx: Transaction, caller: Caller, place_id: str) -> None:
    if is_conversation_id(place_id):
        await _check_conversation(tx, caller, place_id)
    else:
        await _check_channel(tx, place_id)


async def _check_channel(tx: Transaction, channel_id: str) -> None:
    if not could_be_id(channel_id) or not await tx.fetch("select 1 from channels where id = $1", channel_id):
        raise NotFound


async def _check_conversation(tx: Transaction, caller: Caller, conversation_id: str) -> None:
    """An outsider gets 403 on a conversation that exists and 404 on one that does not (decision D-03)."""
    if not could_be_id(conversation_id):
        raise NotFound
    rows = await tx.fetch("select first_user, second_user from conversations where id = $1", conversation_id)
    if not rows:
        raise NotFound
    if caller.user.id not in rows[0]:
        raise Forbidden


async def _channel_of_parent(tx: Transaction, caller: Caller, message_id: str) -> str:
    """Return the channel of a message that can have a thread."""
    if not could_be_id(message_id):
        raise NotFound
    rows = await tx.fetch("select place_id, parent_id from messages where id = $1", message_id)
    if not rows:
        raise NotFound
    [(place_id, parent_id)] = rows
    if is_conversation_id(place_id):
        try:
            await _check_conversation(tx, caller, place_id)
        except Forbidden:
            raise NotFound from None
        raise BadRequest("A direct message has no thread.")
    if parent_id is not None:
        raise BadRequest("A reply has no thread of its own.")
    return str(place_id)


async def _find(tx: Transaction, place_id: str, filename: str, *, thumbnail: bool) -> tuple[str, str, int]:
    """Return the key, media type and size of what is to be served; another place's image is not found."""
    if not _SHAPE.match(filename):
        raise NotFound
    rows = await tx.fetch(
        "select media_type, size, thumbnail_type, thumbnail_size from images"
        " where filename = $1 and place_id = $2",
        filename,
        place_id,
    )
    if not rows:
        raise NotFound
    [(media_type, size, thumbnail_type, thumbnail_size)] = rows
    if thumbnail and thumbnail_type is not None:
        return THUMBNAIL_PREFIX + filename, thumbnail_type, thumbnail_size
    return filename, media_type, size


async def _check_attachable(tx: Transaction, place_id: str, filename: str) -> None:
    if _SHAPE.match(filename):
        rows = await tx.fetch(
            "select 1 from images where filename = $1 and place_id = $2", filename, place_id
        )
        if rows:
            return
    raise BadRequest("images names a file that was not uploaded here.")


async def _doom_if_unused(tx: Transaction, filename: str) -> None:
    rows = await tx.fetch(
        "delete from images where filename = $1 and not exists"
        " (select 1 from message_images m where m.filename = images.filename) returning thumbnail_type",
        filename,
    )
    for (thumbnail_type,) in rows:
        await _doom(tx, filename, has_thumbnail=thumbnail_type is not None)


async def _doom(tx: Transaction, filename: str, *, has_thumbnail: bool) -> None:
    keys = [filename, THUMBNAIL_PREFIX + filename] if has_thumbnail else [filename]
    for key in keys:
        await tx.fetch("insert into doomed_images (key) values ($1) on conflict do nothing", key)
