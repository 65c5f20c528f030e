"""Grams: the pieces of N(text) by which an index finds texts. What they find is checked by the definition.

Where N(text) holds N(term), the grams of the term are among those of the text. So a gram is

* three characters in a row without white space, unless all are of scripts without spaces,
* one, and two in a row, of scripts without spaces,
* one character that is neither a letter nor a digit, such as an emoji,
* a whole word of one or two letters or digits.

The first character of a gram says which it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from teamchat_search.normal import is_short_word, is_spaced, is_unspaced

VERSION = 1
"""Grows when the grams of a text are others: an index that was made before is made anew."""
MOST_ASKED = 8
"""How many grams of a term are asked for; those that are left out are checked with the rest."""

_PIECE = re.compile(r"\S+")
_ASCII_WORD = re.compile(r"[a-z0-9_]+")
_ASCII_OTHER = re.compile(r"[^a-z0-9]")
_THREE, _TWO, _ONE, _WORD = "3", "2", "1", "w"


def grams(text: str) -> set[str]:
    """Return the grams of N(text), which is given."""
    found: set[str] = set()
    for piece in _PIECE.findall(text):
        if piece.isascii():
            _add_ascii(found, piece)
        else:
            _add(found, piece)
    return found


def asked(term: str) -> list[str]:
    """Return grams that stand in every text that matches N(term), which is given; none if any text may."""
    if is_short_word(term):
        return [_WORD + term]
    found = {gram for gram in grams(term) if gram[0] != _WORD}
    longer = "".join(gram[1:] for gram in found if gram[0] != _ONE)
    needed = sorted(gram for gram in found if gram[0] != _ONE or gram[1:] not in longer)
    return _spread(needed)


def _spread(found: list[str]) -> list[str]:
    if len(found) <= MOST_ASKED:
        return found
    return [found[at * len(found) // MOST_ASKED] for at in range(MOST_ASKED)]


def _add_ascii(found: set[str], piece: str) -> None:
    found.update(_THREE + piece[at : at + 3] for at in range(len(piece) - 2))
    found.update(_ONE + one for one in _ASCII_OTHER.findall(piece))
    for word in _ASCII_WORD.findall(piece):
        if len(word) <= 2 and "_" not in word:
            found.add(_WORD + word)


def _add(found: set[str], piece: str) -> None:
    unspaced = [is_unspaced(one) for one in piece]
    for at, character in enumerate(piece):
        if unspaced[at] or not is_spaced(character):
            found.add(_ONE + character)
        if all(unspaced[at : at + 2]) and at + 2 <= len(piece):
            found.add(_TWO + piece[at : at + 2])
        if at + 3 <= len(piece) and not all(unspaced[at : at + 3]):
            found.add(_THREE + piece[at : at + 3])
    found.update(_WORD + word for word in _words(piece) if 0 < len(word) <= 2 and "_" not in word)


def _words(piece: str) -> Collection[str]:
    """Return the runs of letters and digits of scripts with spaces, and ``_``."""
    marked = "".join(one if one == "_" or is_spaced(one) else " " for one in piece)
    return marked.split(" ")
