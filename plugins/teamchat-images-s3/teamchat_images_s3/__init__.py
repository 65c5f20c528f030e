"""The plugin that offers the image store ``s3``: images are kept in the store of files ``s3``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, ImagesInFiles, ImageStore, hookimpl


@hookimpl
def image_stores() -> Sequence[Backend[ImageStore]]:
    """Offer ``s3``."""
    return [ImagesInFiles("s3", store="s3", given={"in_parts": False})]
