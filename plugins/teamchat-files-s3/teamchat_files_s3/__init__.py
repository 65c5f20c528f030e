"""The plugin that offers the store of files ``s3``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, FileStore, hookimpl
from teamchat_files_s3.options import S3Options
from teamchat_files_s3.store import S3FileStore, open_s3

__all__ = ["S3FileStore", "S3Options", "file_stores", "open_s3"]


@hookimpl
def file_stores() -> Sequence[Backend[FileStore]]:
    """Offer ``s3``."""
    return [Backend("s3", open_s3, S3Options)]
