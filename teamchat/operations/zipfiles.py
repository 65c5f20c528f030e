"""Reading ZIP files that somebody may have made to do harm.

No entry is written to disk under its own name, so the name leads nowhere. Opening a file takes the memory of
its list of entries, which is limited, and whoever reads an entry says how much of it may be in memory at
once, whatever the file says about its size. A name stands for one entry. An entry is stored or deflated,
because with the other methods a file decides how much memory its reader needs.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

MOST_DIRECTORY_BYTES = 256 * 1024**2
"""How long the list of entries may be: two million, with names as long as those of images."""
UNREADABLE = (
    *(KeyError, zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error, OverflowError),
    *(RuntimeError, ValueError),  # A flipped bit says that it is encrypted; a name, or JSON, is none.
)
"""What reading a ZIP file raises that is damaged, or JSON out of it."""
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_READ_BYTES = 1 << 20


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP file. Raises what is `UNREADABLE`, an `OSError` if the file itself can't be read."""
    with _Bounded(path) as raw, zipfile.ZipFile(raw) as file:
        entries = file.infolist()
        if len({entry.filename for entry in entries}) != len(entries):
            raise zipfile.BadZipFile("a name stands there twice")
        if any(entry.compress_type not in _METHODS for entry in entries):
            raise zipfile.BadZipFile("an entry is neither stored nor deflated")
        yield file


def read(opened: IO[bytes], most: int) -> bytes:
    """Return all that is left of an entry. Raises `zipfile.BadZipFile` if that is more than `most` bytes."""
    data = opened.read(most + 1)
    if len(data) > most:
        raise zipfile.BadZipFile("an entry is longer than anything that belongs there")
    return data


def lines(opened: IO[bytes], most: int) -> Iterator[bytes]:
    """Yield the lines of an entry. Raises `zipfile.BadZipFile` for one of more than `most` bytes."""
    buffered = io.BufferedReader(cast(io.RawIOBase, opened), _READ_BYTES)
    try:
        while line := buffered.readline(most + 1):
            if len(line) > most:
                raise zipfile.BadZipFile("a line is longer than anything that belongs there")
            yield line
    finally:
        buffered.detach()  # Who opened it closes it.


def chunks(opened: IO[bytes]) -> Iterator[bytes]:
    """Yield an entry in pieces."""
    while chunk := opened.read(_READ_BYTES):
        yield chunk


class _Bounded(io.BufferedReader):
    """A file of which no more is read at once than a list of entries may be long."""

    def __init__(self, path: Path) -> None:
        raw = io.FileIO(path)
        super().__init__(raw)
        self._length = raw.seek(0, io.SEEK_END)
        raw.seek(0)

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._length - self.tell())
        wanted = left if size is None or size < 0 else min(size, left)
        if wanted > MOST_DIRECTORY_BYTES:
            raise zipfile.BadZipFile("the list of entries is longer than any")
        return super().read(size)
