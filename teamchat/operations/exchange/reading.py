"""Reading a directory that `exporting` wrote, or another program in the same form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from teamchat.errors import OperatorError
from teamchat.operations.exchange.form import (
    FORMAT,
    HEAD,
    VERSION,
    Head,
    PortableChannel,
    PortableConversation,
    PortableImage,
    PortableMessage,
    PortableUser,
)

T = TypeVar("T", bound=Struct)
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,199}\Z")


class ExportDirectory:
    """A directory of JSON Lines, as a `Source`. Raises `OperatorError`, naming file and line."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        try:
            head = msgspec.json.decode((directory / HEAD).read_bytes(), type=Head)
        except OSError as error:
            raise OperatorError(f"{directory / HEAD} can't be read ({error.strerror}).") from None
        except msgspec.DecodeError:
            raise OperatorError(f"{directory / HEAD} is not that of an export.") from None
        if head.format != FORMAT or head.version != VERSION:
            raise OperatorError(f"{directory} is an export of another kind: {head.format} {head.version}.")

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

    def bytes_of(self, key: str) -> bytes | None:
        if not _KEY.match(key):
            return None
        try:
            return (self._directory / "images" / key).read_bytes()
        except OSError:
            return None

    def _records(self, name: str, kind: type[T]) -> Iterator[T]:
        path = self._directory / f"{name}.jsonl"
        decoder = msgspec.json.Decoder(kind)
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    try:
                        yield decoder.decode(line)
                    except (msgspec.DecodeError, UnicodeDecodeError):
                        raise OperatorError(f"{path}, line {number}, is no record of {name}.") from None
        except FileNotFoundError:
            return
        except OSError as error:
            raise OperatorError(f"{path} can't be read ({error.strerror}).") from None
