"""Reading the lines of a bulk export: one record each, with one record in memory at a time.

An export is read several times; what is not a record is reported only in the reading that is asked to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar
from zipfile import BadZipFile

import msgspec
from msgspec import Struct

from teamchat.errors import OperatorError
from teamchat.operations.import_export.files import (
    MOST_LIST_BYTES,
    AnyPath,
    TooLong,
    has_directory,
    has_file,
    inside,
    open_inside,
    unreadable,
)
from teamchat.operations.import_export.mattermost.shapes import KINDS, Line, Reply, Rooted
from teamchat.operations.import_export.report import Report
from teamchat.operations.zipfiles import UNREADABLE, lines

T = TypeVar("T", bound=Struct)
_ENDINGS = (".jsonl", ".json")
_HEAD_BYTES = 1 << 16
_LINE = msgspec.json.Decoder(Line)
_RECORDS = {kind: msgspec.json.Decoder(shape) for kind, shape in KINDS.items()}
_REPLY = msgspec.json.Decoder(Reply)
_OF_NO_FORM = (ValueError, RecursionError)
_NO_RECORD = "it is not of Mattermost's form"


class BulkFile(NamedTuple):
    """Where the lines are, and below which directory the files that go with them."""

    root: AnyPath
    path: AnyPath


class BulkLines:
    """The lines of an export. Raises `OperatorError` for what is damaged, or too long."""

    def __init__(self, file: BulkFile, report: Report) -> None:
        self.root = file.root
        self._path = file.path
        self._report = report

    def created(self) -> str:
        """Return when the export was made (RFC 3339), or nothing."""
        for line in self._lines():
            info = _head(line)
            return (info.info.created or "") if info is not None and info.info is not None else ""
        return ""

    def records(self, *kinds: type[T], notes: bool = False) -> Iterator[tuple[str, T]]:
        """Yield the records of some kinds, and where each stands."""
        for number, data in enumerate(self._lines(), start=1):
            where = f"line {number}"
            try:
                line = _LINE.decode(data)
            except _OF_NO_FORM:
                if notes:
                    self._report.omit("record", where, _NO_RECORD)
                continue
            if line.type not in KINDS:
                if notes and line.type != "version":
                    self._report.omit(line.type[:40], where, "there is nothing like it here")
                continue
            if not issubclass(KINDS[line.type], kinds):
                continue
            try:
                record = _RECORDS[line.type].decode(getattr(line, line.type))
            except _OF_NO_FORM:
                if notes:
                    self._report.omit(line.type, where, _NO_RECORD)
                continue
            yield where, record  # type: ignore[misc]  # It is one of them, by the line above.

    def replies(self, where: str, post: Rooted, *, notes: bool = False) -> Iterator[tuple[str, Reply]]:
        """Yield the replies that stand with a post, and where."""
        for number, raw in enumerate(post.replies or (), start=1):
            place = f"{where}, reply {number}"
            try:
                yield place, _REPLY.decode(raw)
            except _OF_NO_FORM:
                if notes:
                    self._report.omit("reply", place, _NO_RECORD)

    def _lines(self) -> Iterator[bytes]:
        try:
            with open_inside(self.root, self._path) as file:
                for line in lines(file, MOST_LIST_BYTES):
                    if line.strip():
                        yield line
        except BadZipFile:
            raise TooLong(f"A line of {self._path}", MOST_LIST_BYTES) from None
        except PermissionError as error:
            raise unreadable(self._path, error) from None
        except UNREADABLE:
            raise OperatorError(f"{self._path} in the export is damaged.") from None


def bulk_file_in(folder: AnyPath) -> BulkFile | None:
    """Return the lines in a directory or in one inside it, ``import.jsonl`` as a rule; None without any."""
    for root in (folder, *(each for each in inside(folder) if has_directory(each))):
        with suppress(OperatorError):
            for path in sorted(inside(root), key=lambda each: each.name):
                if path.name.endswith(_ENDINGS) and is_bulk_file(root, path):
                    return BulkFile(root, path)
    return None


def is_bulk_file(root: AnyPath, path: AnyPath) -> bool:
    """Return whether a file begins as a bulk export does: with a line that gives its version."""
    if not has_file(path):
        return False
    try:
        with open_inside(root, path) as file:
            head = _head(file.read(_HEAD_BYTES).partition(b"\n")[0])
    except UNREADABLE:
        return False
    return head is not None and head.type == "version"


def _head(line: bytes) -> Line | None:
    try:
        return _LINE.decode(line)
    except _OF_NO_FORM:
        return None
