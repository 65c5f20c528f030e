"""Reading a backup. Nothing that it says about itself is believed before it was checked.

Whoever made the file, reading it takes the memory of its list of entries, one page of rows and one image,
each of which is limited. A row has values that a database can hold. What does not fit is reported as
`Damaged` before anything was changed.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Annotated, cast

import msgspec
from msgspec import Meta

from teamchat.errors import OperatorError
from teamchat.interfaces import Row
from teamchat.operations import zipfiles
from teamchat.operations.archive import (
    FILES,
    FORMAT,
    IMAGES,
    MANIFEST,
    MOST_IMAGE_BYTES,
    MOST_MANIFEST_BYTES,
    NO_FILES,
    SECRET,
    VERSION,
    Manifest,
)
from teamchat.settings.checks import MIN_SECRET_BYTES
from teamchat.storage.capability_tables import Stored, stored_from
from teamchat.storage.rows import PAGE_ROWS, Sum
from teamchat.storage.tables import CAPABILITIES

_MOST_ROW_BYTES = 16 * 1024**2
_PAGE_BYTES = 16 * 1024**2
"""A page ends with the row that goes beyond."""
_MOST_SECRET_BYTES = 4096
_Key = Annotated[str, Meta(pattern=r"^[A-Za-z0-9-][A-Za-z0-9.-]{0,199}\Z")]
_Image = tuple[_Key, Annotated[int, Meta(ge=0, le=MOST_IMAGE_BYTES)], str]
_File = tuple[Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,80}\Z")], Annotated[int, Meta(ge=0, le=2**48)], str]
_FILE_PIECE = 64 * 1024
_Value = Annotated[str, Meta(pattern="^[^\0]*\\Z")] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None
"""PostgreSQL has no text with a NUL, and teamchat stores none (decision D-04)."""


class Damaged(OperatorError):
    """The file is no backup, or not what was written."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"{file} can't be restored: {why}. Nothing was changed.")


class Archive:
    """A backup that is read. Made by `opened`."""

    def __init__(self, path: Path, file: zipfile.ZipFile, manifest: Manifest) -> None:
        self._path = path
        self._file = file
        self.manifest = manifest

    def bytes_of(self, kind: str) -> int:
        """Return how many bytes there are at most of ``tables``, ``images`` or ``files``."""
        entries = self._file.infolist()
        return sum(entry.file_size for entry in entries if entry.filename.startswith(f"{kind}/"))

    def verify(self) -> None:
        """Read everything and compare it with the manifest. Raises `Damaged`."""
        for name, entry in self.manifest.tables.items():
            if self._sum(f"tables/{name}.jsonl", entry.rows) != entry.sum:
                raise Damaged(self._path, f"the table {name} in it is not what was written")
        if self._sum(IMAGES, self.manifest.images.rows) != self.manifest.images:
            raise Damaged(self._path, "the list of images in it is not what was written")
        for _ in self.images():
            pass
        if self.manifest.files != NO_FILES:
            if self._sum(FILES, self.manifest.files.rows) != self.manifest.files:
                raise Damaged(self._path, "the list of files in it is not what was written")
            for _, _, pieces in self.files():
                for _ in pieces:
                    pass
        if self.manifest.has_secret and len(self.secret()) < MIN_SECRET_BYTES:
            raise Damaged(self._path, "the signing secret in it is too short to be one")

    def pages(self, table: str) -> Iterator[Sequence[Row]]:
        """Yield the rows of a table, as they were read. Raises `Damaged` for a row that is none."""
        width = len(self.manifest.tables[table].columns)
        decoder = msgspec.json.Decoder(tuple[_Value, ...])
        page, length = list[Row](), 0
        with self._member(f"tables/{table}.jsonl") as opened:
            for line in zipfiles.lines(opened, _MOST_ROW_BYTES):
                page.append(decoder.decode(line))
                length += len(line)
                if len(page[-1]) != width:
                    raise Damaged(self._path, f"a row of the table {table} in it is none")
                if len(page) == PAGE_ROWS or length >= _PAGE_BYTES:
                    yield page
                    page, length = [], 0
            if page:
                yield page

    def capability_migrations(self) -> Stored:
        """Return the migrations of capabilities that the database had seen."""
        if CAPABILITIES not in self.manifest.tables:
            return {}
        columns = self.manifest.tables[CAPABILITIES].columns
        order = [columns.index(name) for name in ("namespace", "number", "definitions")]
        rows = [tuple(row[index] for index in order) for page in self.pages(CAPABILITIES) for row in page]
        try:
            return stored_from(cast("list[tuple[str, int, str]]", rows))
        except (ValueError, TypeError):
            raise Damaged(self._path, f"a row of the table {CAPABILITIES} in it is none") from None

    def images(self) -> Iterator[tuple[str, bytes]]:
        """Yield the key and the bytes of every image. Raises `Damaged` for one that is not right."""
        decoder = msgspec.json.Decoder(_Image)
        with self._member(IMAGES) as listed:
            for line in zipfiles.lines(listed, _MOST_ROW_BYTES):
                key, size, sha256 = decoder.decode(line)
                with self._member(f"images/{key}") as opened:
                    data = zipfiles.read(opened, size)
                if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
                    raise Damaged(self._path, "an image in it is not what was written")
                yield key, data

    def files(self) -> Iterator[tuple[str, int, Iterator[bytes]]]:
        """Yield the key, the size and the bytes of every file; these are to be read to their end.

        Reading raises `Damaged` for a file that is not right.
        """
        if self.manifest.files == NO_FILES:
            return
        decoder = msgspec.json.Decoder(_File)
        with self._member(FILES) as listed:
            for line in zipfiles.lines(listed, _MOST_ROW_BYTES):
                key, size, sha256 = decoder.decode(line)
                yield key, size, self._file_pieces(key, size, sha256)

    def _file_pieces(self, key: str, size: int, sha256: str) -> Iterator[bytes]:
        digest, left = hashlib.sha256(), size
        with self._member(f"files/{key}") as opened:
            while piece := opened.read(_FILE_PIECE):
                digest.update(piece)
                left -= len(piece)
                if left < 0:
                    break
                yield piece
        if left or digest.hexdigest() != sha256:
            raise Damaged(self._path, "a file in it is not what was written")

    def secret(self) -> bytes:
        """Return the signing secret."""
        with self._member(SECRET) as opened:
            return zipfiles.read(opened, _MOST_SECRET_BYTES).strip()

    def _sum(self, name: str, most_rows: int) -> Sum:
        """Return the sum of an entry, or of as much of it as has more rows than it should have."""
        digest, rows = hashlib.sha256(), 0
        with self._member(name) as opened:
            for chunk in zipfiles.chunks(opened):
                digest.update(chunk)
                rows += chunk.count(b"\n")
                if rows > most_rows:
                    break
        return Sum(rows, digest.hexdigest())

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._file.open(name) as opened:
                yield opened
        except zipfiles.UNREADABLE as error:
            raise Damaged(self._path, f"{name} in it is missing or damaged") from error


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open a backup. Raises `Damaged` if the file is none, or was never finished."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(zipfiles.open_zip(path))
        except OSError as error:
            raise Damaged(path, f"it can't be read ({error.strerror or type(error).__name__})") from None
        except zipfiles.UNREADABLE:
            raise Damaged(path, "it is no backup, or one that was not finished") from None
        try:
            with file.open(MANIFEST) as entry:
                manifest = msgspec.json.decode(zipfiles.read(entry, MOST_MANIFEST_BYTES), type=Manifest)
        except zipfiles.UNREADABLE:
            raise Damaged(path, "it has no manifest, so it is no backup of teamchat") from None
        if manifest.format != FORMAT or manifest.version != VERSION:
            raise Damaged(path, f"it is of another kind ({manifest.format[:40]} {manifest.version})")
        yield Archive(path, file, manifest)
