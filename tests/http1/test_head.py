"""The head of a request: what is taken, what is refused and by which section of RFC 9110 and RFC 9112."""

from __future__ import annotations

import gc
from itertools import pairwise

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.http.http1.head import HEAD_LIMIT, METHODS, MOST_HEADERS, Head, HeadReader, Refusal

HOST = b"Host: x\r\n"


def read(data: bytes, *cuts: int) -> tuple[Head, bytes] | None:
    reader = HeadReader()
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(data)), len(data)]
    for begin, end in pairwise(edges):
        found = reader.feed(data[begin:end])
        if found is not None:
            return found[0], found[1] + data[end:]
    return None


def head(data: bytes) -> Head:
    found = read(data)
    assert found is not None
    return found[0]


def status(data: bytes) -> int:
    """Return the status with which a head is refused; 0 if it is taken, -1 if there is no end to it."""
    try:
        return 0 if read(data) else -1
    except Refusal as refused:
        return refused.status if refused.sentence else 999


def test_reading_a_head_leaves_the_garbage_collector_nothing_to_do() -> None:
    gc.collect()
    gc.disable()
    try:
        head(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert not [one for one in gc.get_objects() if isinstance(one, HeadReader)]
    finally:
        gc.enable()


def test_a_plain_request_is_read_whole() -> None:
    found = head(b"GET /a%20b?c=d HTTP/1.1\r\nHost: x:1\r\nAccept:  */* \t\r\nX-Empty:\r\n\r\n")
    assert (found.method, found.version, found.length) == ("GET", "1.1", 0)
    assert (found.path, found.raw_path, found.query) == ("/a b", b"/a%20b", b"c=d")
    assert found.headers == [(b"host", b"x:1"), (b"accept", b"*/*"), (b"x-empty", b"")]
    assert found.is_keep_alive
    assert not found.expects_continue


def test_what_follows_the_head_is_left_alone() -> None:
    found = read(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello\0GET")
    assert found is not None
    assert found[0].length == 5
    assert found[1] == b"hello\0GET"


def test_a_chunked_body_has_no_length() -> None:
    assert head(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED \r\n\r\n").length is None


def test_one_empty_line_before_a_request_is_passed_over_and_two_are_not() -> None:
    """RFC 9112, section 2.2."""
    assert head(b"\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n").path == "/"
    assert status(b"\r\n\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n") == 400
    assert status(b"\nGET / HTTP/1.1\r\n" + HOST + b"\r\n") == 400


@pytest.mark.parametrize(
    ("version", "connection", "stays"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"keep-alive, Close", False),
        (b"1.1", b"closed", True),
        (b"1.0", b"", False),
        (b"1.0", b"keep-alive", False),
    ],
)
def test_who_stays_after_the_answer(version: bytes, connection: bytes, stays: bool) -> None:
    """RFC 9112, section 9.3: this server never keeps HTTP/1.0 connections."""
    line = b"Connection: " + connection + b"\r\n" if connection else b""
    assert head(b"GET / HTTP/" + version + b"\r\n" + HOST + line + b"\r\n").is_keep_alive is stays


def test_an_absolute_target_replaces_the_host() -> None:
    """RFC 9112, section 3.2.2."""
    found = head(b"GET HTTP://a.example:8?x HTTP/1.1\r\nAccept: b\r\nHost: c\r\n\r\n")
    assert (found.path, found.query) == ("/", b"x")
    assert found.headers == [(b"host", b"a.example:8"), (b"accept", b"b")]


def test_an_asterisk_is_for_options_alone() -> None:
    """RFC 9112, section 3.2.4."""
    assert head(b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n").path == "*"
    assert status(b"GET * HTTP/1.1\r\n" + HOST + b"\r\n") == 400


REFUSED_LINES = {
    b"get / HTTP/1.1": 501,
    b"FOO / HTTP/1.1": 501,
    b"CONNECT a:1 HTTP/1.1": 501,
    b"PRI * HTTP/2.0": 505,
    b"GET / HTTP/2.0": 505,
    b"GET / HTTP/1.2": 505,
    b"GET / HTTP/0.9": 505,
    b"GET /": 400,
    b"GET": 400,
    b"GET  / HTTP/1.1": 400,
    b"GET /  HTTP/1.1": 400,
    b"GET / HTTP/1.1 ": 400,
    b" GET / HTTP/1.1": 400,
    b"GET\t/ HTTP/1.1": 400,
    b"GET / x HTTP/1.1": 400,
    b"GET / http/1.1": 400,
    b"GET / HTTP/11.1": 400,
    b"GET / ICE/1.0": 400,
    b"GET / RTSP/1.0": 400,
    b"G(T / HTTP/1.1": 400,
    b"GET /\xe9 HTTP/1.1": 400,
    b"GET /\0 HTTP/1.1": 400,
    b"GET /\x7f HTTP/1.1": 400,
    b"GET /a\rb HTTP/1.1": 400,
    b"GET /#a HTTP/1.1": 400,
    b"GET x HTTP/1.1": 400,
    b"GET ftp://a/ HTTP/1.1": 400,
    b"GET http:// HTTP/1.1": 400,
    b"GET http://u@a/ HTTP/1.1": 400,
}


@pytest.mark.parametrize("line", REFUSED_LINES, ids=repr)
def test_a_line_that_is_not_exactly_a_request_line_is_refused(line: bytes) -> None:
    """RFC 9112, section 3; RFC 9110, sections 2.5 and 9.1."""
    assert status(line + b"\r\n" + HOST + b"\r\n") == REFUSED_LINES[line]


REFUSED_HEADERS = {
    b"A : b": 400,  # section 5.1: no space before the colon
    b" A: b": 400,
    b"A: b\r\n c": 400,  # section 5.2: no folding
    b"A:\r\n b": 400,
    b"A: b\n": 400,  # section 2.2: no bare LF
    b"A: b\nC: d": 400,
    b"A: b\rc": 400,  # nor bare CR
    b"A: b\0": 400,
    b"A: b\x01": 400,
    b"A: b\x7f": 400,
    b"A\0: b": 400,
    b"A\xe9: b": 400,
    b"A(: b": 400,
    b": b": 400,
    b"A": 400,
    b"Host: y": 400,  # section 3.2
    b"Content-Length: 5\r\nContent-Length: 5": 400,  # section 6.3
    b"Content-Length: 5\r\nContent-Length: 6": 400,
    b"Content-Length: 5, 5": 400,
    b"Content-Length: -5": 400,
    b"Content-Length: +5": 400,
    b"Content-Length: 0x5": 400,
    b"Content-Length: 5 5": 400,
    b"Content-Length: 1_0": 400,
    b"Content-Length: 5.0": 400,
    b"Content-Length:": 400,
    b"Content-Length: 18446744073709551616": 400,
    b"Content-Length: 18446744073709551615": 400,
    b"Content-Length: 5\r\nTransfer-Encoding: chunked": 400,  # section 6.1
    b"Transfer-Encoding: chunked\r\nContent-Length: 5": 400,
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked": 400,
    b"Transfer-Encoding:": 400,
    b"Transfer-Encoding: chunked, gzip": 400,
    b"Transfer-Encoding: gzip, chunked": 501,
    b"Transfer-Encoding: identity": 501,
    b"Transfer-Encoding: xchunked": 501,
    b"Transfer-Encoding: \x0bchunked": 400,
    b"Expect: the-unexpected": 417,  # RFC 9110, section 10.1.1
    b"Expect: 100-continue\r\nExpect: 200-ok": 417,
    b"Connection: Upgrade\r\nUpgrade: websocket": 400,
}


@pytest.mark.parametrize("lines", REFUSED_HEADERS, ids=repr)
def test_headers_that_two_servers_could_read_in_two_ways_are_refused(lines: bytes) -> None:
    request = b"GET / HTTP/1.1\r\n" + HOST + lines + b"\r\n\r\n"
    assert status(request) == REFUSED_HEADERS[lines]


@pytest.mark.parametrize(
    "host", [b"", b"a b", b"a/b", b"a:b", b"u@a", b"[::1", b"a\xe9", b"a,b:1:2", b"[x]:1", b'"']
)
def test_a_host_that_is_none_is_refused(host: bytes) -> None:
    """RFC 9112, section 3.2; RFC 9110, section 4.2.1."""
    assert status(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n") == 400


@pytest.mark.parametrize("host", [b"a", b"a.b-c:80", b"127.0.0.1:", b"[::1]:3000", b"xn--a_b"])
def test_a_host_with_or_without_a_port_is_taken(host: bytes) -> None:
    assert status(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n") == 0


def test_http_1_1_needs_a_host_and_http_1_0_does_not() -> None:
    assert status(b"GET / HTTP/1.1\r\n\r\n") == 400
    assert status(b"GET / HTTP/1.0\r\n\r\n") == 0
    assert status(b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n") == 400
    assert status(b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") == 400
    assert not head(b"GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").expects_continue


def test_an_upgrade_that_this_server_does_not_know_is_ignored() -> None:
    """RFC 9110, section 7.8. The body keeps its length, whatever llhttp makes of an upgrade."""
    lines = b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc"
    found = read(b"POST / HTTP/1.1\r\n" + HOST + lines)
    assert found is not None
    assert (found[0].length, found[1]) == (3, b"abc")


def test_a_tls_handshake_is_known_by_its_first_byte() -> None:
    with pytest.raises(Refusal, match="not TLS"):
        HeadReader().feed(b"\x16\x03\x01\x02\x00\x01")


@pytest.mark.parametrize(
    "begun", [b"GET / HTTP/1.1\nHost: x\n\n", b"\0", b"GET /\xff", b"GET /\r\n", b"{}\r\n"]
)
def test_what_can_become_no_request_is_refused_without_waiting_for_its_end(begun: bytes) -> None:
    assert status(begun) == 400


def test_the_size_of_a_head_is_bounded() -> None:
    assert status(b"GET /" + b"a" * HEAD_LIMIT) == 414
    assert status(b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * HEAD_LIMIT) == 431
    rest = b" HTTP/1.1\r\n" + HOST + b"\r\n"
    room = HEAD_LIMIT - len(b"GET /") - len(rest)
    assert status(b"GET /" + b"a" * room + rest) == 0
    assert status(b"GET /" + b"a" * (room + 1) + rest) == 431


def test_the_number_of_headers_is_bounded() -> None:
    def request(count: int) -> bytes:
        return b"GET / HTTP/1.1\r\n" + HOST + b"a: b\r\n" * (count - 1) + b"\r\n"

    assert status(request(MOST_HEADERS)) == 0
    assert status(request(MOST_HEADERS + 1)) == 431


def test_llhttp_knows_every_method_that_is_passed_on() -> None:
    for method in METHODS:
        assert status(method + b" / HTTP/1.1\r\n" + HOST + b"\r\n") == 0


class Parsed:
    """What llhttp makes of a request by itself."""

    def __init__(self, data: bytes) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = False
        parser = httptools.HttpRequestParser(self)
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass
        except httptools.HttpParserError:
            self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        self.is_complete = True


PIECES = [
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\t",
    b"\0",
    b":",
    b"GET ",
    b"/",
    b"*",
    b" HTTP/1.1\r\n",
    b"Host: a\r\n",
]
PIECES += [
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"a: b\r\n",
    b"\xff",
    b"#",
    b"http://b/",
]
hostile = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
good = st.sampled_from(
    [
        b"GET /a?b HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n",
        b"POST http://b/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        b"\r\nPUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    request = draw(good)
    at = draw(st.integers(0, len(request)))
    return request[:at] + draw(hostile) + request[at + draw(st.integers(0, 3)) :]


def outcome(data: bytes, *cuts: int) -> object:
    try:
        found = read(data, *cuts)
    except Refusal:
        return "refused"
    return found and (found[0].method, found[0].raw_path, found[0].headers, found[0].length, found[1])


@given(mutated() | hostile, st.lists(st.integers(0, 120), max_size=6))
def test_where_a_request_is_cut_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    whole, cut = outcome(data), outcome(data, *cuts)
    assert cut == whole


@given(mutated() | hostile)
def test_whatever_is_taken_llhttp_takes_too_and_reads_alike(data: bytes) -> None:
    found = None
    try:
        found = read(data)
    except Refusal:
        return
    if found is None:
        return
    parsed = Parsed(data[: len(data) - len(found[1])])
    assert parsed.is_complete
    theirs = [pair for pair in parsed.headers if pair[0] != b"host"]
    assert [pair for pair in found[0].headers if pair[0] != b"host"] == theirs
