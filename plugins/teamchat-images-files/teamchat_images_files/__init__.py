"""The plugin that offers the image store ``files``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, ImageStore, hookimpl
from teamchat_images_files.store import FilesOptions, open_files

__all__ = ["FilesOptions", "image_stores", "open_files"]


@hookimpl
def image_stores() -> Sequence[Backend[ImageStore]]:
    """Offer ``files``."""
    return [Backend("files", open_files, FilesOptions)]
