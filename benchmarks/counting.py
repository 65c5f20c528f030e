"""What posts hold so that their deliveries can be counted, and what is kept of the count.

Every post that is measured holds the byte `MARK` once, and nothing else that a stream carries holds it: a
single byte is never torn apart by a read, so counting it counts deliveries.  All streams carry the events of
one server in the same order (decision D-35); the nth mark on any stream is therefore the same post, and one
stream alone, the witness, is read closely enough to tell which.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MARK = b"^"

_FINAL_CHUNK = b"0\r\n\r\n"
_TAIL = 4096  # bytes; more than the last event of a client that is going to resume
_TEXT = " and so on, as people write,"
_SEQUENCE = re.compile(rb"\^(\d+);")
_ID = re.compile(rb"(?:^|\n)id: (\d+)\n")


def marked(sequence: int, size: int) -> str:
    """Return the content of a post: the mark, its number, and text up to `size` characters."""
    text = f"{MARK.decode()}{sequence:07};"
    return text + (_TEXT * (size // len(_TEXT) + 1))[: size - len(text)]


class Tally:
    """When the nth post reached its first and its last stream, and how many it reached."""

    def __init__(self) -> None:
        self.first: list[float] = []
        self.last: list[float] = []
        self.count: list[int] = []

    def add(self, ordinal: int, marks: int, now: float) -> None:
        """Note that one stream has just got the posts from `ordinal` on."""
        for number in range(ordinal, ordinal + marks):
            if number == len(self.first):
                self.first.append(now)
                self.last.append(now)
                self.count.append(1)
            else:
                self.last[number] = now
                self.count[number] += 1


class Witness:
    """Tells which post the nth mark is; to `note`, if there is one, which post has just come."""

    def __init__(self, note: Callable[[int], object] | None = None) -> None:
        self.sequences: list[int] = []
        self._note = note or self.sequences.append
        self._text = b""

    def __call__(self, piece: bytes) -> None:
        """Read what a stream brought."""
        text = self._text + piece
        end = 0
        for match in _SEQUENCE.finditer(text):
            self._note(int(match[1]))
            end = match.end()
        self._text = text[max(end, len(text) - 16) :]


class Tail:
    """The last bytes of a stream."""

    def __init__(self) -> None:
        self._text = b""

    def __call__(self, piece: bytes) -> None:
        """Read what a stream brought."""
        self._text = (self._text + piece)[-_TAIL:]

    @property
    def is_final(self) -> bool:
        """Whether the response ended as HTTP wants it, and was not torn off."""
        return self._text.endswith(_FINAL_CHUNK)

    @property
    def last_id(self) -> str:
        """The id of the last event."""
        found: list[bytes] = _ID.findall(self._text)
        return found[-1].decode()
