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

from teamchat_search.normal import UNSPACED, is_short_word

VERSION = 5
"""Grows when an index holds something else of a message: what was made before is made anew."""
MOST_ASKED = 8
"""How many grams of a term are asked for; those that are left out are checked with the rest."""

_THREE, _TWO, _ONE, _WORD = "3", "2", "1", "w"
# Patterns, so that no step is taken for each character: a lookahead finds what overlaps.
_ASCII = {
    _THREE: re.compile(r"(?=(\S{3}))"),
    _ONE: re.compile(r"[^a-z0-9\s]"),
    _WORD: re.compile(r"(?<![a-z0-9_])[a-z0-9]{1,2}(?![a-z0-9_])"),
}
_SPACED = rf"(?![{UNSPACED}])[^\W_]"
_OF_RUN = rf"(?![{UNSPACED}])\w"
_ALL = {
    _THREE: re.compile(rf"(?=(?![{UNSPACED}]{{3}})(\S{{3}}))"),
    _TWO: re.compile(rf"(?=([{UNSPACED}]{{2}}))"),
    _ONE: re.compile(rf"(?!{_SPACED})\S"),
    _WORD: re.compile(rf"(?<!{_OF_RUN})(?:{_SPACED}){{1,2}}(?!{_OF_RUN})"),
}


def grams(text: str) -> set[str]:
    """Return the grams of N(text), which is given."""
    patterns = _ASCII if text.isascii() else _ALL
    return {kind + gram for kind, pattern in patterns.items() for gram in set(pattern.findall(text))}


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
