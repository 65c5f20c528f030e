"""A client at one end of a socket pair, `teamchat.http.http1` at the other; and applications to serve."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import h11
import msgspec
import pytest
import trio

from teamchat.http import tls
from teamchat.http.http1.connection import Connection
from tests.secure_end import SecureEnd
from tests.test_tls import certificate

PATIENCE = 200  # seconds of Trio's clock, which the tests of deadlines turn by themselves


@dataclass
class Serving:
    """The server, as a connection sees it."""

    is_stopping: bool = False

    def rests(self, connection: Any) -> None:
        pass

    def asks(self, connection: Any) -> None:
        pass

    async def serve_http2(self, connection: Any) -> None:
        raise AssertionError("no client here speaks it")


@dataclass
class Answer:
    """What a client got for one request."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    interim: list[int] = field(default_factory=list)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    def error(self, status: int) -> str:
        """Hold it to the one shape of errors (decision D-01), and return the sentence."""
        assert self.status == status, (self.status, self.body)
        assert self.header("content-type") == "application/json"
        told = msgspec.json.decode(self.body)
        assert list(told) == ["error"]
        return str(told["error"])


class Client:
    """The other end of a connection."""

    def __init__(self, stream: trio.SocketStream | SecureEnd, ended: trio.Event) -> None:
        self.stream = stream
        self.ended = ended
        self.connection: Any = None
        self._held = b""

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    def send_at_once(self, data: bytes) -> None:
        """Send in one step with what comes next."""
        told = self.stream.encrypted(data) if isinstance(self.stream, SecureEnd) else data
        os.write(self.stream.socket.fileno(), told)

    async def ask(self, request: bytes, method: str = "GET") -> Answer:
        await self.send(request)
        return await self.answer(method)

    async def answer(self, method: str = "GET") -> Answer:
        """Read one answer; h11 checks that it is a right one."""
        reader = h11.Connection(h11.CLIENT)
        reader.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
        reader.send(h11.EndOfMessage())
        reader.receive_data(self._held) if self._held else None
        answer = Answer(0, [], b"")
        with trio.fail_after(PATIENCE):
            while (event := reader.next_event()).__class__ is not h11.EndOfMessage:
                if event is h11.NEED_DATA:
                    reader.receive_data(await self.stream.receive_some())
                elif isinstance(event, h11.InformationalResponse):
                    answer.interim.append(event.status_code)
                elif isinstance(event, h11.Response):
                    answer.status = event.status_code
                    answer.headers = [
                        (name.decode(), value.decode("latin-1")) for name, value in event.headers
                    ]
                elif isinstance(event, h11.Data):
                    answer.body += bytes(event.data)
                else:
                    raise AssertionError(event)
        self._held = reader.trailing_data[0]
        return answer

    async def rest(self) -> bytes:
        """Read until the server closes."""
        data, self._held = self._held, b""
        with trio.fail_after(PATIENCE):
            try:
                while piece := await self.stream.receive_some():
                    data += piece
            except trio.BrokenResourceError:
                pass
        return data

    async def is_open(self) -> bool:
        """Whether the connection is still there, once everybody has done what they can."""
        await trio.testing.wait_all_tasks_blocked()
        return not self.ended.is_set()


Connect = Callable[..., Any]


class Wire:
    """What the connections of a test speak: plain HTTP, or TLS between these two."""

    server: ssl.SSLContext | None = None
    client: ssl.SSLContext | None = None


@pytest.fixture(scope="session")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's and the client's side of TLS."""
    made = certificate(tmp_path_factory.mktemp("tls"))
    trust = ssl.create_default_context(cafile=made.certificate)
    trust.set_alpn_protocols(["http/1.1"])
    return tls.context(made), trust


@pytest.fixture
def secure(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> Iterator[None]:
    """The test's connections speak TLS."""
    Wire.server, Wire.client = contexts
    yield
    Wire.server = Wire.client = None


@pytest.fixture(params=["plain", "tls"])
def wire(request: pytest.FixtureRequest) -> str:
    """The test is run with plain connections, and under TLS."""
    if request.param == "tls":
        request.getfixturevalue("secure")
    return str(request.param)


async def end_of(stream: trio.SocketStream) -> trio.SocketStream | SecureEnd:
    """Return the client's end of a connection, as the test's connections are."""
    return stream if Wire.client is None else await SecureEnd(stream, Wire.client).begin()


@asynccontextmanager
async def connected(app: Any, serving: Serving | None = None) -> AsyncIterator[Client]:
    """Serve `app` to the client that is yielded."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    connection, ended = Connection(app, serving or Serving(), ours, Wire.server), trio.Event()

    async def run() -> None:
        await connection.run()
        ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        async with trio.SocketStream(trio.socket.from_stdlib_socket(theirs)) as stream:
            client = Client(await end_of(stream), ended)
            client.connection = connection
            yield client
        nursery.cancel_scope.cancel()


@pytest.fixture(autouse=True)
def _no_failures(caplog: pytest.LogCaptureFixture) -> Any:
    """No test leaves an error in the log that it did not expect (by clearing it)."""
    yield
    assert not [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
