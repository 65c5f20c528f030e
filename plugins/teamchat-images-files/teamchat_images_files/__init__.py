"""The plugin that offers the image store ``files``: images are kept in the store of files ``directory``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, ImagesInFiles, ImageStore, hookimpl


@hookimpl
def image_stores() -> Sequence[Backend[ImageStore]]:
    """Offer ``files``."""
    return [ImagesInFiles("files", store="directory")]
