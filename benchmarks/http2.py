"""A client of HTTP/2: so many requests at once on one connection, or so many streams of events.

h2 takes longer for an answer than the server does, so a rate is the client's; what the server's processor
takes for each is not.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import h2.config
import h2.connection
import h2.events
import trio

from benchmarks.client import HOST
from benchmarks.counting import MARK

Headers = list[tuple[str, str]]
_WINDOW = 2**30
_DEADLINE = 120.0  # seconds
_STREAMS = 90  # of events, on one connection
_LOOK = 0.02  # seconds


def headers(method: str, path: str, token: str = "") -> Headers:
    """Return the head of a request."""
    head = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    if token:
        head.append(("authorization", f"Bearer {token}"))
    if method == "POST":
        head.append(("content-type", "application/json"))
    return head


class Connection:
    """One connection, and how many answers have ended, streams of events been opened, and deliveries come."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self._stream = stream
        self._sending = trio.Lock()
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(_WINDOW)
        self.begun = self.answered = self.opened = self.marks = 0

    async def ask(self, head: Headers, body: bytes = b"", *, count: int = 1) -> None:
        """Send so many requests."""
        for _ in range(count):
            number = self._h2.get_next_available_stream_id()
            self._h2.send_headers(number, head, end_stream=not body)
            if body:
                self._h2.send_data(number, body, end_stream=True)
            self._h2.increment_flow_control_window(_WINDOW, number)
            self.begun += 1
        await self._tell()

    async def read(self) -> None:
        """Read what comes next."""
        data = await self._stream.receive_some(2**18)
        if not data:
            raise RuntimeError("the server closed the connection")
        for event in self._h2.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                self.marks += event.data.count(MARK)
                self.opened += event.data.count(b'"CONNECTED"')
            elif isinstance(event, h2.events.StreamEnded):
                self.answered += 1
            elif isinstance(event, h2.events.ResponseReceived):
                status = dict(event.headers)[b":status"]
                if status != b"200":
                    raise RuntimeError(f"the server answered {status!r}")
        await self._tell()

    async def _tell(self) -> None:
        async with self._sending:
            if told := self._h2.data_to_send():
                await self._stream.send_all(told)


@asynccontextmanager
async def connected(port: int, trust: ssl.SSLContext) -> AsyncIterator[Connection]:
    """Connect, and agree upon HTTP/2."""
    raw = await trio.open_tcp_stream(HOST, port)
    async with trio.SSLStream(raw, trust, server_hostname="localhost", https_compatible=True) as stream:
        await stream.do_handshake()
        if stream.selected_alpn_protocol() != "h2":
            raise RuntimeError("the server does not speak HTTP/2")
        yield Connection(stream)


async def flood(
    port: int, trust: ssl.SSLContext, head: Headers, body: bytes, at_once: int, seconds: float
) -> int:
    """Ask as fast as the answers come, and return how many came."""
    async with connected(port, trust) as connection:
        end = time.perf_counter() + seconds
        await connection.ask(head, body, count=at_once)
        with trio.fail_after(seconds + _DEADLINE):
            while connection.answered < connection.begun:
                before = connection.answered
                await connection.read()
                if (more := connection.answered - before) and time.perf_counter() < end:
                    await connection.ask(head, body, count=more)
        return connection.answered


async def deliver(
    port: int,
    trust: ssl.SSLContext,
    listeners: Sequence[Headers],
    posts: Sequence[tuple[Headers, bytes]],
    rate: float,
    processor_seconds: Callable[[], float],
) -> float:
    """Post to streams of events at an even pace; return the server's processor seconds for each delivery."""
    async with AsyncExitStack() as stack, trio.open_nursery() as nursery:

        async def connect() -> Connection:
            connection = await stack.enter_async_context(connected(port, trust))
            nursery.start_soon(_read_for_ever, connection)
            return connection

        poster, listening = await connect(), []
        for begun in range(0, len(listeners), _STREAMS):
            connection = await connect()
            listening.append(connection)
            for head in listeners[begun : begun + _STREAMS]:
                await connection.ask(head)
        with trio.fail_after(_DEADLINE):
            await _until(lambda: sum(one.opened for one in listening) == len(listeners))
            before = processor_seconds()
            for head, body in posts:
                await poster.ask(head, body)
                await trio.sleep(1 / rate)
            await _until(lambda: sum(one.marks for one in listening) == len(listeners) * len(posts))
        spent = processor_seconds() - before
        nursery.cancel_scope.cancel()
    return spent / len(listeners) / len(posts)


async def _read_for_ever(connection: Connection) -> None:
    while True:
        await connection.read()


async def _until(done: Callable[[], bool]) -> None:
    while not done():  # noqa: ASYNC110 - what is counted is read without an event for each
        await trio.sleep(_LOOK)
