"""What an answer looks like on the wire (RFC 9112, section 6): its head, and what frames its body.

Nothing that an application gives as a header can end the line it is on, so none can forge another header or
another answer. Either Content-Length or Transfer-Encoding is chosen here, never both. The answers to HEAD,
and 204 and 304, have no body. Every answer has a Date.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus

from teamchat.http.http1.head import Refusal

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Pairs = Iterable[tuple[bytes, bytes]]

_CHUNKED = b"transfer-encoding: chunked\r\n"
_CLOSE = b"connection: close\r\n"
_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus
}
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# A header's value: visible characters, spaces and tabs (RFC 9110, section 5.5).
_IN_VALUES = bytes(byte for byte in range(256) if byte == 9 or (byte >= 32 and byte != 127))
_OWN = frozenset([b"content-length", b"transfer-encoding", b"connection", b"keep-alive", b"date"])
_MOST_NAMES = 1000
_names: dict[bytes, bytes] = {}  # names that were found valid, in lower case


class Answer:
    """A response's head as the application gave it, checked.

    `length` is what it announced; None if it did not.  `is_bodiless` says that no body may follow.
    """

    __slots__ = ("_date", "_lines", "_status", "closes", "is_bodiless", "length")

    def __init__(self, status: int, headers: Pairs, method: str) -> None:
        if not 200 <= status <= 999:
            raise ValueError("a response has a status from 200")
        self._status = status
        self._date = b""
        self.length: int | None = None
        self.closes = False
        self._lines = self._checked(headers)
        self.is_bodiless = method == "HEAD" or status in {204, 304}

    def _checked(self, headers: Pairs) -> bytes:
        """Return the header lines. Raises `ValueError` if one is not exactly one line."""
        lines = []
        for name, value in headers:
            known = _names.get(name) or _learn(name)
            if known in _OWN:
                self._note(known, value)
            else:
                lines.append(b"%b: %b\r\n" % (known, value))
        block = b"".join(lines)
        # Without what values may hold, one line end must be left of each line, and nothing else.
        if block.translate(None, _IN_VALUES) != b"\r\n" * len(lines):
            raise ValueError("a header's value holds a character that none may hold")
        return block

    def _note(self, name: bytes, value: bytes) -> None:
        if name == b"content-length":
            if self.length is not None or not value.isdigit():
                raise ValueError("Content-Length must be one number")
            self.length = int(value)
        elif name == b"connection":
            self.closes = self.closes or b"close" in value.lower()
        elif name == b"date":
            if value.translate(None, _IN_VALUES):
                raise ValueError("a Date that is none")
            self._date = b"date: %b\r\n" % value

    def head(self, *, chunked: bool, closes: bool) -> bytes:
        """Return the head, with what frames the body."""
        framing = b""
        if self._status != HTTPStatus.NO_CONTENT:  # which has neither (RFC 9110, section 8.6)
            framing = b"content-length: %d\r\n" % self.length if self.length is not None else b""
            framing = _CHUNKED if chunked else framing
        return b"".join(
            (
                _STATUS_LINES.get(self._status) or b"HTTP/1.1 %d \r\n" % self._status,
                self._lines,
                framing,
                self._date or date_line(),
                _CLOSE if closes else b"",
                b"\r\n",
            )
        )


def _learn(name: bytes) -> bytes:
    if not _TOKEN.fullmatch(name):
        raise ValueError("a header's name must be a token")
    if len(_names) < _MOST_NAMES:
        _names[bytes(name)] = name.lower()
    return name.lower()


class _Date:
    """The Date header of the current second, made once."""

    second = -1
    line = b""


def date_line() -> bytes:
    """Return the Date header (RFC 9110, section 6.6.1)."""
    second = int(time.time())
    if second != _Date.second:
        _Date.line = b"date: %b\r\n" % formatdate(second, usegmt=True).encode()
        _Date.second = second
    return _Date.line


def refusal(refused: Refusal, method: str = "GET", extra: Pairs = ()) -> bytes:
    """Return a whole answer in the one shape of errors (decision D-01), after which the server closes."""
    body = json.dumps({"error": refused.sentence}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        *extra,
    ]
    head = Answer(refused.status, headers, method).head(chunked=False, closes=True)
    return head if method == "HEAD" else head + body


def allowed_methods(*, closes: bool) -> bytes:
    """Return the answer to ``OPTIONS *``, which asks about the server as a whole (RFC 9110, 9.3.7)."""
    headers = [(b"allow", b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")]
    return Answer(204, headers, "OPTIONS").head(chunked=False, closes=closes)
