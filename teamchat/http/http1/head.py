"""The head of a request: where it ends, what it says, and why it is refused.

llhttp (through httptools) checks every header, with none of its leniencies. This module checks what llhttp
lets pass or can't know: the request line to the letter, the Host, what frames the body, and what this server
does not do. llhttp sees one head and nothing after it, so only this module decides where a request ends; and
whatever two servers could read differently is refused (RFC 9112, section 11.2).
"""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import unquote

import httptools

HEAD_LIMIT = 32 * 1024
MOST_HEADERS = 100
METHODS = frozenset(
    b"GET HEAD POST PUT DELETE OPTIONS PATCH TRACE PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK"
    b" SEARCH REPORT QUERY".split()
)

Headers = list[tuple[bytes, bytes]]

_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) (HTTP/[0-9]\.[0-9])")
_LINE_SO_FAR = re.compile(rb"[ -~]*\r?")
_ABSOLUTE = re.compile(rb"https?://([^/?]+)([^?]*)(.*)", re.IGNORECASE)
HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]+)(?::[0-9]*)?")
_TELLING = frozenset([b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade"])


class Refusal(Exception):
    """A request that is not handed to the application; the connection ends with its answer."""

    method = "GET"

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Head:
    """What a request says before its body. `length` is that of the body, None if it comes in chunks."""

    __slots__ = (
        "expects_continue",
        "headers",
        "is_keep_alive",
        "length",
        "method",
        "path",
        "query",
        "raw_path",
        "version",
    )

    def __init__(self, line: re.Match[bytes], headers: Headers, telling: Headers) -> None:
        method, target, version = line.groups()
        said = _Said(telling)
        self.method = method.decode()
        self.version = version[5:].decode()
        self.headers = headers
        host = said.host(required=version == b"HTTP/1.1")
        if target[:1] != b"/":
            target = self._of_other_form(target, host)
        raw_path, _, query = target.partition(b"?")
        self.raw_path, self.query = raw_path, query
        path = raw_path.decode()
        self.path = unquote(path) if "%" in path else path
        self.length = said.length(self.version)
        connection = said.connection
        self.is_keep_alive = self.version == "1.1" and b"close" not in connection
        self.expects_continue = said.expects_continue(self.version)
        if b"upgrade" in connection and said.upgrade == b"websocket" and self.method == "GET":
            raise Refusal(400, "This server takes no WebSockets.")

    def _of_other_form(self, target: bytes, host: bytes | None) -> bytes:
        """Return path and query of a target in absolute or asterisk form (RFC 9112, section 3.2)."""
        if target == b"*" and self.method == "OPTIONS":
            return target
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is None or not HOST.fullmatch(absolute[1]):
            raise Refusal(400, "The request's target is not valid.")
        if host is not None:
            self.headers[:] = [pair for pair in self.headers if pair[0] != b"host"]
        self.headers.insert(0, (b"host", absolute[1]))  # It replaces the header (section 3.2.2).
        return (absolute[2] or b"/") + absolute[3]


class _Said:
    """The headers that decide about the request itself."""

    __slots__ = ("_values",)

    def __init__(self, telling: Headers) -> None:
        self._values: dict[bytes, list[bytes]] = {}
        for name, value in telling:
            self._values.setdefault(name, []).append(value)

    def _all(self, name: bytes) -> list[bytes]:
        return self._values.get(name, [])

    def host(self, *, required: bool) -> bytes | None:
        """Return the one Host: missing, doubled or malformed it is a 400 (RFC 9112, section 3.2)."""
        values = self._all(b"host")
        if len(values) > 1:
            raise Refusal(400, "The request has more than one Host header.")
        if not values and required:
            raise Refusal(400, "The request has no Host header.")
        if values and not HOST.fullmatch(values[0]):
            raise Refusal(400, "The Host header is not valid.")
        return values[0] if values else None

    def length(self, version: str) -> int | None:
        """Return the length of the body, None if it is chunked (RFC 9112, section 6)."""
        lengths, codings = self._all(b"content-length"), self._all(b"transfer-encoding")
        if lengths and codings:
            raise Refusal(400, "Content-Length and Transfer-Encoding can't be sent together.")
        if codings:
            _check_coding(codings, version)
            return None
        if not lengths:
            return 0
        if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > 18:
            raise Refusal(400, "The Content-Length header is not valid.")
        return int(lengths[0])

    @property
    def connection(self) -> set[bytes]:
        values = self._all(b"connection")
        return {part.strip(b" \t").lower() for part in b",".join(values).split(b",")} if values else set()

    @property
    def upgrade(self) -> bytes:
        return b",".join(self._all(b"upgrade")).lower()

    def expects_continue(self, version: str) -> bool:
        """Return whether the client expects 100 Continue (RFC 9110, section 10.1.1)."""
        values = self._all(b"expect")
        if not values or version == "1.0":
            return False
        if b",".join(values).lower() != b"100-continue":
            raise Refusal(417, "This server knows no expectation but 100-continue.")
        return True


def _check_coding(codings: list[bytes], version: str) -> None:
    if version == "1.0":
        raise Refusal(400, "HTTP/1.0 has no Transfer-Encoding.")
    if b",".join(codings).lower() != b"chunked":
        raise Refusal(501, "This server knows no Transfer-Encoding but chunked.")


class HeadReader:
    """Reads one head, however it is cut. One reader a request: nothing passes from one to the next."""

    __slots__ = ("_fed", "_headers", "_held", "_is_complete", "_is_first", "_line", "_parser", "_telling")

    def __init__(self) -> None:
        self._held = b""
        self._fed = 0
        self._is_first = True
        self._line: re.Match[bytes] | None = None
        self._parser: httptools.HttpRequestParser | None = None
        self._headers: Headers = []
        self._telling: Headers = []
        self._is_complete = False

    def feed(self, data: bytes) -> tuple[Head, bytes] | None:
        """Take what came; return the head and what follows it, or None if more is needed.

        Raises `Refusal` as soon as it is clear that the request can't be taken.
        """
        held = self._held = self._without_empty_line(self._held + data if self._held else data)
        end = held.find(b"\r\n\r\n", max(0, self._fed - 3))
        size = end + 4 if end >= 0 else len(held)
        if size > HEAD_LIMIT:
            self._refuse_size()
        if self._line is None and not self._read_line():
            return None
        self._parse(held[self._fed : size])
        self._fed = size
        if end < 0:
            return None
        return self._head(), held[size:]

    @property
    def method(self) -> str:
        """What the client asks, as far as it matters to a refusal: the answer to HEAD has no body."""
        return "HEAD" if self._held[:5] == b"HEAD " else "GET"

    def _without_empty_line(self, held: bytes) -> bytes:
        """Leave out one empty line in front of a request, as RFC 9112, section 2.2 has it."""
        if self._is_first and len(held) > 1:
            self._is_first = False
            return held[2:] if held[:2] == b"\r\n" else held
        return held

    def _read_line(self) -> bool:
        end = self._held.find(b"\r\n")
        if end < 0:
            if not _LINE_SO_FAR.fullmatch(self._held):
                self._refuse_line()
            return False
        line = self._line = _LINE.fullmatch(self._held, 0, end)
        if line is None:
            self._refuse_line()
        method, target, version = line.groups()
        if version not in {b"HTTP/1.1", b"HTTP/1.0"}:
            raise Refusal(505, "This server speaks HTTP/1.1.")
        if method not in METHODS:
            raise Refusal(501, "This server does not know the method.")
        if b"#" in target:
            raise Refusal(400, "The request's target is not valid.")
        return True

    def _refuse_line(self) -> NoReturn:
        if self._held[:1] == b"\x16":  # a TLS handshake (RFC 8446, section 5.1)
            raise Refusal(400, "This port speaks plain HTTP, not TLS.")
        raise Refusal(400, "The request line is not valid.")

    def _refuse_size(self) -> NoReturn:
        if 0 <= self._held.find(b"\r\n") <= HEAD_LIMIT:
            raise Refusal(431, f"The headers are larger than {HEAD_LIMIT} bytes.")
        raise Refusal(414, f"The address is larger than {HEAD_LIMIT} bytes.")

    def _parse(self, data: bytes) -> None:
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # It may be ignored (RFC 9110, section 7.8), and is.
        except httptools.HttpParserInvalidURLError:
            raise Refusal(400, "The request's target is not valid.") from None
        except httptools.HttpParserError as error:
            if not self._is_complete:  # What comes after is not llhttp's to judge.
                raise Refusal(400, f"The request is malformed: {error}.") from None

    def _head(self) -> Head:
        if not self._is_complete or self._line is None:
            raise Refusal(400, "The request is malformed.")
        self._parser = None  # They hold each other: without this the collector would have to look for both.
        if len(self._headers) > MOST_HEADERS:
            raise Refusal(431, f"The request has more than {MOST_HEADERS} headers.")
        return Head(self._line, self._headers, self._telling)

    # What llhttp calls:

    def on_header(self, name: bytes, value: bytes) -> None:
        pair = (name.lower(), value.rstrip(b" \t"))
        self._headers.append(pair)
        if pair[0] in _TELLING:
            self._telling.append(pair)

    def on_headers_complete(self) -> None:
        self._is_complete = True
