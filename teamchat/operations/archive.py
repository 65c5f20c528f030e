"""The file of a backup: a ZIP with every table, every image, the signing secret, and a manifest.

What must stay true: the file appears under its name only when it is whole and on the disk, and it is for
its owner alone, for it lets its reader be anyone.  The manifest, written last, has the sum of each table
and of the list of images, which has that of each image; what is read is compared with them.  However
large it is, it takes the memory of a page of rows, of one image, and of the list of images.

    manifest.json         what is in the file, and what made it
    tables/<name>.jsonl   a row a line: a JSON array of the values of the manifest's columns
    images.jsonl          an image a line: key, size in bytes, SHA-256
    images/<key>          the bytes of images and thumbnails
    jwt-secret            the signing secret, if it was a generated one
"""

from __future__ import annotations

import hashlib
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import msgspec
from msgspec import Meta, Struct, field

from teamchat.errors import OperatorError
from teamchat.interfaces import Row
from teamchat.settings.checks import MIN_SECRET_BYTES
from teamchat.storage.rows import PAGE_ROWS, Sum, Summing

FORMAT = "teamchat-backup"
VERSION = 1
MANIFEST = "manifest.json"
SECRET = "jwt-secret"  # noqa: S105 - a name
_IMAGES = "images.jsonl"
_UNREADABLE = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, msgspec.DecodeError)
"""What a ZIP file raises that is damaged; a RuntimeError if a flipped bit says that it is encrypted."""
_Key = Annotated[str, Meta(pattern=r"^[A-Za-z0-9-][A-Za-z0-9.-]{0,199}\Z")]
_Value = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None
_COMPRESSION = {"compress_type": zipfile.ZIP_DEFLATED, "compresslevel": 3}


class TableEntry(Struct, frozen=True):
    """A table of the file."""

    columns: tuple[str, ...]
    rows: int
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
    log_end: Annotated[int, Meta(le=2**62)]
    has_secret: bool
    tables: dict[str, TableEntry]
    images: Sum
    missing_images: list[str] = field(default_factory=list)


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

    @contextmanager
    def table(self, name: str) -> Iterator[IO[bytes]]:
        """Open the place for the lines of a table."""
        with self._file.open(self._entry(f"tables/{name}.jsonl"), "w", force_zip64=True) as opened:
            yield opened

    def add_image(self, key: str, data: bytes) -> None:
        """Add an image; images do not get smaller by compressing them."""
        entry = zipfile.ZipInfo(f"images/{key}")
        entry.external_attr = 0o600 << 16
        self._file.writestr(entry, data, zipfile.ZIP_STORED)
        self._list.append(self._images.add((key, len(data), hashlib.sha256(data).hexdigest())))

    def add_secret(self, secret: bytes) -> None:
        """Add the signing secret."""
        self._file.writestr(self._entry(SECRET), secret, **_COMPRESSION)

    def finish_images(self) -> Sum:
        """Write the list of images and return its sum."""
        self._file.writestr(self._entry(_IMAGES), b"".join(self._list), **_COMPRESSION)
        return self._images.sum()

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest."""
        data = msgspec.json.format(msgspec.json.encode(manifest))
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
    if path.exists():
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
            _sync(path.parent)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OperatorError(f"{path} can't be written ({error.strerror or type(error).__name__}).") from error


class Archive:
    """A backup that is read. Made by `opened`."""

    def __init__(self, path: Path, file: zipfile.ZipFile, manifest: Manifest) -> None:
        self._path = path
        self._file = file
        self.manifest = manifest

    def verify(self) -> None:
        """Read everything and compare it with the manifest. Raises `Damaged`."""
        for name, entry in self.manifest.tables.items():
            if self._sum(f"tables/{name}.jsonl") != entry.sum:
                raise Damaged(self._path, f"the table {name} in it is not what was written")
        if self._sum(_IMAGES) != self.manifest.images:
            raise Damaged(self._path, "the list of images in it is not what was written")
        for _ in self.images():
            pass
        if self.manifest.has_secret and len(self.secret()) < MIN_SECRET_BYTES:
            raise Damaged(self._path, "the signing secret in it is too short to be one")

    def pages(self, table: str) -> Iterator[Sequence[Row]]:
        """Yield the rows of a table, as they were read. Raises `Damaged` for a row that is none."""
        width = len(self.manifest.tables[table].columns)
        decoder = msgspec.json.Decoder(tuple[_Value, ...])
        with self._member(f"tables/{table}.jsonl") as lines:
            page = []
            for line in lines:
                page.append(decoder.decode(line))
                if len(page[-1]) != width:
                    raise Damaged(self._path, f"a row of the table {table} in it is none")
                if len(page) == PAGE_ROWS:
                    yield page
                    page = []
            if page:
                yield page

    def images(self) -> Iterator[tuple[str, bytes]]:
        """Yield the key and the bytes of every image. Raises `Damaged` for one that is not right."""
        with self._member(_IMAGES) as lines:
            for line in lines:
                key, size, sha256 = msgspec.json.decode(line, type=tuple[_Key, int, str])
                with self._member(f"images/{key}") as opened:
                    data = opened.read(size + 1)
                if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
                    raise Damaged(self._path, "an image in it is not what was written")
                yield key, data

    def secret(self) -> bytes:
        """Return the signing secret."""
        with self._member(SECRET) as opened:
            return opened.read(4096).strip()

    def _sum(self, name: str) -> Sum:
        digest, rows = hashlib.sha256(), 0
        with self._member(name) as lines:
            for line in lines:
                digest.update(line)
                rows += 1
        return Sum(rows, digest.hexdigest())

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._file.open(name) as opened:
                yield opened
        except _UNREADABLE as error:
            raise Damaged(self._path, f"{name} in it is missing or damaged") from error


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open a backup. Raises `Damaged` if the file is none, or was never finished."""
    try:
        file = zipfile.ZipFile(path)
    except OSError as error:
        raise Damaged(path, f"it can't be read ({error.strerror or type(error).__name__})") from None
    except zipfile.BadZipFile:
        raise Damaged(path, "it is no backup, or one that was not finished") from None
    with file:
        try:
            manifest = msgspec.json.decode(file.read(MANIFEST), type=Manifest)
        except _UNREADABLE:
            raise Damaged(path, "it has no manifest, so it is no backup of teamchat") from None
        if manifest.format != FORMAT or manifest.version != VERSION:
            raise Damaged(path, f"it is of another kind ({manifest.format} {manifest.version})")
        yield Archive(path, file, manifest)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
