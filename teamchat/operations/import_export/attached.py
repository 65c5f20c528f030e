"""Files beside an export that somebody else made: which become images here, and which become files."""

from __future__ import annotations

from teamchat.chat.image_formats import MAX_BYTES, check_image
from teamchat.errors import BadRequest
from teamchat.operations.import_export.files import AnyPath, TooLong, read_inside
from teamchat.operations.zipfiles import UNREADABLE

_IMAGE_ENDINGS = {"jpg", "jpeg", "png", "webp", "svg"}


class Attached:
    """Judges the files below `root`. Unless it `keeps_files`, all that has an image's name is one."""

    def __init__(self, root: AnyPath, *, keeps_files: bool) -> None:
        self._root = root
        self._keeps_files = keeps_files
        self._are_images: dict[str, bool] = {}

    def is_image(self, path: AnyPath, name: str) -> bool:
        """Return whether messages can have a file as an image here."""
        ending = ending_of(name)
        if ending not in _IMAGE_ENDINGS or not self._keeps_files:
            return ending in _IMAGE_ENDINGS
        if (known := str(path)) not in self._are_images:
            self._are_images[known] = self._shows(path, ending)
        return self._are_images[known]

    def is_file(self, path: AnyPath, name: str) -> bool:
        """Return whether a file comes along as one."""
        return self._keeps_files and not self.is_image(path, name)

    def image(self, path: AnyPath) -> bytes | None:
        """Return the bytes of an image, or None if they can't be read. Raises `TooLong`."""
        try:
            return read_inside(self._root, path, MAX_BYTES)
        except UNREADABLE:
            return None

    def _shows(self, path: AnyPath, ending: str) -> bool:
        """Return whether a file is an image as it is called: many are of another kind than named."""
        try:
            data = self.image(path)
            if data is not None:  # What can't be read is left out, as any image.
                check_image(data, ending)
        except (TooLong, BadRequest):
            return False
        return True


def ending_of(name: str) -> str:
    """Return what comes after the last dot of a file's name, in small letters."""
    return name.rpartition(".")[2].lower()
