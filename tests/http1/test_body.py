"""Where a body ends, however it is cut, and what is no chunk."""

from __future__ import annotations

from itertools import pairwise

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.errors import BadRequest
from teamchat.http.http1.body import MOST_FRAMING, ChunkedBody, LengthBody, body_of

END = b"0\r\n\r\n"


def read(data: bytes, *cuts: int) -> tuple[bytes, bytes | None]:
    """Return the content, and what follows the body; None if it has no end."""
    body, content = ChunkedBody(), b""
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < len(data)), len(data)]
    for begin, end in pairwise(edges):
        content += body.feed(data[begin:end])
        if body.done:
            return content, body.rest + data[end:]
    return content, None


def test_a_body_is_as_long_as_it_says() -> None:
    body = LengthBody(5)
    assert body.feed(b"hel") == b"hel"
    assert not body.done
    assert body.feed(b"loGET") == b"lo"
    assert body.done
    assert body.rest == b"GET"


def test_a_request_without_length_has_no_body() -> None:
    assert body_of(0) is None
    assert isinstance(body_of(None), ChunkedBody)


def test_chunks_are_joined_and_what_follows_is_left_alone() -> None:
    assert read(b'5\r\nhello\r\n0A;x="y"\r\n, you all.\r\n' + END + b"GET") == (b"hello, you all.", b"GET")


def test_trailers_are_passed_over() -> None:
    assert read(b"1\r\na\r\n0\r\nContent-Length: 9\r\nX: y\r\n\r\nrest") == (b"a", b"rest")


MALFORMED = [
    b"5 \r\nhello\r\n" + END,
    b" 5\r\nhello\r\n" + END,
    b"0x5\r\nhello\r\n" + END,
    b"+5\r\nhello\r\n" + END,
    b"-5\r\nhello\r\n" + END,
    b"\r\nhello\r\n" + END,
    b";a\r\nhello\r\n" + END,
    b"5\nhello\r\n" + END,
    b"5\r\nhello" + END,
    b"5\r\nhello\n" + END,
    b"5\r\nhello!\r\n" + END,
    b"5;a\nb\r\nhello\r\n" + END,
    b"5;a\rb\r\nhello\r\n" + END,
    b"5;\0\r\nhello\r\n" + END,
    b"1" * 16 + b"\r\n",
    b"g\r\n",
    b"0\r\n X: y\r\n\r\n",
    b"0\r\nX\r\n\r\n",
    b"0\r\nX : y\r\n\r\n",
    b"0\r\nX: y\n\r\n",
    b"0\n\n",
]


@pytest.mark.parametrize("data", MALFORMED, ids=repr)
def test_what_is_not_exactly_a_chunk_is_refused(data: bytes) -> None:
    """RFC 9112, section 7.1."""
    with pytest.raises(BadRequest):
        read(data)


@pytest.mark.parametrize("begun", [b"5;a\rb", b"5\n", b"1\r\na\n", b"1\r\nab", b"0\r\na\rb"])
def test_what_no_further_byte_can_mend_is_refused_at_once(begun: bytes) -> None:
    with pytest.raises(BadRequest):
        read(begun)


@pytest.mark.parametrize(
    "data",
    [
        b"5;" + b"a" * MOST_FRAMING,
        b"1\r\na\r\n" * MOST_FRAMING + END,
        b"0\r\n" + b"a: b\r\n" * MOST_FRAMING,
        b"0\r\na: " + b"b" * MOST_FRAMING,
    ],
)
def test_a_body_of_nothing_but_framing_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest, match="framing"):
        read(data)
    with pytest.raises(BadRequest, match="framing"):
        read(data, *range(0, len(data), 1000))


def test_ordinary_chunks_never_exhaust_the_framing() -> None:
    content, rest = read(b"10\r\n0123456789abcdef\r\n" * 10_000 + END)
    assert (len(content), rest) == (160_000, b"")


contents = st.lists(st.binary(min_size=1, max_size=40), max_size=6)


def chunked(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + END


@given(contents, st.binary(max_size=10), st.lists(st.integers(0, 300), max_size=8))
def test_what_was_chunked_comes_out_again_however_it_is_cut(
    pieces: list[bytes], after: bytes, cuts: list[int]
) -> None:
    assert read(chunked(pieces) + after, *cuts) == (b"".join(pieces), after)


NOISE = [
    b"\r\n",
    b"\r",
    b"\n",
    b"0",
    b"5",
    b"f",
    b" ",
    b";",
    b";a=b",
    b"\0",
    b"a",
    b"A: b\r\n",
    b"\xff",
    b"-",
    b'"',
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = chunked(draw(contents))
    at = draw(st.integers(0, len(data)))
    noise = b"".join(draw(st.lists(st.sampled_from(NOISE), max_size=3)))
    return data[:at] + noise + data[at + draw(st.integers(0, 2)) :]


def outcome(data: bytes, *cuts: int) -> object:
    try:
        return read(data, *cuts)
    except BadRequest:
        return "refused"


@given(mutated(), st.lists(st.integers(0, 300), max_size=8))
def test_hostile_chunks_are_read_alike_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    assert outcome(data, *cuts) == outcome(data)


class Parsed:
    """What llhttp makes of a chunked body."""

    def __init__(self, data: bytes) -> None:
        self.content = b""
        self.is_complete = False
        parser = httptools.HttpRequestParser(self)
        parser.feed_data(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self.content += data

    def on_message_complete(self) -> None:
        self.is_complete = True


@given(mutated())
def test_what_is_taken_llhttp_reads_alike(data: bytes) -> None:
    found = outcome(data)
    if found == "refused" or not isinstance(found, tuple) or found[1] is None:
        return
    content, rest = found
    try:
        parsed = Parsed(data[: len(data) - len(rest)])
    except httptools.HttpParserError:
        return  # It reads nothing: it knows more of what an extension may hold, and what a trailer may say.
    assert (parsed.content, parsed.is_complete) == (content, True)
