"""Where a request's body ends: after so many bytes, or after the last chunk (RFC 9112, section 7.1).

Chunks are read to the letter: hexadecimal digits with nothing around them, lines that end in CR LF and
contain neither alone, trailers that are header lines. Sizes, extensions and trailers together may take 16 KiB
and as much again as the content, so a body that is nothing but framing is refused. Extensions and trailers
are ignored, since nothing here knows any.
"""

from __future__ import annotations

import re

from teamchat.errors import BadRequest

MOST_FRAMING = 16 * 1024

_LINE_END = b"\r\n"
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;[\t -~\x80-\xff]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*")


class LengthBody:
    """A body that was announced by its length. `rest` is what came after it, once it is `done`."""

    __slots__ = ("left", "rest")

    def __init__(self, length: int) -> None:
        self.left: int = length
        self.rest = b""

    @property
    def done(self) -> bool:
        return not self.left

    def feed(self, data: bytes) -> bytes:
        """Take what came and return what of it is the body's."""
        if len(data) > self.left:
            data, self.rest = data[: self.left], data[self.left :]
        self.left -= len(data)
        return data


class ChunkedBody:
    """A body that comes in chunks. `rest` is what came after it, once it is `done`."""

    __slots__ = ("_framing", "_held", "_in_chunk", "_in_trailers", "_is_after_chunk", "done", "rest")

    left = None  # unknown

    def __init__(self) -> None:
        self.done = False
        self.rest = b""
        self._held = b""
        self._in_chunk = 0
        self._is_after_chunk = False
        self._in_trailers = False
        self._framing = MOST_FRAMING

    def feed(self, data: bytes) -> bytes:
        """Take what came and return what of it is content. Raises `BadRequest` for what is no chunk."""
        data = self._held + data
        at, content = 0, []
        while not self.done and at < len(data):
            if self._in_chunk:
                piece = data[at : at + self._in_chunk]
                content.append(piece)
                self._count(piece)
                at += len(piece)
                continue
            end = data.find(_LINE_END, at)
            if end < 0:
                self._check_partial(data[at:])
                break
            self._take_line(data[at:end])
            at = end + 2
        self._held, self.rest = (b"", data[at:]) if self.done else (data[at:], b"")
        return b"".join(content)

    def _count(self, piece: bytes) -> None:
        self._in_chunk -= len(piece)
        self._framing += len(piece)
        self._is_after_chunk = not self._in_chunk

    def _check_partial(self, line: bytes) -> None:
        """Refuse at once what no further byte can mend."""
        if b"\n" in line or b"\r" in line[:-1] or (self._is_after_chunk and line[:1] != b"\r"):
            self._refuse()
        if len(line) > self._framing:
            raise BadRequest("The body has too much framing around its content.")

    def _take_line(self, line: bytes) -> None:
        self._framing -= len(line) + 2
        if self._framing < 0:
            raise BadRequest("The body has too much framing around its content.")
        if self._is_after_chunk:
            if line:
                self._refuse()
            self._is_after_chunk = False
        elif self._in_trailers:
            self._take_trailer(line)
        else:
            self._take_size(line)

    def _take_size(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line)
        if size is None:
            self._refuse()
        else:
            self._in_chunk = int(size[1], 16)
            self._in_trailers = not self._in_chunk

    def _take_trailer(self, line: bytes) -> None:
        if not line:
            self.done = True
        elif not _TRAILER.fullmatch(line):
            self._refuse()

    def _refuse(self) -> None:
        raise BadRequest("The body's chunks are malformed.")


Body = LengthBody | ChunkedBody


def body_of(length: int | None) -> Body | None:
    """Return the body that a request announces; None if there is none."""
    if length is None:
        return ChunkedBody()
    return LengthBody(length) if length else None
