"""Checks of uploaded files, before others may have them (extension G-8)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct


class CheckedFile(Struct, frozen=True):
    """A file that has arrived completely. `size` is in bytes; `media_type` was determined from its bytes."""

    id: str
    name: str
    media_type: str
    size: int


class FileCheck(Protocol):
    """May block a file, or hold it back for as long as it can't decide."""

    name: str

    async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> bool:
        """Return whether the file may be handed out; False blocks it for good.

        `chunks` yields all its bytes in order, in pieces of up to 64 KiB; it need not be read to the end.
        Any exception, including one that `chunks` raises, means that the check could not decide yet: the file
        stays ``checking`` and is checked again later, perhaps by another process.  Several files may be
        checked at once.
        """
