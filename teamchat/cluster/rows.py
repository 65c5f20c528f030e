"""Statements about many rows at once, in a few shapes only, so that storages can keep them prepared.

What must stay true: a statement holds 1, 16 or 128 rows, however many there are to deal with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeVar

T = TypeVar("T")

SIZES = (128, 16, 1)


def in_pieces(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield `rows` in order, in pieces of the few sizes."""
    start = 0
    for size in SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


def values(pattern: str, names: int, count: int, after: int) -> str:
    """Return the list after ``values``: `pattern` for each of `count` rows, its ``{0}``… filled.

    A row has `names` parameters of its own, numbered on from `after`: ``values("({0}, $1)", 1, 2, 1)`` is
    ``($2, $1), ($3, $1)``.
    """
    first = after + 1
    rows = (range(first + names * row, first + names * (row + 1)) for row in range(count))
    return ", ".join(pattern.format(*(f"${number}" for number in row)) for row in rows)


def flat(rows: Sequence[tuple[T, ...]]) -> list[T]:
    """Return the parameters of many rows as one list."""
    return list(chain.from_iterable(rows))
