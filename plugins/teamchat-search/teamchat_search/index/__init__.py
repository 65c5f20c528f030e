"""The index in the database: what it holds, and how it narrows down. Two databases, each in its own way."""

from __future__ import annotations

from teamchat_search.index.base import (
    ABOVE_ALL,
    GRAMS_OF_A_ROOM,
    MADE_BY,
    MOST_TAIL,
    Found,
    Index,
    Reach,
    Segments,
    State,
)
from teamchat_search.index.postgres import PostgresIndex
from teamchat_search.index.sqlite import SqliteIndex

__all__ = (
    "ABOVE_ALL",
    "GRAMS_OF_A_ROOM",
    "MADE_BY",
    "MOST_TAIL",
    "Found",
    "Index",
    "Reach",
    "Segments",
    "State",
    "index_of",
)


def index_of(dialect: str) -> Index | None:
    """Return the index for a database; None for one that has none here."""
    kinds: dict[str, type[Index]] = {"sqlite": SqliteIndex, "postgresql": PostgresIndex}
    kind = kinds.get(dialect)
    return None if kind is None else kind()
