"""Finding many words in a text at once: all keywords of all users, in one pass (E-7).

A word must begin and end at a word boundary; in Chinese, Japanese and Korean, which have no such boundaries,
it may be anywhere. Texts are compared folded. Two characters tell whether any word can begin at a place of
the text, and if none can, nothing more is compared there: thousands of words cost hardly more than one.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from teamchat.mentions.parsing import is_word
from teamchat.model.text import base_at, fold

T = TypeVar("T", bound=Hashable)

# Han with its extensions, the syllables of Japanese and Korean, and what stands among them.
_CJK = re.compile(
    "["
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u30ff\u3105-\u312f\u3130-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)


def _is_spelt(text: str, at: int) -> bool:
    """Return whether a letter or digit of a writing that separates its words is there, with what it bears."""
    character = base_at(text, at)
    return is_word(character) and not _CJK.match(character)


def _is_within(text: str, at: int) -> bool:
    """Return whether a place in a text is within a word."""
    return 0 < at < len(text) and _is_spelt(text, at) and _is_spelt(text, at - 1)


class Phrases(Generic[T]):
    """Words, each with whose it is."""

    def __init__(self, words: Iterable[tuple[str, T]] = ()) -> None:
        self._owners: dict[str, set[T]] = {}
        for word, owner in words:
            self._owners.setdefault(fold(word), set()).add(owner)
        self._lengths: dict[str, list[int]] = {}
        lengths: dict[str, set[int]] = {}
        for word in self._owners:
            lengths.setdefault(word[:2], set()).add(len(word))
        self._lengths = {head: sorted(found) for head, found in lengths.items()}

    def __bool__(self) -> bool:
        return bool(self._owners)

    def found_in(self, text: str) -> set[T]:
        """Return whose words stand in a text."""
        if not self._owners:
            return set()
        found: set[T] = set()
        folded = fold(text)
        for at in range(len(folded)):
            lengths = self._lengths.get(folded[at : at + 2])
            if lengths is None or _is_within(folded, at):
                continue
            for length in lengths:
                owners = self._owners.get(folded[at : at + length])
                if owners and not _is_within(folded, at + length):
                    found |= owners
        return found
