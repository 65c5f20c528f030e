"""The plugin that offers the store of files ``s3``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from teamchat import Backend, FileStore, hookimpl
from teamchat_files_s3.options import S3Options

if TYPE_CHECKING:
    from teamchat_files_s3.store import S3FileStore

__all__ = ["S3Options", "file_stores", "open_s3"]


@asynccontextmanager
async def open_s3(options: S3Options) -> AsyncIterator[S3FileStore]:
    """Try the bucket of `options` out. Raises an `OperatorError` that names a key of ``[files-s3]``."""
    from teamchat_files_s3.store import opened  # with an HTTP client, which other servers need not load

    async with opened(options) as store:
        yield store


@hookimpl
def file_stores() -> Sequence[Backend[FileStore]]:
    """Offer ``s3``."""
    return [Backend("s3", open_s3, S3Options)]
