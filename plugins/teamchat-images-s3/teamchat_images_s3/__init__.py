"""The plugin that offers the image store ``s3``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, ImageStore, hookimpl
from teamchat_images_s3.options import S3Options
from teamchat_images_s3.store import S3ImageStore, open_s3

__all__ = ["S3ImageStore", "S3Options", "image_stores", "open_s3"]


@hookimpl
def image_stores() -> Sequence[Backend[ImageStore]]:
    """Offer ``s3``."""
    return [Backend("s3", open_s3, S3Options)]
