"""What a request brings that begins an upload and may be sent again (``Idempotency-Key``, X-13).

The same key answers the same upload, and with other bytes it is refused.  So of the bytes that came along,
their number and their digest are noted: whoever sends the request again brings them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import NamedTuple, Self

from teamchat import BadRequest


class OtherRequest(BadRequest):
    """The key was used for something else."""

    def __init__(self) -> None:
        super().__init__("Idempotency-Key was used for another request.")


class Brought(NamedTuple):
    """The bytes that were kept of a request; `is_all` unless its line was cut behind them."""

    size: int
    digest: str
    is_all: bool

    @classmethod
    def of(cls, size: int, hasher: hashlib._Hash, *, is_all: bool) -> Self:
        """Return what is to be noted."""
        return cls(size, hasher.hexdigest(), is_all)

    @classmethod
    def read(cls, noted: str) -> Self:
        """Return what was noted."""
        size, digest, extent = noted.split()
        return cls(int(size), digest, extent == "all")

    def noted(self) -> str:
        """Return it as the database has it."""
        return f"{self.size} {self.digest} {'all' if self.is_all else 'cut'}"

    async def compare(self, pieces: AsyncIterator[bytes]) -> None:
        """Raise `OtherRequest` unless a request brings the same.

        Where the line of the first one was cut, what comes behind the cut is left unread: how far the upload
        is, the answer says.
        """
        left, hasher = self.size, hashlib.sha256()
        async for piece in pieces:
            if self.is_all and len(piece) > left:
                raise OtherRequest
            hasher.update(piece[:left])
            left -= min(left, len(piece))
            if not left and not self.is_all:
                break
        if left or hasher.hexdigest() != self.digest:
            raise OtherRequest
