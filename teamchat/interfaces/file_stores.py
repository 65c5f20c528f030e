"""Stores of files (extension G): written at once or piece by piece, read from any byte on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

MOST_STATE = 2_000
"""How many characters the state of an unfinished file may have at most."""


class WrittenPart(NamedTuple):
    """How far a file is durably written, in bytes from its beginning, and the store's own `state` there."""

    offset: int
    state: str


class FileStore(Protocol):
    """Keeps the bytes of files. ``files.backend`` chooses one; images can be in one too (`ImagesInFiles`).

    The server makes the keys: at most 200 ASCII letters, digits, ``-`` and ``.``, not beginning with ``.``.
    Each key is written once and never used again. A small file is put at once. Any other is written in one or
    more parts, perhaps by several processes and machines one after another, and can be read once it is
    finished. A store holds no more than 128 KiB of such a file in memory.

    The caller keeps the file's `offset` and `state` in the database; `state` is a text of the store's own, of
    at most `MOST_STATE` characters. Whatever was written after the offset and state that are kept there does
    not count: the next part begins again at that offset, with that state, even if a process died in between.

    Failures are raised as `StorageFull` if there is no room, and otherwise as `Unavailable` or `OSError`.
    """

    async def put(self, key: str, data: bytes) -> None:
        """Store a whole file durably, a few megabytes at most. It can be read from then on.

        Putting the same bytes again is no error.
        """

    async def begin(self, key: str, size: int) -> str:
        """Begin a file of `size` bytes, which may be 0, and return its first state."""

    async def write(
        self, key: str, size: int, state: str, offset: int, pieces: AsyncIterator[bytes], length: int | None
    ) -> WrittenPart:
        """Write what `pieces` yields, starting at `offset`; return how far the file is durably written then.

        A piece has at most 192 KiB. `length` is how many bytes were announced, or None if that is not known.
        If the connection breaks, fewer arrive, and `pieces` simply ends. The store keeps as much as it can:
        the offset it returns may be less than what arrived, but not less than the given one.
        Raises `Conflict` while another process writes the same file, and `Gone` if what was written before is
        no longer there, as after a move: then the file has to be begun again.
        """

    async def finish(self, key: str, size: int, state: str) -> None:
        """Make a file that is written to its end readable. Doing so twice is no error. Raises `Gone` too."""

    async def abandon(self, key: str, state: str) -> None:
        """Remove an unfinished file, including anything written beyond its state.

        Removing what is not there is no error.
        """

    async def read(self, key: str, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes] | None:
        """Return the bytes of a finished file from `start` up to `stop`, in chunks of at most 64 KiB.

        Returns None if there is no such file. A chunk may be any bytes-like object, such as a `memoryview`.
        The caller may stop iterating at any time, and then calls ``aclose`` if the iterator has it.
        """

    async def remove(self, key: str) -> None:
        """Remove a finished file; removing what is not there is no error."""

    async def free_bytes(self) -> int | None:
        """Return for how many more bytes there is room, or None if that can't be told."""
