"""Which page of a list a client asks for."""

from __future__ import annotations

from msgspec import Struct

PAGE_DEFAULT = 50
PAGE_MOST = 200


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
