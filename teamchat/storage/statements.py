"""Statements about many rows at once, in a few shapes only, so that storages can keep them prepared.

However many rows or values there are, `in_pieces` cuts them into pieces of 128, 16 and 1; `listed` into
pieces of a power of two of rows, at most 128; `chunks` into pieces of a power of two of values, at most 256.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeVar

T = TypeVar("T")

SIZES = (128, 16, 1)
_MOST_ROWS = 128
_MOST_VALUES = 256


def in_pieces(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield `rows` in order, in pieces of the few sizes."""
    start = 0
    for size in SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


@lru_cache(maxsize=128)
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


def chunks(found: Sequence[T], after: int = 0) -> Iterator[tuple[str, Sequence[T]]]:
    """Cut values into pieces, each with the list ``$1, $2…`` for an ``in``, numbered on from `after`.

    A piece is filled up by repeating its last value, which an ``in`` does not mind.
    """
    for piece in _filled(found, _MOST_VALUES):
        yield values("{0}", 1, len(piece), after), piece


def listed(rows: Sequence[tuple[T, ...]], after: int = 0) -> Iterator[tuple[str, Sequence[T]]]:
    """Cut rows into pieces, each as the list after ``values`` and its parameters, numbered on from `after`.

    A piece is filled up by repeating its last row: this is for statements that may be given a row twice.
    """
    for piece in _filled(rows, _MOST_ROWS):
        names = len(piece[0])
        pattern = f"({', '.join(f'{{{number}}}' for number in range(names))})"
        yield values(pattern, names, len(piece), after), flat(piece)


def _filled(found: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Cut into pieces of a power of two, `most` at most, filled up by repeating the last."""
    for start in range(0, len(found), most):
        piece = list(found[start : start + most])
        yield piece + piece[-1:] * ((1 << (len(piece) - 1).bit_length()) - len(piece))
