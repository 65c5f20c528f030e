"""HTTP/2, where one connection carries many requests: what runs at once is bounded; each has its window."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from teamchat.http import tls
from teamchat.http.http1.head import HeadReader, Refusal
from teamchat.http.http1.server import HttpServer
from teamchat.http.hypercorn import Http2, http2
from teamchat.http.hypercorn import HttpServer as HypercornServer
from teamchat.http.hypercorn.connection import MOST_AT_ONCE
from teamchat.http.limiter import ConnectionLimiter
from teamchat.stream.transport import ABORT
from teamchat.testing import DEADLINE
from tests.http1.apps import hello
from tests.test_tls import certificate

WINDOW = 65_535

NATIVE = partial(HttpServer, http2=Http2)
"""Takes connections in, and gives Hypercorn those that agree upon HTTP/2."""
BOTH = pytest.mark.parametrize("make", [NATIVE, HypercornServer], ids=["native", "hypercorn"])


class Slow:
    """An application that answers when it is told to, and counts how many requests it has."""

    def __init__(self) -> None:
        self.go = trio.Event()
        self.running = self.most = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def has(self, count: int) -> None:
        with trio.fail_after(DEADLINE):
            while self.running < count:
                await trio.lowlevel.checkpoint()


@dataclass
class Answer:
    """What came for one request."""

    status: int = 0
    body: bytes = b""
    is_complete: bool = False

    def take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            self.status = int(dict(event.headers)[b":status"])
        elif isinstance(event, h2.events.DataReceived):
            self.body += event.data
        elif isinstance(event, h2.events.StreamReset):
            raise AssertionError("the stream was reset")
        self.is_complete = self.is_complete or isinstance(event, h2.events.StreamEnded)


class Client:
    """One connection."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream], limiter: ConnectionLimiter[Any]) -> None:
        self._stream = stream
        self.limiter = limiter
        self.stop = trio.Event()
        self._h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(
                client_side=True,
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self._h2.initiate_connection()

    async def ask(self, count: int = 1, *, and_take_back: bool = False, path: str = "/") -> None:
        asked = [(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", path)]
        for _ in range(count):
            number = self._h2.get_next_available_stream_id()
            self._h2.send_headers(number, asked, end_stream=True)
            if and_take_back:
                self._h2.reset_stream(number)
        await self._stream.send_all(self._h2.data_to_send())

    async def ask_oddly(self, head: dict[str, bytes | None], body: bytes = b"") -> Answer:
        """Send a request whose head may be wrong, and its whole body; return the answer."""
        number = self._h2.get_next_available_stream_id()
        told = [(name, value) for name, value in head.items() if value is not None]
        self._h2.send_headers(number, told, end_stream=not body)
        answer = Answer()
        with trio.fail_after(DEADLINE):
            while not answer.is_complete or body:
                room = min(self._h2.local_flow_control_window(number), 16_384, len(body))
                if room:
                    self._h2.send_data(number, body[:room], end_stream=room == len(body))
                    body = body[room:]
                await self._stream.send_all(self._h2.data_to_send())
                for event in [] if room and answer.is_complete else await self._events():
                    answer.take(event)
        return answer

    async def ask_for_ever(self) -> None:
        while True:
            await self.ask(50, and_take_back=True)

    async def answer(self) -> bytes:
        """Read one answer, and give back the window that it takes."""
        body, is_complete = b"", False
        with trio.fail_after(DEADLINE):
            while not is_complete:
                for event in await self._events():
                    if isinstance(event, h2.events.DataReceived):
                        body += event.data
                        self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    is_complete = is_complete or isinstance(event, h2.events.StreamEnded)
                await self._stream.send_all(self._h2.data_to_send())
        return body

    async def size_of_answer(self, step: int) -> int:
        """Read one answer, and give back so many bytes of its window every ten seconds."""
        size, is_complete = 0, False
        async with trio.open_nursery() as reading:
            reading.start_soon(self._open_window, step)
            while not is_complete:
                for event in await self._events():
                    size += event.flow_controlled_length if isinstance(event, h2.events.DataReceived) else 0
                    is_complete = is_complete or isinstance(event, h2.events.StreamEnded)
            reading.cancel_scope.cancel()
        return size

    async def until_reset(self) -> int:
        """Read until the server resets a stream, and return its number. Its window stays as it is."""
        with trio.fail_after(DEADLINE):
            while True:
                for event in await self._events():
                    if isinstance(event, h2.events.StreamReset):
                        return event.stream_id

    async def widen(self) -> None:
        """Open the window that all streams share, and that of none."""
        self._h2.increment_flow_control_window(10_000_000)
        await self._stream.send_all(self._h2.data_to_send())

    async def leave(self) -> None:
        await trio.aclose_forcefully(self._stream)

    async def _events(self) -> list[h2.events.Event]:
        data = await self._stream.receive_some()
        assert data, "the server closed the connection"
        return self._h2.receive_data(data)

    async def _open_window(self, step: int) -> None:
        while True:
            await trio.sleep(10)
            self._h2.increment_flow_control_window(step)
            self._h2.increment_flow_control_window(step, stream_id=1)
            await self._stream.send_all(self._h2.data_to_send())

    async def until_dropped(self) -> None:
        with trio.fail_after(DEADLINE):
            try:
                while await self._stream.receive_some():
                    pass
            except trio.BrokenResourceError:
                return


@asynccontextmanager
async def connected(app: Any, directory: Path, make: Any = NATIVE) -> AsyncIterator[Client]:
    made = certificate(directory)
    trust = ssl.create_default_context(cafile=made.certificate)
    trust.set_alpn_protocols(["h2"])
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server, stop = make(app, listeners, tls=tls.context(made)), trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: server.run(stop, grace=DEADLINE, task_status=task_status))
        raw = await trio.open_tcp_stream("127.0.0.1", listeners[0].socket.getsockname()[1])
        stream = trio.SSLStream(raw, trust, server_hostname="localhost", https_compatible=True)
        client = Client(stream, server._limiter)
        client.stop = stop
        yield client
        await trio.aclose_forcefully(stream)
        nursery.cancel_scope.cancel()


@pytest.mark.slow
async def test_requests_that_are_taken_back_at_once_do_not_pile_up(tmp_path: Path) -> None:
    """CVE-2023-44487, the rapid reset: what is taken back counts as open no more, but still runs."""
    app = Slow()
    async with connected(app, tmp_path) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.until_dropped)
        with pytest.raises(trio.BrokenResourceError), trio.fail_after(DEADLINE):
            await client.ask_for_ever()
    assert app.most == MOST_AT_ONCE
    assert app.running == 0


async def test_a_client_that_changes_its_mind_is_served(tmp_path: Path) -> None:
    app = Slow()
    async with connected(app, tmp_path) as client:
        await client.ask(90, and_take_back=True)
        await client.ask(90, and_take_back=False)
        await app.has(180)
        app.go.set()


@BOTH
async def test_a_connection_whose_only_request_was_taken_back_is_idle_again(
    tmp_path: Path, make: Any
) -> None:
    app = Slow()

    async def gives_up(scope: Any, receive: Any, send: Any) -> None:
        """End without an answer, as Quart does when it hears that the client has left."""
        await app(scope, receive, into_nothing)

    async with connected(gives_up, tmp_path, make) as client:
        client.limiter.most = 1
        await client.ask(and_take_back=True)
        await app.has(1)
        assert not client.limiter.has_room(("127.0.0.1", 1)), "it still runs"
        app.go.set()
        with trio.fail_after(DEADLINE):
            while not client.limiter.has_room(("127.0.0.1", 1)):
                await trio.lowlevel.checkpoint()
        await client.until_dropped()


async def into_nothing(message: Any) -> None:
    await trio.lowlevel.checkpoint()


@BOTH
async def test_a_connection_that_asks_for_nothing_is_let_go_when_the_server_stops(
    tmp_path: Path, make: Any
) -> None:
    async with connected(hello, tmp_path, make) as client:
        await client.ask()
        assert await client.answer() == b"hello"
        assert len(client.limiter) == 1
        client.stop.set()
        await client.until_dropped()
        with trio.fail_after(DEADLINE):
            await client.limiter.until_empty()


@BOTH
async def test_what_runs_is_answered_when_the_server_stops(tmp_path: Path, make: Any) -> None:
    app = Slow()
    async with connected(app, tmp_path, make) as client:
        await client.ask()
        await app.has(1)
        client.stop.set()
        app.go.set()
        assert await client.answer() == b""


class Large:
    """An application that answers with many bytes, piece by piece, and tells how many it has sent."""

    def __init__(self, size: int = 10_000_000, piece: int = 4096) -> None:
        self.size = size
        self.piece = piece
        self.sent = 0
        self.ended = trio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while self.sent < self.size:
                await send({"type": "http.response.body", "body": b"x" * self.piece, "more_body": True})
                self.sent += self.piece
            await send({"type": "http.response.body", "body": b""})
        finally:
            self.ended.set()


@pytest.fixture
def clock(autojump_clock: Any) -> Any:
    """Trio's clock, which goes on when nothing is under way between the two ends."""
    autojump_clock.autojump_threshold = 0.05
    return autojump_clock


@pytest.mark.slow
@pytest.mark.parametrize("piece", [4096, 1 << 20])
@pytest.mark.parametrize("step", [WINDOW, 12_000])
async def test_a_slow_reader_gets_a_large_answer_whole(
    tmp_path: Path, clock: Any, piece: int, step: int
) -> None:
    """It takes minutes, with a window of 64 KiB; each step is faster than 1 KiB a second."""
    app = Large(1 << 20 if step == WINDOW else 1 << 18, piece)
    async with connected(app, tmp_path) as client:
        await client.ask()
        assert await client.size_of_answer(step) == app.sent
        assert trio.current_time() > 4 * http2.WRITE_SECONDS


@BOTH
async def test_a_stream_to_a_client_that_gives_no_window_ends(tmp_path: Path, make: Any, clock: Any) -> None:
    """A reader whose socket is never full: nothing of the answer is sent, so nothing blocks there."""
    app = Large()
    async with connected(app, tmp_path, make) as client:
        await client.ask()
        since = trio.current_time()
        await app.ended.wait()
        assert trio.current_time() - since == pytest.approx(http2.WRITE_SECONDS, abs=1)
    assert app.sent < 2 * WINDOW, "what it does not take is not kept in memory"


async def test_an_image_to_a_client_that_gives_no_window_does_not_pile_up(tmp_path: Path) -> None:
    async def image(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 10_000_000})

    async with connected(image, tmp_path, HypercornServer) as client:
        await client.ask()
        await trio.testing.wait_all_tasks_blocked(0.05)
        [connection] = client.limiter.all()
        [buffer] = connection.protocol.protocol.stream_buffers.values()
        assert isinstance(buffer, http2.Buffer)
        assert 0 < len(buffer.buffer) < WINDOW


@BOTH
async def test_one_stream_that_stalls_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    monkeypatch.setattr(http2, "WRITE_SECONDS", 0.1)
    stalling, slow = Large(), Slow()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        apps: dict[str, Any] = {"/stalling": stalling, "/slow": slow, "/": hello}
        await apps[scope["path"]](scope, receive, send)

    async with connected(app, tmp_path, make) as client:
        await client.widen()
        await client.ask(path="/slow")
        await client.ask(path="/stalling")
        assert await client.until_reset() == 3
        await client.ask()
        assert await client.answer() == b"hello"
        slow.go.set()
        assert await client.answer() == b""
    assert stalling.ended.is_set()


async def test_an_answer_that_breaks_off_is_no_answer_that_still_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def breaks(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        raise RuntimeError

    async with connected(breaks, tmp_path) as client:
        await client.ask()
        assert await client.until_reset() == 1
    assert [record.getMessage() for record in caplog.records] == ["a request failed"]


@BOTH
async def test_an_answer_that_the_application_drops_ends_its_stream_alone(tmp_path: Path, make: Any) -> None:
    """As the live stream does with a client that is too slow."""

    async def drops(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/":
            await hello(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        scope["extensions"][ABORT]()
        await trio.sleep_forever()

    async with connected(drops, tmp_path, make) as client:
        await client.ask(path="/stream")
        assert await client.until_reset() == 1
        await client.ask()
        assert await client.answer() == b"hello"


@BOTH
async def test_a_client_that_leaves_keeps_no_answer_waiting_for_its_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    monkeypatch.setattr(http2, "WRITE_SECONDS", 100 * DEADLINE)
    app = Large(1 << 20)
    async with connected(app, tmp_path, make) as client:
        await client.ask()
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert not app.ended.is_set()
        await client.leave()
        with trio.fail_after(DEADLINE):
            await app.ended.wait()


@BOTH
async def test_a_large_answer_comes_whole(tmp_path: Path, make: Any) -> None:
    body = bytes(range(256)) * 1000

    async def large(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async with connected(large, tmp_path, make) as client:
        await client.ask()
        assert await client.answer() == body


# What can't be a request is refused as over HTTP/1.1, with a line in no log.


HEAD = {":method": b"GET", ":scheme": b"https", ":authority": b"x", ":path": b"/"}
ODD: list[dict[str, bytes | None]] = [
    *({":path": path} for path in (b"/\xc3\xa9", b"/\xff?a=b", b"/?\xff", b"/a b", b"x", b"*", b"/a#b")),
    *({":path": path} for path in (b"/a\x01", b"/\x7f", b"http://x/")),
    *({":method": method} for method in (b"G\xc3\xa9T", b"get", b"\xff", b"G T")),
    {":method": b"CONNECT", ":path": None, ":scheme": None},
    *({":authority": authority} for authority in (b"\xc3\xa9", b"a b", b"a/b", b"")),
    *({"x-a": value} for value in (b"a\x01b", b"\x7f")),
]


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_a_head_that_can_be_no_requests_is_refused_alone_and_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, odd: dict[str, bytes | None], method: str
) -> None:
    async with connected(hello, tmp_path) as client:
        body = bytes(100_000) if method == "POST" else b""
        answer = await client.ask_oddly(HEAD | {":method": method.encode()} | odd, body)
        assert answer.status in {400, 501}
        is_bodiless = method == "HEAD" and ":method" not in odd
        assert (b"error" in answer.body) is not is_bodiless
        await client.ask()
        assert await client.answer() == b"hello", "the connection goes on"
    assert caplog.records == []


async def test_who_is_answered_before_the_body_has_come_does_not_end_the_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(hello, tmp_path) as client:
        for _ in range(3):
            answer = await client.ask_oddly(HEAD | {":method": b"POST"}, bytes(200_000))
            assert (answer.status, answer.body) == (200, b"hello")
    assert caplog.records == []


PARTS = st.binary(max_size=6).map(lambda some: re.sub(rb"[\0\r\n]", b"", some))


def mostly(good: bytes) -> st.SearchStrategy[bytes]:
    return st.just(good) | st.builds(lambda a, b: a + good + b, PARTS, PARTS) | PARTS


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(
    mostly(b"GET") | st.sampled_from([b"OPTIONS", b"HEAD", b"CONNECT", b"PRI"]),
    mostly(b"/a?b") | st.just(b"*"),
    mostly(b"chat.example.org:3000"),
    mostly(b"value"),
)
def test_heads_are_refused_as_they_are_over_http_1(
    method: bytes, path: bytes, host: bytes, value: bytes
) -> None:
    value, host = value.strip(b" \t"), host.strip(b" \t")
    told = b"%b %b HTTP/1.1\r\nHost: %b\r\nX-A: %b\r\n\r\n" % (method, path, host, value)

    def refusal(read: Any) -> int:
        try:
            read()
        except Refusal as refused:
            return refused.status
        return 200

    over_1 = refusal(lambda: HeadReader().feed(told))
    over_2 = refusal(
        lambda: http2.check([(b":method", method), (b":path", path), (b":authority", host), (b"x-a", value)])
    )
    if path.lower().startswith(b"http"):
        return  # Over HTTP/2 a target in absolute form has no meaning.
    assert (over_1 == 200) == (over_2 == 200), (over_1, over_2)
