"""The newest page of a room as it is cached: bytes shared by everybody who asks, and where each message ends.

Fields that differ by caller are inserted there, so they cost only reading these fields and joining bytes.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

import msgspec

from teamchat.chat.pages import MessagePage

FAR = 100
"""How many events the position that a kept page names may be behind: so many a stream repeats in vain."""

_GZIP_LEVEL = _ZSTD_LEVEL = 3
"""A page of 17 KB takes 45 and 36 µs; a twentieth fewer bytes would take twice that."""

Encode = Callable[[MessagePage], bytes]
"""Writes a page as a JSON object, in which `messages` is the first field and `asOf` the last."""


def _gzip(plain: bytes) -> bytes:
    return gzip.compress(plain, _GZIP_LEVEL, mtime=0)


def _zstd(plain: bytes) -> bytes:
    # Loaded when somebody takes it: 1.5 MiB, and browsers do over HTTPS alone.
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(plain, _ZSTD_LEVEL)


CODINGS: Mapping[str, Callable[[bytes], bytes]] = {"zstd": _zstd, "gzip": _gzip}
"""How pages are compressed, the best first (RFC 8878, RFC 1952)."""


class Encoded:
    """A page as JSON, and compressed once somebody takes it so."""

    __slots__ = ("_compressed", "plain")

    def __init__(self, plain: bytes) -> None:
        self.plain = plain
        self._compressed: dict[str, bytes] = {}

    def compressed(self, coding: str) -> bytes:
        """Return the page in one of `CODINGS`, which is made once."""
        found = self._compressed.get(coding)
        if found is None:
            found = self._compressed[coding] = CODINGS[coding](self.plain)
        return found


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
        """What it takes in memory, in bytes, roughly, also compressed."""
        return len(self.encoded.plain) * 3 // 2 + 500 + 120 * len(self.ids)

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
