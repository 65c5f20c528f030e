"""Whether a text matches, where, and how well (extensions F-1, F-4).

Texts and terms are given as N of them, unless it is said otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from teamchat_search.normal import is_of_word, is_short_word, is_spaced, mapped, normal

WHOLE_WORD, BEGINNING, INSIDE = 4, 2, 1
MOST_HIGHLIGHTS = 100
"""How many places of one message are named."""

_FILE = re.compile(r"files\[([0-9]+)\]\.name")
Fields = Mapping[str, str]
"""The texts of a message by the names of its fields: ``content``, ``files[0].name``."""
CONTENT = "content"

Apart = Callable[[Fields], Sequence[tuple[int, Fields]]]
"""Parts a message into what is found by itself, each with its number (`as_one`, `by_file`)."""


class Place(NamedTuple):
    """Where a term was found: in which field, from which code point on, and how many of them."""

    field: str
    offset: int
    length: int


class Terms(NamedTuple):
    """N of what every text must hold, and of what none may."""

    wanted: Sequence[str] = ()
    excluded: Sequence[str] = ()

    @property
    def most(self) -> int:
        """The greatest score there is."""
        return WHOLE_WORD * len(self.wanted)

    def match(self, texts: Sequence[str]) -> bool:
        """Return whether texts, of which N is given, match together."""
        return all(any(holds(text, term) for text in texts) for term in self.wanted) and not any(
            holds(text, term) for text in texts for term in self.excluded
        )

    def score(self, texts: Sequence[str]) -> int:
        """Return how well texts match that do: the sum of each term's best place."""
        return sum(max((_score(text, term) for text in texts), default=0) for term in self.wanted)

    def places(self, fields: Fields) -> list[Place]:
        """Return where the wanted terms stand in the texts themselves; what overlaps is one place."""
        found: list[Place] = []
        for name, content in fields.items():
            form = mapped(content)
            spans = sorted(
                form.span(at, at + len(term)) for term in set(self.wanted) for at in found_at(form.text, term)
            )
            found += [Place(name, start, end - start) for start, end in _joined(spans)]
        return found[:MOST_HIGHLIGHTS]


def fields(content: str, more: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the texts of a message: its content, and what else stands in it, each with its field."""
    return {CONTENT: content} | dict(more)


def as_one(texts: Fields) -> Sequence[tuple[int, Fields]]:
    """Return what of a message is found by itself: all of it together, as number 0."""
    return [(0, texts)]


def by_file(texts: Fields) -> Sequence[tuple[int, Fields]]:
    """Return what of a message is found by itself: each of its files, by the name alone."""
    found = [(_FILE.fullmatch(name), text) for name, text in texts.items()]
    return [(int(file[1]), {file[0]: text}) for file, text in found if file is not None]


def normals(fields: Fields) -> list[str]:
    """Return N of each text."""
    return [normal(content) for content in fields.values()]


def holds(text: str, term: str) -> bool:
    """Return whether a text holds a term."""
    if not is_short_word(term):
        return term in text
    return next(found_at(text, term), None) is not None


def found_at(text: str, term: str) -> Iterator[int]:
    """Yield where a term stands in a text, from the first to the last; none overlaps another."""
    must_be_word = is_short_word(term)
    at = text.find(term)
    while at >= 0:
        end = at + len(term)
        if must_be_word and (_is_part(text, at - 1) or _is_part(text, end)):
            end = at + 1
        else:
            yield at
        at = text.find(term, end)


def _is_part(text: str, at: int) -> bool:
    """Return whether a letter or digit of a script with spaces, or ``_``, stands there."""
    return 0 <= at < len(text) and (text[at] == "_" or is_spaced(text[at]))


def _score(text: str, term: str) -> int:
    best = 0
    for at in found_at(text, term):
        end = at + len(term)
        begins = not (_joins(text, at - 1) and is_of_word(term[0]))
        ends = not (_joins(text, end) and is_of_word(term[-1]))
        best = max(best, (WHOLE_WORD if ends else BEGINNING) if begins else INSIDE)
        if best == WHOLE_WORD:
            break
    return best


def _joins(text: str, at: int) -> bool:
    return 0 <= at < len(text) and is_of_word(text[at])


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found
