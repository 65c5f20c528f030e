"""The files of an export from Slack: lists of users and channels, and one file per day for each channel.

One day of one channel is in memory at a time, up to the length that a day may have, and no name in the export
leads out of it. What is left out of a channel is reported when that is asked for, because a channel is read
more than once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from teamchat.errors import OperatorError
from teamchat.operations.import_export.files import (
    MOST_LIST_BYTES,
    AnyPath,
    has_directory,
    has_file,
    inside,
    read_inside,
    unreadable,
)
from teamchat.operations.import_export.report import Report
from teamchat.operations.import_export.slack.shapes import LISTS, NOTICES, SAID, Said, has_shape
from teamchat.operations.zipfiles import UNREADABLE

Record = dict[str, Any]
_NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*]')
_USERS = ("users.json", "org_users.json")  # The second one from a whole Enterprise organisation.
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_NOT_READ = ("canvases.json", "content_flags.json", "integration_logs.json", "lists.json")


class SlackFiles:
    """What stands in an export. Raises `OperatorError` for what is damaged, or too long."""

    def __init__(self, root: AnyPath, report: Report) -> None:
        self.root = root
        self._report = report
        for name in _NOT_READ:
            if has_file(root / name):
                report.omit("list", name, "there is nothing like it here")

    def users(self) -> list[Record]:
        """Return the records of the users."""
        return [record for name in _USERS for record in self.listed(name)]

    def listed(self, name: str) -> list[Record]:
        """Return the records of a list, such as ``channels.json``; none if there is no such list."""
        path = self.root / name
        found = []
        for number, record in enumerate(self._records(path) if has_file(path) else ()):
            if isinstance(record, dict) and has_shape(record, LISTS[name]):
                found.append(record)
            else:
                self._report.omit("record", f"{name}/{number}", "it is not of Slack's form")
        return found

    def said(self, folder: str, *, notes: bool = False) -> Iterator[tuple[str, Record]]:
        """Yield what was said in a channel, oldest day first, and where that stands; note what was not."""
        directory = self.root / folder
        if "/" in folder or folder.startswith(".") or not has_directory(directory):
            return
        found = [day for day in inside(directory) if day.name.endswith(".json")]
        # A Mac puts one of its own beside each on disks of other systems: ._2017-07-14.json.
        days = [day for day in found if not day.name.startswith(".")]
        for day in sorted(days, key=lambda each: each.name):
            for number, record in enumerate(self._records(day)):
                where = f"{folder}/{day.name}/{number}"
                refused = _refused(record)
                if isinstance(record, dict) and isinstance(record.get("ts"), str):
                    where = f"{folder}/{day.name}/{record['ts']}"
                if isinstance(record, dict) and refused is None:
                    yield where, record
                elif notes and refused is not None:
                    self._report.omit(refused[0], where, refused[1])

    def upload(self, folder: str, file_id: str, name: str) -> AnyPath | None:
        """Return where the bytes of a file are, if some tool has put them beside.

        That is ``__uploads/<id>/<name>``, as the tools that prepare an export for Mattermost have it, or
        ``<channel>/attachments/<id>-<name>``, slackdump's other way; both may have changed what names of
        files may not hold elsewhere.
        """
        if not file_id.isalnum() or not file_id.isascii() or not name:
            return None
        for written in dict.fromkeys((name, _NOT_IN_NAMES.sub("_", name).rstrip(" ."))):
            if "/" in written or written in {"", ".", ".."} or "\x00" in written:
                continue
            for path in (
                self.root / "__uploads" / file_id / written,
                self.root / folder / "attachments" / f"{file_id}-{written}",
            ):
                if has_file(path):
                    return path
        return None

    def _records(self, path: AnyPath) -> Iterator[object]:
        """Yield the records of a file, which are decoded one by one: together they take much memory."""
        try:
            for raw in _list_in(read_inside(self.root, path, MOST_LIST_BYTES)):
                yield msgspec.json.decode(raw)
        except PermissionError as error:
            raise unreadable(path, error) from None
        except UNREADABLE:
            raise OperatorError(f"{path} in the export is damaged.") from None


def _list_in(data: bytes) -> list[msgspec.Raw]:
    """Return the records of a list. Raises a `ValueError` or `RecursionError` for what is none.

    An editor may have put a byte order mark before it, and a text that was cut between the halves of a
    surrogate pair can't be written as UTF-8 (RFC 8259, 8.1 and 8.2): "?" stands for that half then.
    """
    try:
        return _LIST.decode(data)
    except msgspec.DecodeError:
        return _LIST.decode(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))


def _refused(record: object) -> tuple[str, str] | None:
    """Return what a record is called that is no message of anybody, and why."""
    if (
        not isinstance(record, dict)
        or not has_shape(record, Said)
        or record.get("type", "message") != "message"
    ):
        return "record", "it is no message"
    kind = record.get("subtype")
    if kind in SAID:
        return None
    return "notice", f"{kind if kind in NOTICES else 'of another kind'}: told by Slack, said by nobody"


def root_in(folder: AnyPath) -> AnyPath | None:
    """Return what holds the lists, `folder` or a directory in it; None if it is no export of Slack's."""
    inner = [each for each in inside(folder) if has_directory(each)]
    found = [each for each in inner if _is_root(each)]
    if _is_root(folder):
        return folder
    return found[0] if len(found) == 1 else None


def _is_root(folder: AnyPath) -> bool:
    return has_file(folder / "channels.json") and any(has_file(folder / name) for name in _USERS)
