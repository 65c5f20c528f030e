"""What a capability keeps in the store of files, for whoever copies, moves or checks an installation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from teamchat.interfaces import Transaction


class KeptFile(NamedTuple):
    """A finished file of the store, and how many bytes it has."""

    key: str
    size: int


@dataclass(frozen=True, kw_only=True)
class KeepsFiles:
    """A capability that keeps bytes in `Teamchat.file_store`; without one there is no store.

    `backend` returns the name of the store from the capability's options. `table` and `key` name the column
    of its tables that holds the keys of finished files, and `size` the one with their sizes in bytes; each
    key stands in one row.
    """

    backend: Callable[[Any], str]
    table: str
    key: str
    size: str

    async def after(self, tx: Transaction, last: str, most: int) -> Sequence[KeptFile]:
        """Return at most so many files whose keys come after one, in their order."""
        rows = await tx.fetch(
            f"select {self.key}, {self.size} from {self.table} where {self.key} > $1"  # noqa: S608
            f" order by {self.key} limit $2",
            last,
            most,
        )
        return [KeptFile(*row) for row in rows]

    async def total(self, tx: Transaction) -> KeptFile:
        """Return how many files there are, as the key, and how many bytes they have together."""
        [(count, size)] = await tx.fetch(f"select count(*), coalesce(sum({self.size}), 0) from {self.table}")  # noqa: S608
        return KeptFile(str(count), int(size))
