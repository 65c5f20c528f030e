"""Reading the files of an export that somebody else made, from a directory or a ZIP file.

Nothing outside the export is read, whatever links or names lead there. Anything that is not a file, such as a
pipe, is not waited for. No more is in memory than a file of that kind may have.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from teamchat.capabilities import ImportedFile
from teamchat.errors import OperatorError
from teamchat.operations.zipfiles import UNREADABLE, open_zip

MOST_RECORD_BYTES = 16 * 1024**2
MOST_LIST_BYTES = 128 * 1024**2
"""How long a file may be that is read as a whole: a day of a channel, or a list of users."""
_PIECE_BYTES = 64 * 1024
AnyPath = Path | zipfile.Path


class TooLong(OperatorError):
    """A file, or a line of it, is longer than anything that belongs there."""

    def __init__(self, path: AnyPath | str, most: int) -> None:
        super().__init__(f"{path} in the export is longer than {most // 1024**2} MiB, so it is not read.")


def unreadable(path: AnyPath, error: OSError) -> OperatorError:
    """Return what is said of what can't be read."""
    return OperatorError(f"{path} can't be read ({error.strerror or error}).")


def has_file(path: AnyPath) -> bool:
    """Return whether there is a file, as far as this user can see."""
    return os.path.isfile(path) if isinstance(path, Path) else path.is_file()


def has_directory(path: AnyPath) -> bool:
    """Return whether there is a directory, as far as this user can see."""
    return os.path.isdir(path) if isinstance(path, Path) else path.is_dir()


def inside(directory: AnyPath) -> Sequence[AnyPath]:
    """Return what a directory holds. Raises `OperatorError` if it can't be read."""
    try:
        return list(directory.iterdir())
    except OSError as error:
        raise unreadable(directory, error) from None


@contextmanager
def opened(path: Path) -> Iterator[AnyPath]:
    """Open a directory or a ZIP file. Raises `OperatorError` for what is neither, or damaged."""
    if has_directory(path):
        yield path
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_zip(path))
        except PermissionError as error:
            raise unreadable(path, error) from None
        except UNREADABLE:
            raise OperatorError(f"{path} is neither a directory nor a ZIP file that can be read.") from None
        yield zipfile.Path(file)


@contextmanager
def open_inside(root: AnyPath, path: AnyPath) -> Iterator[IO[bytes]]:
    """Open a file below `root`. Raises an `OSError` if it is none, or leads elsewhere."""
    if isinstance(path, zipfile.Path):
        with path.open("rb") as entry:
            yield entry
        return
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(str(root))):
        raise OSError(f"{path} leads out of the export")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is no file")
        yield file


def file_inside(root: AnyPath, path: AnyPath) -> ImportedFile | None:
    """Return the bytes of a file below `root`, of whatever length; None if it is none, or leads elsewhere."""
    try:
        with open_inside(root, path) as file:
            # In a ZIP file, to go to the end of an entry is to unpack it.
            size = _size_packed(path) if isinstance(path, zipfile.Path) else os.fstat(file.fileno()).st_size
    except UNREADABLE:
        return None

    async def read() -> AsyncGenerator[bytes, None]:
        left = size
        try:
            with open_inside(root, path) as file:
                while left and (piece := file.read(min(left, _PIECE_BYTES))):
                    left -= len(piece)
                    yield piece
        except UNREADABLE as error:
            raise OSError(f"{path} can't be read") from error
        if left:
            raise OSError(f"{path} is shorter than it was")

    return ImportedFile(size, read)


def _size_packed(path: zipfile.Path) -> int:
    root = cast("zipfile.ZipFile", path.root)
    return root.getinfo(path.at).file_size


def read_inside(root: AnyPath, path: AnyPath, most: int) -> bytes:
    """Return the bytes of a file below `root`. Raises `TooLong`, or an `OSError`."""
    with open_inside(root, path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLong(path, most)
    return data
