"""What a rule of the URL map answers, and whether two answer the same requests."""

from __future__ import annotations

import re
from dataclasses import dataclass

from werkzeug.routing import Rule

_PARAMETER = re.compile(r"(<[^<>]*>)")
_NAME = re.compile(r"<(?:[^<>]*:)?\s*(\w+)\s*>")
_ANY = re.compile(r"<\w+>")
_UNASKED = {"HEAD", "OPTIONS"}  # Quart gives both to every view


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


@dataclass(frozen=True)
class Shape:
    """What a rule answers: its methods, and the segments of its path."""

    methods: frozenset[str]
    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, rule: Rule) -> Shape:
        """Return the shape of a rule that is in a URL map."""
        segments: list[list[str]] = [[]]
        for piece in _PARAMETER.split(rule.rule):
            if _PARAMETER.fullmatch(piece):
                segments[-1].append(piece)
                continue
            first, *more = piece.split("/")
            segments[-1].append(first)
            segments += [[text] for text in more]
        methods = frozenset((rule.methods or set()) - _UNASKED)
        return cls(methods, tuple(_segment(rule, pieces) for pieces in segments))

    @property
    def takes_whatever_is_left(self) -> bool:
        """Whether it is for every path, such as ``/<path:rest>``; any other rule goes before it."""
        return len(self.segments) > 1 and self.segments[1].spans

    def meets(self, other: Shape) -> bool:
        """Return whether there are requests that both answer."""
        if not self.methods & other.methods:
            return False
        for mine, theirs in zip(self.segments, other.segments, strict=False):
            if mine.spans or theirs.spans:
                return True
            if not mine.meets(theirs):
                return False
        return len(self.segments) == len(other.segments)


def _segment(rule: Rule, pieces: list[str]) -> Segment:
    names = [match[1] for piece in pieces if (match := _NAME.fullmatch(piece))]
    if not names:
        text = "".join(pieces)
        return Segment(re.escape(text), text)
    converters = [rule._converters[name] for name in names]
    pattern = "".join(
        f"(?:{rule._converters[match[1]].regex})" if (match := _NAME.fullmatch(piece)) else re.escape(piece)
        for piece in pieces
    )
    spans = not all(converter.part_isolating for converter in converters)
    return Segment(pattern, spans=spans, takes_any=_ANY.fullmatch("".join(pieces)) is not None)
