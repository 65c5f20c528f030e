"""TLS on the own server: what a handshake may cost, what a record may be, and how an end looks."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from teamchat.http import tls
from teamchat.http.http1 import HttpServer, exchange
from teamchat.http.http1 import connection as module
from teamchat.http.http1.connection import Connection
from teamchat.http.http1.tls import RECORD_BYTES, TlsTransport
from teamchat.stream.transport import WRITE_SECONDS, transport_for
from tests.http1.apps import CLOSE, GET, echo, finish, hello, post, start
from tests.http1.conftest import PATIENCE, Client, Serving, Wire, connected, end_of
from tests.secure_end import SecureEnd
from tests.test_tls import certificate

pytestmark = pytest.mark.usefixtures("secure")


def secured(client: Client) -> SecureEnd:
    assert isinstance(client.stream, SecureEnd)
    return client.stream


async def was_told(client: Client) -> bool:
    """Read to the end, and return whether the server said farewell."""
    await client.rest()
    return secured(client).was_told


# The end


async def closing(client: Client) -> None:
    await client.ask(CLOSE)


async def refused(client: Client) -> None:
    assert (await client.ask(b"nonsense\r\n\r\n")).error(400)


async def idle(client: Client) -> None:
    await client.ask(GET)


async def stopped(client: Client) -> None:
    await client.ask(GET)
    await trio.testing.wait_all_tasks_blocked()
    client.connection.serving.is_stopping = True
    client.connection.stop()


@pytest.mark.parametrize("comes_to_it", [closing, refused, idle, stopped])
async def test_a_connection_that_ends_properly_ends_with_a_farewell(
    comes_to_it: Any, autojump_clock: Any
) -> None:
    """RFC 8446, section 6.1."""
    async with connected(hello) as client:
        await comes_to_it(client)
        assert await was_told(client)


@pytest.mark.parametrize("request_", [GET, b"GET / HTTP/1.0\r\n\r\n"])
async def test_an_answer_that_breaks_off_has_no_farewell(
    request_: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Of HTTP/1.0, the end of the connection is the end of the answer, and nothing else shows it is whole."""

    async def breaking(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        await send({"type": "http.response.body", "body": b"hello", "more_body": True})
        raise RuntimeError

    async with connected(breaking) as client:
        await client.send(request_)
        assert b"hello" in await secured(client).receive_some()
        assert not await was_told(client)
    caplog.clear()


async def test_a_client_that_says_farewell_and_stays_is_answered_and_let_go_at_once(
    autojump_clock: Any,
) -> None:
    async with connected(hello) as client:
        end = secured(client)
        await client.send(GET)
        with suppress(ssl.SSLWantReadError):
            end.tls.unwrap()
        await end.stream.send_all(end._going.read())
        since = trio.current_time()
        assert (await client.answer()).body == b"hello"
        assert await was_told(client)
        assert trio.current_time() - since < 1


async def test_nothing_is_written_once_the_server_has_said_farewell() -> None:
    async with connected(hello) as client:
        await client.ask(GET)
        transport = client.connection.transport
        for end in (transport.farewell, transport.end_writing):
            end()
            assert not await transport.write(b"in the clear")
            with pytest.raises(trio.BrokenResourceError):
                transport.send_now(b"in the clear")
        assert await was_told(client)


# The handshake


@asynccontextmanager
async def unsecured(
    serving: Serving | None = None,
) -> AsyncIterator[tuple[trio.SocketStream, trio.Event, Any]]:
    """Serve a client that has not begun its handshake."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    ended = trio.Event()
    connection = Connection(hello, serving or Serving(), ours, Wire.server)

    async def run() -> None:
        await connection.run()
        ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        async with trio.SocketStream(trio.socket.from_stdlib_socket(theirs)) as stream:
            yield stream, ended, connection
        nursery.cancel_scope.cancel()


def client_hello() -> bytes:
    assert Wire.client is not None
    going = ssl.MemoryBIO()
    begun = Wire.client.wrap_bio(ssl.MemoryBIO(), going, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        begun.do_handshake()
    return going.read()


@pytest.mark.parametrize("share", [0, 0.5, 1])
async def test_a_handshake_that_is_not_completed_is_given_up_after_10_seconds(
    share: float, autojump_clock: Any
) -> None:
    async with unsecured() as (stream, ended, _):
        since = trio.current_time()
        told = client_hello()
        if told[: int(share * len(told))]:
            await stream.send_all(told[: int(share * len(told))])
        await ended.wait()
        assert trio.current_time() - since == pytest.approx(module.HEADER_SECONDS)


async def test_a_handshake_that_trickles_in_has_10_seconds_in_all(autojump_clock: Any) -> None:
    async with unsecured() as (stream, ended, _):
        since = trio.current_time()
        with suppress(trio.BrokenResourceError):
            for byte in client_hello():
                await stream.send_all(bytes([byte]))
                await trio.sleep(1)
        await ended.wait()
        assert trio.current_time() - since == pytest.approx(module.HEADER_SECONDS, abs=1)


async def test_a_handshake_holds_up_no_server_that_stops(autojump_clock: Any) -> None:
    serving = Serving()
    async with unsecured(serving) as (stream, ended, connection):
        await stream.send_all(client_hello()[:10])
        await trio.testing.wait_all_tasks_blocked()
        since = trio.current_time()
        serving.is_stopping = True
        connection.stop()
        await ended.wait()
        assert trio.current_time() == pytest.approx(since)


GARBAGE = [
    GET,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\0" * 1000,
    bytes(range(256)) * 100,
    b"\x16\x03\x01\xff\xff" + b"a" * 70_000,  # a record that says it is larger than any may be
    b"\x16\x03\x01\x00\x05\x01\xff\xff\xff\xff",  # a message of 16 MiB
    b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10",  # SSL 2.0
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
async def test_what_is_no_tls_ends_the_connection_and_is_not_logged(
    garbage: bytes, autojump_clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with unsecured() as (stream, ended, _):
        with suppress(trio.BrokenResourceError):
            await stream.send_all(garbage)
            await stream.send_eof()
        await ended.wait()
    assert caplog.records == []


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
async def test_versions_before_tls_1_2_are_not_spoken() -> None:
    assert Wire.server is not None
    assert Wire.server.options & ssl.OP_NO_RENEGOTIATION
    old = ssl.create_default_context()
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    async with unsecured() as (stream, ended, _):
        with pytest.raises(trio.BrokenResourceError):
            await SecureEnd(stream, old).begin()
        await stream.aclose()
        await ended.wait()


async def test_tls_1_2_is_spoken(tmp_path: Path) -> None:
    made = certificate(tmp_path)
    Wire.server, Wire.client = tls.context(made), ssl.create_default_context(cafile=made.certificate)
    Wire.client.maximum_version = ssl.TLSVersion.TLSv1_2
    async with connected(echo) as client:
        assert secured(client).tls.version() == "TLSv1.2"
        assert b"x" * 100_000 in (await client.ask(post(b"x" * 100_000), "POST")).body
        await client.ask(CLOSE)
        assert await was_told(client)


async def test_http_1_1_is_agreed_upon_where_http_2_is_not_offered(tmp_path: Path) -> None:
    made = certificate(tmp_path)
    Wire.server = tls.context(msgspec.structs.replace(made, http2=False))
    Wire.client = ssl.create_default_context(cafile=made.certificate)
    Wire.client.set_alpn_protocols(["h2", "http/1.1"])
    async with connected(hello) as client:
        assert secured(client).tls.selected_alpn_protocol() == "http/1.1"
        assert (await client.ask(GET)).body == b"hello"


@asynccontextmanager
async def serving(app: Any, most: int) -> AsyncIterator[int]:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server = HttpServer(app, listeners, tls=Wire.server)
    server._limiter.most = most
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: server.run(trio.Event(), grace=0, task_status=task_status))
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("begun", [b"", b"\x16\x03\x01", None])
async def test_a_flood_of_half_open_handshakes_keeps_nobody_out(begun: bytes | None) -> None:
    async with serving(hello, most=10) as port, trio.open_nursery() as nursery:
        for _ in range(30):
            half = await trio.open_tcp_stream("127.0.0.1", port)
            nursery.start_soon(_hold, half)
            await half.send_all(client_hello() if begun is None else begun or b"")
        with trio.fail_after(PATIENCE):
            client = Client(await end_of(await trio.open_tcp_stream("127.0.0.1", port)), trio.Event())
            assert (await client.ask(GET)).body == b"hello"
            await client.stream.aclose()
        nursery.cancel_scope.cancel()


async def _hold(stream: trio.SocketStream) -> None:
    async with stream:
        await trio.sleep_forever()


# Records


def test_a_read_asks_for_a_whole_record() -> None:
    """What OpenSSL has decrypted and nobody took would not wake who waits for the socket."""
    assert RECORD_BYTES <= module._HEAD_BYTES
    assert RECORD_BYTES <= exchange.READ_BYTES


async def test_full_records_are_read_to_their_end() -> None:
    async with connected(echo) as client:
        body = bytes(range(65, 91)) * 4000
        whole = post(body) + post(b"x" * (2 * RECORD_BYTES)) + GET
        for at in range(0, len(whole), RECORD_BYTES):  # Each is one record, and the last ends no request.
            await client.send(whole[at : at + RECORD_BYTES])
        assert body in (await client.answer("POST")).body
        assert b"x" * (2 * RECORD_BYTES) in (await client.answer("POST")).body
        assert (await client.answer()).status == 200


async def test_requests_that_fill_one_record_are_all_answered() -> None:
    requests = RECORD_BYTES // len(GET)
    async with connected(hello) as client:
        await client.send((GET * requests).ljust(RECORD_BYTES, b"\r"))
        for _ in range(requests):
            assert (await client.answer()).body == b"hello"


@pytest.mark.parametrize(
    "record", [b"\x17\x03\x03\xff\xff" + b"a" * 70_000, b"\x17\x03\x03\x00\x20" + b"a" * 32]
)
async def test_a_record_that_is_too_large_or_forged_ends_the_connection(record: bytes) -> None:
    async with connected(hello) as client:
        await client.ask(GET)
        with suppress(trio.BrokenResourceError):
            await secured(client).stream.send_all(record)
        with trio.fail_after(PATIENCE):
            await client.ended.wait()


async def test_events_that_leave_together_are_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    send = ssl.SSLSocket.send
    monkeypatch.setattr(
        ssl.SSLSocket, "send", lambda self, data: written.append(len(data)) or send(self, data)
    )
    async with connected(hello) as client:
        await client.ask(GET)
        written.clear()
        assert client.connection.transport.send_now(b"x" * RECORD_BYTES) == RECORD_BYTES
    assert written == [RECORD_BYTES]


class FakeSocket:
    """Takes what OpenSSL would: records of a size, and one that was refused must be given again."""

    def __init__(self, takes: list[bool], fragment: int) -> None:
        self._takes = takes
        self._fragment = fragment
        self._pending = b""
        self.wire = b""

    def fileno(self) -> int:
        return 0

    def send(self, data: Any) -> int:
        told = bytes(data)
        assert told
        assert told.startswith(self._pending), "bad write retry"
        record = self._pending or told[: self._fragment]
        if self._takes and not self._takes.pop():
            self._pending = record
            raise ssl.SSLWantWriteError
        self._pending = b""
        self.wire += record
        return len(record)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(2, 3 * RECORD_BYTES), min_size=1, max_size=8),
    st.lists(st.booleans(), max_size=40),
    st.sampled_from([512, RECORD_BYTES]),
)
def test_what_is_taken_goes_out_whole_and_in_order_whatever_the_socket_takes(
    sizes: list[int], takes: list[bool], fragment: int
) -> None:
    assert Wire.server is not None
    raw = FakeSocket(takes, fragment)
    transport = TlsTransport(raw, Wire.server)  # type: ignore[arg-type]
    pieces = [bytes([number]) * size for number, size in enumerate(sizes)]
    sent: list[bytes] = []
    for piece in pieces:
        rest = piece
        while rest:
            taken = transport.send_now(rest)
            if not taken and len(rest) == len(piece):
                break  # Not a byte of it was taken, so it may be dropped.
            rest = rest[taken:]
        else:
            sent.append(piece)
    assert raw.wire == b"".join(sent)


# Answers


CHUNKS = [b"4e20\r\n%b\r\n" % (bytes([97 + number % 26]) * 20_000) for number in range(40)]


class Streaming:
    """A stream that the hub writes: at once what the client takes, and the rest at the client's pace."""

    def __init__(self) -> None:
        self.too_slow_after = 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        transport = transport_for(scope, send, lambda: None)
        assert transport.send_now is not None
        for chunk in CHUNKS:
            taken = transport.send_now(chunk)
            since = trio.current_time()
            try:
                if taken < len(chunk):
                    await transport.write(chunk[taken:])
            except trio.TooSlowError:
                self.too_slow_after = trio.current_time() - since
                transport.abort()
                return
        await finish(send)


async def test_a_stream_comes_whole_to_a_client_that_is_slow(autojump_clock: Any) -> None:
    app = Streaming()
    async with connected(app) as client:
        await client.send(GET)
        data = b""
        while not data.endswith(b"\r\n0\r\n\r\n"):
            await trio.sleep(5)
            data += await secured(client).receive_some(100_000)
        assert data.endswith(b"5\r\nfirst\r\n" + b"".join(CHUNKS) + b"0\r\n\r\n")
    assert not app.too_slow_after


async def test_a_stream_whose_client_stalls_is_cut_after_30_seconds(autojump_clock: Any) -> None:
    app = Streaming()
    async with connected(app) as client:
        await client.send(GET)
        await client.ended.wait()
        assert not await was_told(client)
    assert app.too_slow_after == pytest.approx(WRITE_SECONDS)


async def test_a_large_answer_comes_whole_to_a_client_that_reads_little_at_a_time() -> None:
    body = bytes(range(256)) * 4000

    async def large(scope: Any, receive: Any, send: Any) -> None:
        await start(send, 200, (b"content-length", b"%d" % len(body)))
        await finish(send, body)

    async with connected(large) as client:
        await client.send(GET)
        data = b""
        while not data.endswith(body[-256:]) or len(data) < len(body):
            data += await secured(client).receive_some(1000)
        assert data.endswith(body)
