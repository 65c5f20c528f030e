"""Reading a directory that `exporting` wrote, or another program in the same form."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar
from zipfile import BadZipFile

import msgspec
from msgspec import Struct

from teamchat.capabilities import ImportedFile
from teamchat.chat.image_formats import MAX_BYTES
from teamchat.errors import OperatorError
from teamchat.operations.import_export.files import (
    MOST_RECORD_BYTES,
    TooLong,
    file_inside,
    open_inside,
    read_inside,
    unreadable,
)
from teamchat.operations.import_export.form import (
    FILES,
    FORMAT,
    HEAD,
    READABLE,
    Head,
    PortableChannel,
    PortableConversation,
    PortableImage,
    PortableMessage,
    PortableUser,
    Section,
)
from teamchat.operations.import_export.sections import FOLDER, NAME
from teamchat.operations.zipfiles import lines

T = TypeVar("T", bound=Struct)
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,199}\Z")


class ExportDirectory:
    """A directory of JSON Lines, as a `Source`. Raises `OperatorError`, naming file and line."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        try:
            head = msgspec.json.decode(self._read(directory / HEAD, MOST_RECORD_BYTES), type=Head)
        except OSError as error:
            raise unreadable(directory / HEAD, error) from None
        except ValueError:
            raise OperatorError(f"{directory / HEAD} is not that of an export.") from None
        if head.format != FORMAT or head.version not in READABLE:
            kind = f"{head.format[:40]} {head.version}"
            raise OperatorError(f"{directory} is an export of another kind: {kind}.")
        self._told = head.capabilities

    def users(self) -> Iterator[PortableUser]:
        return self._records("users", PortableUser)

    def channels(self) -> Iterator[PortableChannel]:
        return self._records("channels", PortableChannel)

    def conversations(self) -> Iterator[PortableConversation]:
        return self._records("conversations", PortableConversation)

    def images(self) -> Iterator[PortableImage]:
        return self._records("images", PortableImage)

    def messages(self, *, replies: bool) -> Iterator[PortableMessage]:
        for message in self._records("messages", PortableMessage):
            if (message.thread_id is not None) == replies:
                yield message

    def sections(self) -> Mapping[str, Section]:
        # Another program may have written files that its head does not name.
        try:
            found = [one.removesuffix(".jsonl") for one in os.listdir(self._directory / FOLDER)]
        except OSError:
            return {}
        return {name: self._told.get(name, Section()) for name in sorted(found) if NAME.match(name)}

    def section(self, name: str, kind: type[T]) -> Iterator[T]:
        return self._records(f"{FOLDER}/{name}", kind)

    def bytes_of(self, key: str) -> bytes | None:
        if not _KEY.match(key):
            return None
        try:
            return self._read(self._directory / "images" / key, MAX_BYTES)
        except OSError:
            return None

    def file(self, name: str) -> ImportedFile | None:
        return file_inside(self._directory, self._directory / FILES / name) if _KEY.match(name) else None

    def _read(self, path: Path, most: int) -> bytes:
        return read_inside(self._directory, path, most)

    def _records(self, name: str, kind: type[T]) -> Iterator[T]:
        path = self._directory / f"{name}.jsonl"
        decoder = msgspec.json.Decoder(kind)
        try:
            with open_inside(self._directory, path) as file:
                for number, line in enumerate(lines(file, MOST_RECORD_BYTES), start=1):
                    try:
                        yield decoder.decode(line)
                    except ValueError:  # Of msgspec, or of a text that is no UTF-8.
                        raise OperatorError(f"{path}, line {number}, is no record of {name}.") from None
        except FileNotFoundError:
            return
        except BadZipFile:
            raise TooLong(f"A line of {path}", MOST_RECORD_BYTES) from None
        except OSError as error:
            raise unreadable(path, error) from None
