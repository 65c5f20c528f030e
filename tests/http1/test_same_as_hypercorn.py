"""The same bytes for both servers: what the application sees and what the client gets must be the same.

Where they differ by intention, a list says so.  There are two: what this server refuses and Hypercorn takes
(`STRICTER`, by the sentence of the refusal), and what it takes and Hypercorn does not (`WIDER`).
"""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import h11
import pytest
import trio
from hypercorn.trio.worker_context import WorkerContext
from hypothesis import event, given, settings
from hypothesis import strategies as st

from teamchat.http.http1.connection import Connection
from teamchat.http.hypercorn.connection import Connection as HypercornConnection
from teamchat.http.hypercorn.server import configuration
from teamchat.http.limiter import ConnectionLimiter
from tests.http1.apps import GET, post
from tests.http1.conftest import Serving

STRICTER = {
    "The request line is not valid.": "h11 takes a lone LF, and answers garbage with an empty 400",
    "The request's target is not valid.": "RFC 9112, 3.2: a fragment, a scheme, or * are no path",
    "The request has no Host header.": "RFC 9112, 3.2",
    "The Host header is not valid.": "RFC 9112, 3.2",
    "This server speaks HTTP/1.1.": "RFC 9110, 15.6.6: h11 takes any version of one digit and a dot",
    "This server does not know the method.": "RFC 9110, 9.1: methods are known by name, in capitals",
    "This server takes no WebSockets.": "Hypercorn asks the application, which refuses",
    "This server knows no expectation but 100-continue.": "RFC 9110, 10.1.1: h11 ignores others",
    "HTTP/1.0 has no Transfer-Encoding.": "RFC 9112, 6.1",
    "Content-Length and Transfer-Encoding can't be sent together.": "RFC 9112, 6.1",
    "The Content-Length header is not valid.": "more than 18 digits",
    "The request is malformed: Duplicate Content-Length.": "RFC 9112, 6.3: h11 takes the same twice",
    "The request is malformed: Invalid character in Content-Length.": "h11 takes 5, 5",
    "The request is malformed: Unexpected whitespace after header value.": "RFC 9112, 5.2: no folding",
    "The request is malformed: Invalid header value char.": "RFC 9112, 2.2 and 5.2: a lone LF, folding",
    "The request is malformed: Missing expected CR after header value.": "RFC 9112, 2.2: a lone LF",
    "The request is malformed: Missing expected LF after header value.": "RFC 9112, 2.2: a lone CR",
    "The request is malformed: Expected CRLF after version.": "RFC 9112, 2.2: a lone LF",
    "The request is malformed: Invalid header field char.": "RFC 9112, 2.2: a lone LF",
    "The request is malformed: Expected LF after headers.": "RFC 9112, 2.2: a lone CR",
    "The request is malformed: Invalid header token.": "h11 takes a lone LF before a name",
    "The request is malformed: Content-Length can't be present with Transfer-Encoding.": "RFC 9112, 6.1",
    "The request is malformed: Transfer-Encoding can't be present with Content-Length.": "RFC 9112, 6.1",
    "The request is malformed: Invalid `Transfer-Encoding` header value.": "RFC 9112, 6.1: chunked twice",
    "The body's chunks are malformed.": "RFC 9112, 7.1: h11 takes spaces around sizes, and lone LFs",
    "The body has too much framing around its content.": "RFC 9112, 7.1.1: extensions are bounded",
}
WIDER = {
    "an empty line before a request": re.compile(rb"(?:\A|\r\n\r\n|\n\n|.)\r\n[A-Z]+ ", re.DOTALL),
    "a target in absolute form, which h11 passes on as a path": re.compile(
        rb"[A-Z]+ https?://", re.IGNORECASE
    ),
    "an upgrade to h2c, which Hypercorn follows and must then cut off": re.compile(rb"h2c", re.IGNORECASE),
    "OPTIONS of the whole server": re.compile(rb"OPTIONS \*"),
}


@dataclass
class Outcome:
    """What became of some bytes."""

    seen: list[dict[str, Any]] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    is_broken: bool = False  # The last answer was incomplete; Hypercorn gives some.

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """Take down the request, and answer with what was read."""
        request = {
            name: scope[name]
            for name in ("type", "http_version", "method", "scheme", "path", "raw_path", "query_string")
        }
        request["headers"] = list(scope["headers"])
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        else:
            return  # It broke off: an answer would reach nobody.
        self.seen.append(request | {"body": body})
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    @property
    def refusal(self) -> str:
        """The sentence with which this server refused, if it did."""
        status, _, body = self.answers[-1] if self.answers else (200, {}, b"")
        return str(json.loads(body)["error"]) if status != 200 and body else ""


async def native(outcome: Outcome, ours: socket.socket) -> None:
    ours.setblocking(False)
    await Connection(outcome.app, Serving(), ours).run()


async def hypercorn(outcome: Outcome, ours: socket.socket) -> None:
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
    context = WorkerContext(None)
    config = configuration()
    await HypercornConnection(outcome.app, config, context, stream, ConnectionLimiter()).run()
    await stream.aclose()


async def exchange(serve: Any, pieces: list[bytes], outcome: Outcome | None = None) -> Outcome:
    """Send the pieces, then nothing more, and read all that comes."""
    ours, theirs = socket.socketpair()
    outcome, data = outcome or Outcome(), b""
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, outcome, ours)
            async with trio.SocketStream(trio.socket.from_stdlib_socket(theirs)) as client:
                try:
                    for piece in pieces:
                        await client.send_all(piece)
                        await trio.testing.wait_all_tasks_blocked()
                    await client.send_eof()
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    pass
                try:
                    while more := await client.receive_some():
                        data += more
                except trio.BrokenResourceError:
                    pass
    try:
        outcome.answers.extend(answers_in(data, outcome))
    except h11.RemoteProtocolError:
        outcome.is_broken = True
    return outcome


def answers_in(data: bytes, outcome: Outcome) -> Any:
    methods = [request["method"] for request in outcome.seen]
    while data:
        method = methods.pop(0) if methods else "GET"
        reader = h11.Connection(h11.CLIENT)
        reader.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
        reader.send(h11.EndOfMessage())
        reader.receive_data(data)
        reader.receive_data(b"")
        status, headers, body = 0, {}, b""
        while (told := reader.next_event()).__class__ is not h11.EndOfMessage:
            if isinstance(told, h11.Response):
                status = told.status_code
                headers = {name.decode(): value.decode() for name, value in told.headers}
            elif isinstance(told, h11.Data):
                body += bytes(told.data)
            elif not isinstance(told, h11.InformationalResponse):
                raise AssertionError(told)
        yield status, headers, body
        data = reader.trailing_data[0]


def both(pieces: list[bytes]) -> tuple[Outcome, Outcome]:
    async def main() -> tuple[Outcome, Outcome]:
        return await exchange(native, pieces), await exchange(hypercorn, pieces)

    return cast("tuple[Outcome, Outcome]", trio.run(main))


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted({at for at in cuts if 0 < at < len(data)}), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges)]


def comparable(outcome: Outcome) -> list[Any]:
    """Return the answers without what is each server's own: the moment, and the text of the status."""
    return [(status, headers | {"date": ""}, body) for status, headers, body in outcome.answers]


# Good requests


names = st.sampled_from(["accept", "X-Y", "User-Agent", "cookie", "If-None-Match"])
values = st.text('abc ,;="\t\xe9', max_size=8).map(str.strip)
targets = st.sampled_from(
    ["/", "/a%20b/%C3%A9", "/a?b=c&d", "/?", "//a", "/%00", "/a%2Fb", "/%zz", "/:@!$'()*,;="]
)


@st.composite
def requests(draw: st.DrawFn, methods: str = "GET HEAD POST PUT DELETE OPTIONS", last: bool = True) -> bytes:
    """Draw a good request; after one that is not the `last`, another may follow."""
    method = draw(st.sampled_from(methods.split()))
    version = draw(st.sampled_from(["1.1", "1.1", "1.1", "1.0"])) if last else "1.1"
    lines = [f"{method} {draw(targets)} HTTP/{version}", "Host: a.example:3000"]
    lines += [f"{name}: {value}" for name, value in draw(st.lists(st.tuples(names, values), max_size=3))]
    body = draw(st.binary(max_size=30))
    framing = draw(st.sampled_from(["none", "length", "chunked"]))
    if framing == "none":
        body = b""
    elif framing == "length" or version == "1.0":
        lines.append(f"Content-Length: {len(body)}")
    else:
        lines.append("Transfer-Encoding: chunked")
        size = draw(st.integers(1, 20))
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        body = b"".join(b"%X\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    lines += ["Connection: close"] * (last and draw(st.sampled_from([0, 0, 0, 1])))
    lines += ["Expect: 100-continue"] * draw(st.sampled_from([0, 0, 0, 1]))
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


@settings(max_examples=60, deadline=None)
@given(st.lists(requests(last=False), max_size=2), requests(), st.lists(st.integers(0, 400), max_size=4))
def test_good_requests_are_served_alike(before: list[bytes], last: bytes, cuts: list[int]) -> None:
    ours, theirs = both(cut(b"".join([*before, last]), cuts))
    assert ours.seen == theirs.seen
    assert comparable(ours) == comparable(theirs)
    assert ours.seen


# Hostile ones


NOISE = [
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\t",
    b"\0",
    b"\x0b",
    b"\xff",
    b":",
    b",",
    b"5",
    b"-",
    b"+",
    b"0x",
    b";",
    b"chunked",
]
NOISE += [
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Host: b\r\n",
]
NOISE += [
    b"Expect: x\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
]
NOISE += [b"HTTP/1.0", b"HTTP/2.0", b"#", b"*", b"http://b", b" a: b\r\n", b"0\r\n\r\n", b"\r\n\r\n"]


@st.composite
def hostile(draw: st.DrawFn) -> bytes:
    data = draw(requests("GET POST PUT OPTIONS"))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.sampled_from(NOISE)) + data[at + draw(st.sampled_from([0, 0, 1, 2, 9])) :]
    return data + draw(st.sampled_from([b"", GET]))


def differ_by_intention(data: bytes, ours: Outcome, theirs: Outcome) -> str | None:
    """Return why the two may differ; None if they may not."""
    if ours.refusal in STRICTER:
        return "stricter: " + ours.refusal
    for reason, pattern in WIDER.items():
        if pattern.search(data):
            return "wider: " + reason
    return None


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(hostile(), st.lists(st.integers(0, 300), max_size=3))
def test_hostile_requests_are_served_alike_or_refused_for_a_listed_reason(
    data: bytes, cuts: list[int]
) -> None:
    ours, theirs = both(cut(data, cuts))
    reason = differ_by_intention(data, ours, theirs)
    event(reason or "alike")
    shared = min(len(ours.seen), len(theirs.seen))
    if reason is None:
        assert ours.seen == theirs.seen, "an application must see the same requests"
    elif reason.startswith("stricter"):
        assert ours.seen == theirs.seen[:shared], "what came before a refusal was the same"
        assert len(ours.seen) <= len(theirs.seen)
    statuses = [status for status, _, _ in ours.answers]
    assert not ours.is_broken
    assert all(status == 200 for status in statuses[:-1]), "a refusal is the last that a client gets"
    assert statuses.count(200) == len(ours.seen)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | hostile(), st.lists(st.integers(0, 300), max_size=4))
def test_how_bytes_are_cut_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    async def main() -> tuple[Outcome, Outcome]:
        return await exchange(native, [data] if data else []), await exchange(native, cut(data, cuts))

    whole, pieces = trio.run(main)
    assert pieces.seen == whole.seen
    assert [status for status, _, _ in pieces.answers] == [status for status, _, _ in whole.answers]


# What every answer carries, whatever the application gives


RESPONSES: list[tuple[int, list[tuple[bytes, bytes]], list[bytes]]] = [
    (200, [(b"Content-Type", b"a"), (b"Content-Length", b"4")], [b"abcd"]),
    (200, [(b"X-A", b"1"), (b"x-a", b"2"), (b"content-length", b"0")], [b""]),
    (200, [], [b"ab", b"", b"cd", b""]),
    (204, [(b"allow", b"GET")], [b""]),
    (304, [(b"etag", b'"a"')], [b""]),
    (404, [(b"connection", b"close"), (b"content-length", b"1")], [b"x"]),
]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(("status", "headers", "parts"), RESPONSES)
@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_answers_look_alike(
    method: str, status: int, headers: list[tuple[bytes, bytes]], parts: list[bytes], version: str
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        for part in parts[:-1]:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": parts[-1]})

    async def main() -> list[Any]:
        request = f"{method} / HTTP/{version}\r\nHost: x\r\n\r\n".encode()
        answers = []
        for serve in (native, hypercorn):
            outcome = Outcome(seen=[{"method": method}])
            outcome.app = app  # type: ignore[method-assign]
            answers.append(comparable(await exchange(serve, [request], outcome)))
            if method == "HEAD":  # to which h11 announces chunks that do not come (RFC 9110, 9.3.2: may)
                answers[-1][0][1].pop("transfer-encoding", None)
        return answers

    ours, theirs = trio.run(main)
    assert ours == theirs


def test_the_lists_of_intended_differences_say_nothing_that_is_not_so() -> None:
    """A few that are listed, one by one: refused here, taken there."""
    lenient = [
        b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
        b"get / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET /#a HTTP/1.1\r\nHost: x\r\n\r\n",
        post(b"hello").replace(b"Content-Length: 5", b"Content-Length: 5\r\nContent-Length: 5"),
        post(b"hello").replace(b"\r\nContent", b"\r\nExpect: x\r\nContent"),
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n",
    ]
    for data in lenient:
        ours, theirs = both([data])
        assert (len(ours.seen), len(theirs.seen)) == (0, 1), data
        assert ours.refusal in STRICTER
