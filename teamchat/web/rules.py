"""The forms of paths: which texts their segments match, and whether two forms match a common path."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_PARAMETER = re.compile(r"(<[^<>]*>)")
_ANY = re.compile(r"<\w+>")


@dataclass(frozen=True)
class Segment:
    """One segment of a rule: `text` if nothing in it varies. One that `spans` may hold slashes."""

    pattern: str
    text: str | None = None
    spans: bool = False
    takes_any: bool = False

    def meets(self, other: Segment) -> bool:
        """Return whether one text can be both; two patterns are taken to have such a text."""
        if self.text is not None and other.text is not None:
            return self.text == other.text
        if self.text is not None:
            return re.fullmatch(other.pattern, self.text) is not None
        return other.text is None or re.fullmatch(self.pattern, other.text) is not None


PatternOf = Callable[[str], tuple[str, bool]]
"""Returns what a parameter such as ``<int:week>`` takes, as a pattern, and whether that may hold slashes."""


def declared(parameter: str) -> tuple[str, bool]:
    """Return what a parameter of a declared path takes (`Section.endpoint`)."""
    if parameter.startswith("<int:"):
        return r"\d+", False
    return (r"[^/].*?", True) if parameter.startswith("<path:") else (r"[^/]+", False)


@dataclass(frozen=True)
class Shape:
    """The segments of a path, those that vary as patterns."""

    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, path: str, pattern_of: PatternOf = declared) -> Shape:
        """Return the shape of a path, in the words of its declaration."""
        segments: list[list[str]] = [[]]
        for piece in _PARAMETER.split(path):
            if _PARAMETER.fullmatch(piece):
                segments[-1].append(piece)
                continue
            first, *more = piece.split("/")
            segments[-1].append(first)
            segments += [[text] for text in more]
        return cls(tuple(_segment(pieces, pattern_of) for pieces in segments))

    @property
    def takes_whatever_is_left(self) -> bool:
        """Whether it is for every path, such as ``/<path:rest>``; any other rule goes before it."""
        return len(self.segments) > 1 and self.segments[1].spans

    def meets(self, other: Shape) -> bool:
        """Return whether there are paths that both take."""
        for mine, theirs in zip(self.segments, other.segments, strict=False):
            if mine.spans or theirs.spans:
                return True
            if not mine.meets(theirs):
                return False
        return len(self.segments) == len(other.segments)


def _segment(pieces: list[str], pattern_of: PatternOf) -> Segment:
    if not any(map(_PARAMETER.fullmatch, pieces)):
        text = "".join(pieces)
        return Segment(re.escape(text), text)
    pattern, spans = "", False
    for piece in pieces:
        if _PARAMETER.fullmatch(piece):
            takes, holds_slashes = pattern_of(piece)
            pattern, spans = f"{pattern}(?:{takes})", spans or holds_slashes
        else:
            pattern += re.escape(piece)
    return Segment(pattern, spans=spans, takes_any=_ANY.fullmatch("".join(pieces)) is not None)
