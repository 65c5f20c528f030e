"""What a capability keeps in the store of files, for copying, moving and checking an installation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from teamchat.interfaces import Transaction


class KeptFile(NamedTuple):
    """A finished file in the store, and its size in bytes."""

    key: str
    size: int


@dataclass(frozen=True, kw_only=True)
class KeepsFiles:
    """Says that a capability keeps files in `Teamchat.file_store`. If none does, there is no store."""

    backend: Callable[[Any], str]
    """Returns the name of the store, from the capability's options."""
    table: str
    """The table with a row for each finished file."""
    key: str
    """The column with the file's key."""
    size: str
    """The column with its size in bytes."""

    async def after(self, tx: Transaction, last: str, most: int) -> Sequence[KeptFile]:
        """Return up to `most` files whose keys come after `last`, in the order of the keys."""
        rows = await tx.fetch(
            f"select {self.key}, {self.size} from {self.table} where {self.key} > $1"  # noqa: S608
            f" order by {self.key} limit $2",
            last,
            most,
        )
        return [KeptFile(*row) for row in rows]

    async def total(self, tx: Transaction) -> KeptFile:
        """Return how many files there are, as the key, and their total size in bytes."""
        [(count, size)] = await tx.fetch(f"select count(*), coalesce(sum({self.size}), 0) from {self.table}")  # noqa: S608
        return KeptFile(str(count), int(size))
