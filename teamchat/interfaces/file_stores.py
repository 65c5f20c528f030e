"""Where bytes are kept (extension G): at once or in pieces as they come, and read from anywhere in them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

MOST_STATE = 2_000
"""How many characters the state of an unfinished file may have."""


class WrittenPart(NamedTuple):
    """How far a file is written durably, in bytes from its beginning, and the store's own `state` of that."""

    offset: int
    state: str


class FileStore(Protocol):
    """Keeps the bytes of files. Chosen by ``files.backend``; images may be kept in one (`ImagesInFiles`).

    Keys are made by the server: ASCII letters, digits, ``-`` and ``.``, 200 at most, the first of them no
    ``.``; each is written once, and never used again. What is small is put at once. Else a file is written in
    one or more parts, perhaps by several processes and machines after each other, and can be read when it is
    finished. No store holds more than 128 KiB of such a file in memory.

    The caller keeps a file's `offset` and `state`, a text of the store's own of at most `MOST_STATE`
    characters, in the database. What was written after the two that are kept there does not count: the next
    part begins at that offset again, with that state, also if a process died in between.

    What goes wrong is raised as `StorageFull` where there is no room, and else as `Unavailable` or `OSError`.
    """

    async def put(self, key: str, data: bytes) -> None:
        """Keep all bytes of a file, a few megabytes at most, durably: it can be read then.

        Doing it again with the same bytes is no error.
        """

    async def begin(self, key: str, size: int) -> str:
        """Prepare for a file of `size` bytes, which may be 0, and return its first state."""

    async def write(
        self, key: str, size: int, state: str, offset: int, pieces: AsyncIterator[bytes], length: int | None
    ) -> WrittenPart:
        """Write from `offset` what `pieces` yields, and return how far the file is written durably then.

        A piece has at most 192 KiB. `length` is how many bytes were announced, None if that is not known;
        fewer come where the line is cut, and `pieces` ends then without an error. What came is kept as far as
        the store can: the offset that is returned may be less than all that came, and no less than `offset`.
        Raises `Conflict` while another process writes the same file, and `Gone` where what counts of it is
        not there any more, as after a move: it has to be begun anew then.
        """

    async def finish(self, key: str, size: int, state: str) -> None:
        """Make a file readable, all of which is written. Doing it again is no error. Raises `Gone` too."""

    async def abandon(self, key: str, state: str) -> None:
        """Remove a file that is not finished, and what there may be of it beyond its state.

        Removing what is not there is no error.
        """

    async def read(self, key: str, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes] | None:
        """Return the bytes of a finished file from `start` up to `stop`, in chunks of at most 64 KiB.

        None if there is no such file. A chunk may be any object of bytes, such as a `memoryview`; the
        iterator may be left at any time, and is closed by ``aclose`` if it has that.
        """

    async def remove(self, key: str) -> None:
        """Remove a finished file; removing what is not there is no error."""

    async def free_bytes(self) -> int | None:
        """Return how many bytes there is room for; None where nobody can tell."""
