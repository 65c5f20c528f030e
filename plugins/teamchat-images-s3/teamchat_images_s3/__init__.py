"""The plugin that offers the image store ``s3``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module

from teamchat import Backend, ImageStore, hookimpl
from teamchat_images_s3.options import S3Options

__all__ = ["S3Options", "image_stores"]


@hookimpl
def image_stores() -> Sequence[Backend[ImageStore]]:
    """Offer ``s3``."""
    return [Backend("s3", _open, S3Options)]


def _open(options: S3Options) -> AbstractAsyncContextManager[ImageStore]:
    """Load the store and open it. It takes 4 MiB, and the plugin is installed beside every server."""
    opened: AbstractAsyncContextManager[ImageStore]
    opened = import_module("teamchat_images_s3.store").open_s3(options)
    return opened
