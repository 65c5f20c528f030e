"""N(x), the form in which texts are compared, and the classes of characters (extension F-1).

N(x) is NFKC, full case folding, NFD, marks dropped after Latin, Greek and Cyrillic letters, NFC. Characters
that are not seen stay.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

UNICODE = unicodedata.unidata_version
"""What N(x) of a character is may differ between versions of Unicode."""
_ACCENTED = ("LATIN ", "GREEK ", "CYRILLIC ")
# Scripts that are written without spaces between words, and Korean, in which a word carries its particles:
# blocks of Unicode, so that a character that is not assigned yet belongs to its script.
_UNSPACED = (
    (0x0E00, 0x109F),  # Thai, Lao, Tibetan, Myanmar
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x303C),
    (0x3040, 0xA4CF),  # Kana, Bopomofo, Hangul, Han, Yi
    (0xA960, 0xA9FF),  # Jamo, Javanese, Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),
    (0x16FE0, 0x18D8F),  # Tangut, Khitan
    (0x1AFF0, 0x1B2FF),  # Kana, Nushu
    (0x20000, 0x3FFFF),  # Han
)
UNSPACED = "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSPACED)
"""The same for a class of characters in a pattern."""
_STARTS = [first for first, _ in _UNSPACED]
_JAMO = (0x1160, 0x11FF)
_WORDS = re.compile(r"\S+|\s+")


def normal(text: str) -> str:
    """Return N(text). The same words are said again and again: those that were are kept."""
    return _by_words(text, _said)


def normal_of_query(text: str) -> str:
    """Return N(text), in a time that does not depend on what was said (extension rule X-3)."""
    return _by_words(text, _normal)


def _by_words(text: str, normal_word: Callable[[str], str]) -> str:
    if text.isascii():
        return text.lower()
    return " ".join([normal_word(word) for word in text.split(" ")])  # Nothing is composed across a space.


def _normal(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", word).casefold())
    kept: list[str] = []
    drops = False
    for character in decomposed:
        if _is_mark(character):
            if drops:
                continue
        else:
            drops = _takes_no_marks(character)
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


_said = lru_cache(maxsize=32768)(_normal)


@lru_cache(maxsize=16384)
def is_unspaced(character: str) -> bool:
    """Return whether a character belongs to a script that is written without spaces, or to Korean."""
    code = ord(character)
    at = bisect_right(_STARTS, code) - 1
    return at >= 0 and code <= _UNSPACED[at][1]


@lru_cache(maxsize=16384)
def is_spaced(character: str) -> bool:
    """Return whether a character is a letter or digit of a script with spaces between words."""
    return unicodedata.category(character)[0] in "LN" and not is_unspaced(character)


def is_of_word(character: str) -> bool:
    """Return whether a character is one of which words are made, in any script."""
    return character == "_" or unicodedata.category(character)[0] in "LN"


def is_short_word(term: str) -> bool:
    """Return whether N(term) is of one or two characters that must be a whole word."""
    return 0 < len(term) <= 2 and all(map(is_spaced, term))


class Mapped(NamedTuple):
    """N(text), and which part of the text each of its characters comes from."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters from `start` to before `end` stand in the text itself."""
        return self.starts[start], self.ends[end - 1]


def mapped(text: str) -> Mapped:
    """Return N(text) with the way back. Offsets count code points."""
    if text.isascii():
        return Mapped(text.lower(), range(len(text)), range(1, len(text) + 1))
    whole = normal(text)
    # Where N of the parts is not N of the whole, larger parts are taken: words, then all of it.
    for parts in (_clusters(text), _WORDS.findall(text)):
        found = _mapped(parts)
        if found.text == whole:
            return found
    return Mapped(whole, [0] * len(whole), [len(text)] * len(whole))


def _mapped(parts: Sequence[str]) -> Mapped:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for part in parts:
        piece = normal(part)
        pieces.append(piece)
        starts += [at] * len(piece)
        at += len(part)
        ends += [at] * len(piece)
    return Mapped("".join(pieces), starts, ends)


def _clusters(text: str) -> list[str]:
    """Cut a text where nothing is composed across: a character, with the marks that follow it."""
    found: list[str] = []
    for character in text:
        if found and _belongs_to_last(character):
            found[-1] += character
        else:
            found.append(character)
    return found


@lru_cache(maxsize=16384)
def _belongs_to_last(character: str) -> bool:
    first = unicodedata.normalize("NFKD", character)[0]
    return _is_mark(first) or _JAMO[0] <= ord(first) <= _JAMO[1]


@lru_cache(maxsize=16384)
def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


@lru_cache(maxsize=16384)
def _takes_no_marks(character: str) -> bool:
    return unicodedata.category(character)[0] == "L" and unicodedata.name(character, "").startswith(_ACCENTED)
