"""Reading the files of an export that somebody else made, from a directory or out of a ZIP file.

What must stay true: nothing outside the export is read, whatever links or names lead there; what is no file,
such as a pipe, is not waited for; and no more is in memory than a file of that kind may have.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from teamchat.errors import OperatorError

MOST_RECORD_BYTES = 16 * 1024**2
MOST_LIST_BYTES = 128 * 1024**2
"""How long a file may be that is read as a whole: a day of a channel, or a list of users."""
Place = Path | zipfile.Path


class TooLong(OperatorError):
    """A file, or a line of it, is longer than anything that belongs there."""

    def __init__(self, place: Place | str, most: int) -> None:
        super().__init__(f"{place} in the export is longer than {most // 1024**2} MiB, so it is not read.")


def unreadable(place: Place, error: OSError) -> OperatorError:
    """Return what is said of what can't be read."""
    return OperatorError(f"{place} can't be read ({error.strerror or error}).")


def has_file(place: Place) -> bool:
    """Tell whether there is a file, as far as this user can see."""
    return os.path.isfile(place) if isinstance(place, Path) else place.is_file()


def has_directory(place: Place) -> bool:
    """Tell whether there is a directory, as far as this user can see."""
    return os.path.isdir(place) if isinstance(place, Path) else place.is_dir()


@contextmanager
def open_inside(root: Place, place: Place) -> Iterator[IO[bytes]]:
    """Open a file below `root`. Raises an `OSError` if it is none, or leads elsewhere."""
    if isinstance(place, zipfile.Path):
        with place.open("rb") as entry:
            yield entry
        return
    if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(str(root))):
        raise OSError(f"{place} leads out of the export")
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{place} is no file")
        yield file


def read_inside(root: Place, place: Place, most: int) -> bytes:
    """Return the bytes of a file below `root`. Raises `TooLong`, or an `OSError`."""
    with open_inside(root, place) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLong(place, most)
    return data
