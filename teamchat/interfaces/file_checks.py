"""What looks at the files that people send, before others may have them (extension G-8)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct


class CheckedFile(Struct, frozen=True):
    """A file that has arrived whole; `size` is in bytes, `media_type` what its bytes were found to be."""

    id: str
    name: str
    media_type: str
    size: int


class FileCheck(Protocol):
    """May block a file, or hold it back for as long as it can't tell."""

    name: str

    async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> bool:
        """Return whether the file may be handed out; False blocks it for good.

        `chunks` are all its bytes in order, in pieces of up to 64 KiB; they need not be read to the end.  Any
        exception, also one that `chunks` raises, means that nobody knows yet: the file stays ``checking``,
        and is put before the check again later, perhaps by another process.  Several files may be checked
        at once.
        """
