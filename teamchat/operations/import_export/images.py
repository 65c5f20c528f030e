"""Imported images, checked as uploads are: what is stored is what it says it is."""

from __future__ import annotations

import re
from typing import NamedTuple

from teamchat.chat import image_formats
from teamchat.errors import BadRequest
from teamchat.operations.import_export.files import TooLong
from teamchat.operations.import_export.form import PortableImage, Source
from teamchat.operations.stored_images import keys_of

_NAME = re.compile(r"[0-9]{1,16}-[0-9a-f]{32}\.(?:jpg|jpeg|png|webp|svg)\Z")


class CheckedImage(NamedTuple):
    """The bytes by key, and what the columns from ``media_type`` on say of them."""

    files: list[tuple[str, bytes]]
    kinds: tuple[str, int, str | None, int | None]


def checked_image(source: Source, image: PortableImage) -> CheckedImage:
    """Return an image and its thumbnail. Raises `BadRequest` if they are not there, or not images."""
    if not _NAME.match(image.filename):
        raise BadRequest("its name is not one that teamchat gives")
    keys = keys_of(image.filename, has_thumbnail=image.thumbnail_type is not None)
    files = []
    for key in keys:
        try:
            data = source.bytes_of(key)
        except TooLong:
            raise BadRequest("it is larger than 10 MB") from None
        if data is None:
            raise BadRequest("its bytes are not in the export")
        files.append((key, data))
    data = files[0][1]
    media_type = image_formats.check_image(data, image_formats.extension(image.filename))
    if len(files) == 1:
        return CheckedImage(files, (media_type, len(data), None, None))
    small = files[1][1]
    return CheckedImage(files, (media_type, len(data), image_formats.check_thumbnail(small), len(small)))
