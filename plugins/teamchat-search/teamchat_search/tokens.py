"""What an index holds: numbers made of grams, and what it is asked for.

A number is a hash of the gram and of the class of the place: what everybody sees, or one private room
(extension F-5, X-3). So a question touches the entries of the classes that somebody sees, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from teamchat import Said
from teamchat_search.grams import grams
from teamchat_search.normal import normal

EVERYBODY = ""
"""The class of what everybody sees; any other is a room's id."""
MARGIN_MS = 2 * 24 * 3600 * 1000
"""How far the time in a message's id may be from when it was posted, or it is adrift (D-08).

A process that was started while the clock was ahead goes on from there once the clock is right.
"""
_ALL = "*"
_TIME_BITS, _REST_BITS = 42, 20
MOST_MS = (1 << _TIME_BITS) - 1
_MOST_KEPT = 24
"""How many characters a word has at most whose hashes are kept: longer ones are hardly said again."""
_RANDOM_BITS = 62 + 12
BITS = 40


class Document(NamedTuple):
    """A message as the index holds it."""

    id: str
    class_: str
    tokens: Sequence[int]
    created_at: int

    @property
    def is_adrift(self) -> bool:
        """Whether its id says another time than it was posted at."""
        return abs(milliseconds_in(self.id) - self.created_at) > MARGIN_MS

    @classmethod
    def of(cls, said: Said, class_: str, texts: Mapping[str, str]) -> Document:
        """Make the document of a message, of all texts in it."""
        found = {_of_text(_ALL), _of_text(by(said.author_id))}
        if class_ == EVERYBODY:
            found.add(_of_text(within(said.room_id)))
        for text in texts.values():
            for word in normal(text).split():
                found.update(_of_word(word) if len(word) <= _MOST_KEPT else _hashes(word))
        return cls(said.id, class_, _numbers(class_, found), said.created_at)


class Asked(NamedTuple):
    """What a document has to hold: all of some grams, and one at least of each of some lists."""

    class_: str
    all: Sequence[str] = ()
    any: Sequence[Sequence[str]] = ()

    @property
    def tokens(self) -> tuple[list[int], list[list[int]]]:
        """The numbers of both. Without any, that of everything in the class."""
        every = self.all or (() if self.any else (_ALL,))
        return self._of(every), [self._of(one) for one in self.any]

    def _of(self, found: Sequence[str]) -> list[int]:
        return sorted(_numbers(self.class_, set(map(_of_query, found))))


def by(author_id: str) -> str:
    """Return the gram of an author."""
    return f"a{author_id}"


def within(room_id: str) -> str:
    """Return the gram of a room, which messages have that everybody sees."""
    return f"r{room_id}"


def _numbers(class_: str, hashes: Set[int]) -> list[int]:
    key = _key(class_)
    return [one ^ key for one in hashes]


def _hash(gram: str) -> int:
    digest = blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=BITS // 8)
    return int.from_bytes(digest.digest())


# Each has its own, or a query would take longer for what was said nowhere (extension rule X-3).
_of_text = lru_cache(maxsize=65536)(_hash)
_of_query = lru_cache(maxsize=4096)(_hash)


def _hashes(word: str) -> tuple[int, ...]:
    """Return the hashes of a word's grams. No gram holds white space, so those of a text are its words'."""
    return tuple(map(_of_text, grams(word)))


# The same words are said again and again.
_of_word = lru_cache(maxsize=32768)(_hashes)


@lru_cache(maxsize=16384)
def _key(class_: str) -> int:
    """Return what makes a class's numbers of the hashes of grams, one to one.

    So a gram is hashed once, however many rooms it is said in.
    """
    return int.from_bytes(blake2b(class_.encode(), digest_size=BITS // 8, person=b"class").digest())


def number_of(message_id: str) -> int:
    """Return the number under which a message is looked for: its time, and what follows in its id.

    In order they are nearly in the order of the ids: exactly so as far as times differ.
    """
    value = int(message_id, 16)
    counter = (value >> 64 & 0xFFF) << 62 | value & ((1 << 62) - 1)
    return min(value >> 80, MOST_MS) << _REST_BITS | counter >> _RANDOM_BITS - _REST_BITS


def first_number(milliseconds: int) -> int:
    """Return the least number of a time in epoch milliseconds."""
    return max(0, min(milliseconds, MOST_MS)) << _REST_BITS


def milliseconds_of(number: int) -> int:
    """Return the time of a number."""
    return number >> _REST_BITS


def first_id(milliseconds: int) -> str:
    """Return what every id of that time and later is greater than, and every earlier one less."""
    return f"{max(0, milliseconds):012x}"


def milliseconds_in(id_or_bound: str) -> int:
    """Return the time in an id, or in what `first_id` has returned."""
    return int(id_or_bound[:12], 16)
