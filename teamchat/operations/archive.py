"""The file of a backup: a ZIP with every table, every image, the signing secret, and a manifest.

The file appears under its name only when it is whole and on the disk, and it is for
its owner alone, for it lets its reader be anyone.  The manifest, written last, has the sum of each table
and of the list of images, which has that of each image; who reads it (`teamchat.operations.archived`)
compares.  However large it is, writing it takes the memory of a page of rows, of one image, and of the list
of images, and nothing is written that its reader would find too long.

    manifest.json         what is in the file, and what made it
    tables/<name>.jsonl   a row a line: a JSON array of the values of the manifest's columns
    images.jsonl          an image a line: key, size in bytes, SHA-256
    images/<key>          the bytes of images and thumbnails
    files.jsonl           a file of the store of files a line: key, size in bytes, SHA-256
    files/<key>           the bytes of files, and of their thumbnails
    jwt-secret            the signing secret, if it was a generated one
"""

from __future__ import annotations

import hashlib
import os
import secrets
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import msgspec
from msgspec import Meta, Struct, field

from teamchat.errors import OperatorError
from teamchat.operations.zipfiles import MOST_DIRECTORY_BYTES
from teamchat.storage.disk import sync
from teamchat.storage.rows import Sum, Summing

FORMAT = "teamchat-backup"
VERSION = 1
MANIFEST = "manifest.json"
SECRET = "jwt-secret"  # noqa: S105 - a name
IMAGES = "images.jsonl"
FILES = "files.jsonl"
NO_FILES = Summing().sum()
MOST_MANIFEST_BYTES = 16 * 1024**2
"""With the names of a quarter of a million images that are missing."""
MOST_IMAGE_BYTES = 256 * 1024**2
"""An upload is never so large; former versions imported what was."""
_ENTRY_BYTES = 128  # What one image adds to the ZIP file's list of entries, at most.
_COMPRESSION = {"compress_type": zipfile.ZIP_DEFLATED, "compresslevel": 3}


class TableEntry(Struct, frozen=True):
    """A table of the file."""

    columns: tuple[str, ...]
    rows: Annotated[int, Meta(ge=0)]
    sha256: str

    @property
    def sum(self) -> Sum:
        return Sum(self.rows, self.sha256)


class Manifest(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is in the file. Times are epoch milliseconds; `log_end` is the number of the last event."""

    format: str
    version: int
    teamchat: str
    schema: int
    created_at: int
    log_end: Annotated[int, Meta(ge=0, le=2**62)]
    has_secret: bool
    tables: dict[str, TableEntry]
    images: Sum
    missing_images: list[str] = field(default_factory=list)
    files: Sum = NO_FILES


class Damaged(OperatorError):
    """The file is no backup, or not what was written."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"{file} can't be restored: {why}. Nothing was changed.")


class ArchiveWriter:
    """Writes a backup. Made by `written`."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._images = Summing()
        self._list: list[bytes] = []
        self._files = Summing()
        self._file_list: list[bytes] = []

    @contextmanager
    def table(self, name: str) -> Iterator[IO[bytes]]:
        """Open the place for the lines of a table."""
        with self._file.open(self._entry(f"tables/{name}.jsonl"), "w", force_zip64=True) as opened:
            yield opened

    def add_image(self, key: str, data: bytes) -> None:
        """Add an image; images do not get smaller by compressing them. Raises `OperatorError`."""
        if len(data) > MOST_IMAGE_BYTES:
            raise OperatorError(f"The image {key} is larger than 256 MiB, so it can't be in a backup.")
        if len(self._list) >= MOST_DIRECTORY_BYTES // _ENTRY_BYTES:
            raise OperatorError("There are more images than a backup can hold, two million. Copy them apart.")
        entry = zipfile.ZipInfo(f"images/{key}")
        entry.external_attr = 0o600 << 16
        self._file.writestr(entry, data, zipfile.ZIP_STORED)
        self._list.append(self._images.add((key, len(data), hashlib.sha256(data).hexdigest())))

    async def add_file(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        """Add a file as its pieces come. Raises `OperatorError`."""
        if len(self._file_list) >= MOST_DIRECTORY_BYTES // _ENTRY_BYTES:
            raise OperatorError("There are more files than a backup can hold, two million. Copy them apart.")
        entry = zipfile.ZipInfo(f"files/{key}")
        entry.external_attr = 0o600 << 16
        digest, size = hashlib.sha256(), 0
        with self._file.open(entry, "w", force_zip64=True) as opened:
            async for piece in pieces:
                opened.write(piece)
                digest.update(piece)
                size += len(piece)
        self._file_list.append(self._files.add((key, size, digest.hexdigest())))

    def finish_files(self) -> Sum:
        """Write the list of files and return its sum; without any there is no list."""
        if self._file_list:
            self._file.writestr(self._entry(FILES), b"".join(self._file_list), **_COMPRESSION)
        return self._files.sum()

    def add_secret(self, secret: bytes) -> None:
        """Add the signing secret."""
        self._file.writestr(self._entry(SECRET), secret, **_COMPRESSION)

    def finish_images(self) -> Sum:
        """Write the list of images and return its sum."""
        self._file.writestr(self._entry(IMAGES), b"".join(self._list), **_COMPRESSION)
        return self._images.sum()

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest. Raises `OperatorError` if it names too many missing images."""
        data = msgspec.json.format(msgspec.json.encode(manifest))
        if len(data) > MOST_MANIFEST_BYTES:
            raise OperatorError("Too many images are missing to name them. Is this the right image store?")
        self._file.writestr(self._entry(MANIFEST), data, **_COMPRESSION)

    def _entry(self, name: str) -> zipfile.ZipInfo:
        entry = zipfile.ZipInfo(name)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o600 << 16
        return entry


@contextmanager
def written(path: Path) -> Iterator[ArchiveWriter]:
    """Write a file beside `path`, and give it that name once it is on the disk.

    Raises `OperatorError` if there is a file already, or it can't be written.
    """
    if os.path.lexists(path):
        raise OperatorError(f"{path} is there already and is left as it is. Give another name.")
    # A name of its own, and a file that was not there: nobody else holds it open, and it is no link.
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w+b") as raw:
                os.fchmod(raw.fileno(), 0o600)
                with zipfile.ZipFile(raw, "w", allowZip64=True) as file:
                    yield ArchiveWriter(file)
                raw.flush()
                os.fsync(raw.fileno())
            part.rename(path)
            sync(path.parent)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OperatorError(f"{path} can't be written ({error.strerror or type(error).__name__}).") from error
