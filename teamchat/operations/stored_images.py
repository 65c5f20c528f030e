"""The bytes of images, and the rows that name them.

At most one image is in memory, and no transaction is open while a store is asked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from teamchat.chat.images_table import THUMBNAIL_PREFIX
from teamchat.errors import StorageError, Unavailable
from teamchat.interfaces import ImageStore, Storage
from teamchat.operations.stored_files import is_some, reason_of

_PAGE = 500
_ROWS = """select filename, thumbnail_type from images where filename > $1 order by filename limit $2"""


async def read_image(store: ImageStore, key: str) -> bytes | None:
    """Return the bytes under a key, or None if there are none. Raises `StorageError` if it can't be read."""
    try:
        chunks = await store.get(key)
        return None if chunks is None else b"".join([chunk async for chunk in chunks])
    except OSError as error:
        raise StorageError(
            f"The image {key} can't be read from the image store ({reason_of(error)})."
        ) from error


async def put_image(store: ImageStore, key: str, data: bytes) -> None:
    """Put the bytes under a key. Raises `StorageError` if the store does not take them."""
    try:
        await store.put(key, data)
    except (OSError, Unavailable) as error:
        # A store tells clients to try again later; who works on an installation is told the cause.
        raise StorageError(
            f"The image {key} can't be put into the image store ({reason_of(error.__cause__ or error)})."
        ) from error


def keys_of(filename: str, *, has_thumbnail: bool) -> list[str]:
    """Return the keys of an image and its thumbnail."""
    return [filename, THUMBNAIL_PREFIX + filename] if has_thumbnail else [filename]


async def image_keys(storage: Storage) -> AsyncGenerator[str, None]:
    """Yield the key of every image and thumbnail that the database names."""
    last = ""
    while True:
        async with storage.read() as tx:
            rows = await tx.fetch(_ROWS, last, _PAGE)
        for filename, thumbnail_type in rows:
            for key in keys_of(filename, has_thumbnail=thumbnail_type is not None):
                yield key
        if len(rows) < _PAGE:
            return
        last = rows[-1][0]


async def copy_images(
    storage: Storage,
    source: ImageStore,
    target: ImageStore,
    tell: Callable[[str, int, int], object] = lambda *_: None,
) -> list[str]:
    """Copy what `target` does not have yet. Return the keys that `source` has no bytes for."""
    async with storage.read() as tx:
        [(total,)] = await tx.fetch("select count(*) + count(thumbnail_type) from images")
    missing, done = [], 0
    async with aclosing(image_keys(storage)) as keys:
        async for key in keys:
            if not await is_some(await target.get(key)):
                data = await read_image(source, key)
                if data is None:
                    missing.append(key)
                else:
                    await put_image(target, key, data)
            done += 1
            tell("images", done, total)
    return missing
