"""The bytes of an event stream, taken apart as they stood on the wire.

Nothing is lost and nothing is added; a frame knows its bytes, line by line, and when
the first and the last of them came.  Whoever judges frames does so from here, not from what a parser made of
them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\n|\r)")
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Frame:
    """Lines up to an empty one. `ends` are the line ends met in it; times are in seconds of the run."""

    lines: tuple[bytes, ...]
    ends: frozenset[bytes]
    began: float
    ended: float

    @property
    def data(self) -> tuple[bytes, ...]:
        """The lines that begin with the field ``data``."""
        return tuple(line for line in self.lines if is_field(line, b"data"))


def is_field(line: bytes, name: bytes) -> bool:
    """Return whether a line is of this field; a line without a colon is a name alone."""
    return line.partition(b":")[0] == name


def taken_apart(pieces: Sequence[tuple[float, bytes]]) -> tuple[list[Frame], bytes]:
    """Return the frames in pieces of a stream, and what stands behind the last of them."""
    whole = b"".join(data for _, data in pieces)
    starts, at = [], 0
    for _, data in pieces:
        starts.append(at)
        at += len(data)

    def when(offset: int) -> float:
        return pieces[bisect_right(starts, offset) - 1][0]

    frames: list[Frame] = []
    lines: list[bytes] = []
    ends: set[bytes] = set()
    begin = last = len(BOM) if whole.startswith(BOM) else 0
    for match in _LINE.finditer(whole, begin):
        last = match.end()
        ends.add(match[2])
        if match[1]:
            lines.append(match[1])
            continue
        frames.append(Frame(tuple(lines), frozenset(ends), when(begin), when(last - 1)))
        lines, ends, begin = [], set(), last
    return frames, whole[begin:]
