"""A newest page as it is kept in memory: bytes that all who ask have in common, and where each message ends.

Fields that differ by caller are put in there, so that they cost one look at those fields and a join of bytes.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

import msgspec

from teamchat.chat.pages import MessagePage

FAR = 100
"""How many events the position that a kept page names may be behind: so many a stream repeats in vain."""

_LEVEL = 3
"""Of gzip: a page of 17 KB takes 80 µs; twice that would make it a sixteenth smaller."""

Encode = Callable[[MessagePage], bytes]
"""Writes a page as a JSON object, in which `messages` is the first field and `asOf` the last."""


class Encoded:
    """A page as JSON, and as gzip (RFC 1952) once somebody takes it so."""

    __slots__ = ("_packed", "plain")

    def __init__(self, plain: bytes) -> None:
        self.plain = plain
        self._packed: bytes | None = None

    @property
    def packed(self) -> bytes:
        """The page as gzip, which is made once."""
        if self._packed is None:
            self._packed = gzip.compress(self.plain, _LEVEL, mtime=0)
        return self._packed


class KeptPage(NamedTuple):
    """An encoded page; one that is not for all is kept for those who see the same messages of the room.

    `as_of` is the number of an event as of which it holds. `ids` are those of its messages, and `ends` the
    places of their closing braces; both are empty where no field differs by caller.
    """

    encoded: Encoded
    is_for_all: bool
    as_of: int
    ids: Sequence[str] = ()
    ends: Sequence[int] = ()

    @classmethod
    def of(cls, page: MessagePage, encode: Encode, *, is_for_all: bool, has_places: bool) -> Self:
        """Encode a page."""
        encoded = encode(page)
        if not has_places:
            return cls(Encoded(encoded), is_for_all, page.as_of)
        ends, position = [], encode(page._replace(messages=[])).index(b"[]") + 1
        for message in page.messages:
            position += len(msgspec.json.encode(message))
            ends.append(position - 1)
            position += 1  # the comma
        return cls(Encoded(encoded), is_for_all, page.as_of, [message.id for message in page.messages], ends)

    @property
    def size(self) -> int:
        """What it takes in memory, in bytes, roughly, also as gzip."""
        return len(self.encoded.plain) * 4 // 3 + 500 + 120 * len(self.ids)

    def as_of_now(self, position: int) -> Self:
        """Return the page, which nothing has touched up to `position`, as of then if that is far on.

        Not at every event: whoever reads it slowly has its bytes in common with others.
        """
        if position - self.as_of <= FAR:
            return self
        rest, field, _ = self.encoded.plain.rpartition(b'"asOf":"')
        return self._replace(encoded=Encoded(b'%b%b%d"}' % (rest, field, position)), as_of=position)

    def with_fields(self, fields: Mapping[str, bytes]) -> Encoded:
        """Return the page with further fields of some messages: their JSON, without the braces, by id."""
        if not fields:
            return self.encoded
        encoded, parts, start = self.encoded.plain, list[bytes](), 0
        for id_, end in zip(self.ids, self.ends, strict=True):
            if id_ in fields:
                parts += (encoded[start:end], b",", fields[id_])
                start = end
        return Encoded(b"".join((*parts, encoded[start:])))
