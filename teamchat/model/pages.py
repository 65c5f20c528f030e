"""Which page of a list a client asks for."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

from msgspec import Struct

from teamchat.errors import BadRequest

PAGE_DEFAULT = 50
PAGE_MOST = 200
_CURSOR = re.compile(r"([0-9]{1,16})\.([0-9a-f]{32})")


class Page(Struct, frozen=True):
    """The newest `limit`, or those older than `before`, newer than `after`, or `around` an id.

    At most one of the three ids is given (decision D-08, extension H-1).
    """

    limit: int = PAGE_DEFAULT
    before: str | None = None
    after: str | None = None
    around: str | None = None

    @property
    def is_newest(self) -> bool:
        """Whether the newest are asked for."""
        return self.before is None and self.after is None and self.around is None


class Cursor(NamedTuple):
    """Where a page ended of a list that is in the order of times, and of ids within one (X-11).

    `at` is in epoch milliseconds. What it points at need not be there any more.
    """

    at: int
    id: str

    @classmethod
    def checked(cls, text: str) -> Self:
        """Read a cursor that was given out. Raises `BadRequest` for any other."""
        if (found := _CURSOR.fullmatch(text)) is None:
            raise BadRequest("cursor is none that was given out.")
        return cls(int(found[1]), found[2])

    @property
    def text(self) -> str:
        """The cursor as it is given out."""
        return f"{self.at}.{self.id}"
