"""The files of an export from Slack: lists of users and channels, and for each channel a file a day.

What must stay true: one day of one channel is in memory at a time, and no name that stands in the export
leads out of it.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from teamchat.errors import OperatorError
from teamchat.operations.exchange.form import Report
from teamchat.operations.exchange.slack_shapes import LISTS, Said, has_shape

_SAID = {None, "bot_message", "me_message", "file_share", "file_comment", "thread_broadcast", "tombstone"}
Record = dict[str, Any]
Place = Path | zipfile.Path


class SlackFiles:
    """A directory, or the ZIP file it came in. Raises `OperatorError` for what is neither, or damaged."""

    def __init__(self, path: Path, report: Report) -> None:
        self._root = _root(path)
        self._report = report

    def listed(self, name: str) -> list[Record]:
        """Return the records of a list, such as ``users.json``; none if there is no such list."""
        path = self._root / name
        records = _records(path) if path.is_file() else []
        found = []
        for number, record in enumerate(records):
            if has_shape(record, LISTS[name]):
                found.append(record)
            else:
                self._report.omit("record", f"{name}/{number}", "it is not of Slack's form")
        return found

    def said(self, folder: str) -> Iterator[tuple[str, Record]]:
        """Yield what was said in a channel, oldest day first, and where that stands."""
        directory = self._root / folder
        if "/" in folder or folder.startswith(".") or not directory.is_dir():
            return
        days: list[Place] = [day for day in _inside(directory) if day.name.endswith(".json")]
        for day in sorted(days, key=lambda each: each.name):
            for number, record in enumerate(_records(day)):
                ts = record.get("ts")
                where = f"{folder}/{day.name}/{ts if isinstance(ts, str) else number}"
                kind = record.get("subtype")
                if not has_shape(record, Said) or record.get("type", "message") != "message":
                    self._report.omit("record", where, "it is no message")
                elif kind not in _SAID:
                    self._report.omit("notice", where, f"{kind}: told by Slack, said by nobody")
                else:
                    yield where, record

    def upload(self, file_id: str, name: str) -> Place | None:
        """Return where the bytes of a file are, if some tool put them beside: ``__uploads/<id>/<name>``."""
        if not file_id.isalnum() or "/" in name or name.startswith("."):
            return None
        path = self._root / "__uploads" / file_id / name
        return path if path.is_file() else None


def is_slack_export(path: Path) -> bool:
    """Tell whether this looks like what Slack exports."""
    try:
        root = _root(path)
    except OperatorError:
        return False
    return (root / "users.json").is_file() and (root / "channels.json").is_file()


def _root(path: Path) -> Place:
    """Return the directory that holds ``users.json``; it may be packed with a directory around it."""
    if path.is_dir():
        root: Place = path
    else:
        try:
            root = zipfile.Path(zipfile.ZipFile(path))
        except (OSError, zipfile.BadZipFile):
            raise OperatorError(f"{path} is neither a directory nor a ZIP file.") from None
    if not (root / "users.json").is_file():
        inner = [each for each in _inside(root) if each.is_dir() and (each / "users.json").is_file()]
        root = inner[0] if len(inner) == 1 else root
    return root


def _records(path: Place) -> list[Record]:
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):
        # A RuntimeError: the file is encrypted, or lists stand in lists without end.
        raise OperatorError(f"{path} in the export is damaged.") from None
    return [record for record in found if isinstance(record, dict)] if isinstance(found, list) else []


def _inside(directory: Place) -> list[Place]:
    return list(directory.iterdir())
