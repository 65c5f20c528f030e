"""A store of files in which images are stored, opened with the keys of ``[images]``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from msgspec.structs import replace

from teamchat.errors import OperatorError, StorageFull, Unavailable
from teamchat.interfaces import Backend, FileStore, ImageStore
from teamchat.interfaces.offers import ImagesInFiles


def images_in(store: Backend[FileStore], table: str, offer: ImagesInFiles) -> Backend[ImageStore]:
    """Return the image store that is offered; `table` is the one that errors of the store name keys of."""

    @asynccontextmanager
    async def opened(options: Any) -> AsyncIterator[ImageStore]:
        async with AsyncExitStack() as stack:
            try:
                files = await stack.enter_async_context(store.open(replace(options, **offer.given)))
            except OperatorError as error:
                raise type(error)(str(error).replace(f"{table}.", "images.")) from error.__cause__
            yield _Images(files)

    return Backend(offer.name, opened, store.options)


class _Images:
    """`teamchat.ImageStore` on a store of files."""

    def __init__(self, files: FileStore) -> None:
        self._files = files

    async def put(self, key: str, data: bytes) -> None:
        try:
            await self._files.put(key, data)
        except StorageFull as error:
            raise Unavailable(
                "The server can't keep images now. Nothing was changed; try again later."
            ) from error.__cause__

    async def get(self, key: str) -> AsyncIterator[bytes] | None:
        return await self._files.read(key)

    async def delete(self, key: str) -> None:
        await self._files.remove(key)
