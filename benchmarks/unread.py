"""Clients that ask for a large page and read nothing of it, or little: what they make a server hold.

Used by the scenario ``unread``, and by a test that holds the server to a bound.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import h2.settings
import trio

from benchmarks.client import HOST, request

EMOJI = "\N{GRINNING FACE}"
MESSAGES, CHARACTERS = 200, 16_000
"""What makes a page of 12 MiB."""
EVERY = 0.1  # seconds between two looks at the server
_RECEIVE_BUFFER = 4096  # bytes; the kernel doubles it

Attack = Callable[[], AbstractAsyncContextManager[None]]
PageAttack = Callable[["Page"], AbstractAsyncContextManager[None]]


@dataclass
class Page:
    """A page of a channel that somebody may read, on a server that speaks plain HTTP or TLS."""

    port: int
    token: str
    path: str
    tls: ssl.SSLContext | None = None

    @property
    def request(self) -> bytes:
        return request("GET", self.path, self.token)


@dataclass
class Effect:
    """What was seen of a server: its memory in bytes, and the seconds that another's requests took."""

    memory: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def grown(self) -> int:
        """By how many bytes it grew at most."""
        return max(self.memory) - self.memory[0]


async def watch(pid: int, ask: Callable[[], Awaitable[None]], attack: Attack, seconds: float) -> Effect:
    """Return what an attack of so many seconds does; `ask` is what somebody else asks meanwhile."""
    effect = Effect([resident(pid)])

    async def look() -> None:
        while True:
            effect.memory.append(resident(pid))
            await trio.sleep(EVERY)

    async def probe() -> None:
        while True:
            since = time.perf_counter()
            await ask()
            effect.seconds.append(time.perf_counter() - since)
            await trio.sleep(EVERY)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
        nursery.start_soon(probe)
        async with attack():
            await trio.sleep(seconds)
        nursery.cancel_scope.cancel()
    return effect


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


@asynccontextmanager
async def not_reading(page: Page, connections: int = 100) -> AsyncIterator[None]:
    """Ask for the page on so many connections, and read nothing."""
    async with trio.open_nursery() as nursery:
        for _ in range(connections):
            nursery.start_soon(_ask_and_read, page, 0)
        yield
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def reading_slowly(page: Page, readers: int = 40, rate: int = 1330) -> AsyncIterator[None]:
    """Ask for the page on so many connections, and read so many bytes a second of each."""
    async with trio.open_nursery() as nursery:
        for _ in range(readers):
            nursery.start_soon(_ask_and_read, page, rate)
        yield
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def without_windows(page: Page, connections: int = 10, streams: int = 99) -> AsyncIterator[None]:
    """Ask for the page over HTTP/2, with so many streams on each connection, whose windows are 0."""
    async with trio.open_nursery() as nursery:
        for _ in range(connections):
            nursery.start_soon(_ask_without_windows, page, streams)
        yield
        nursery.cancel_scope.cancel()


async def read(page: Page) -> int:
    """Read the page as anybody does, over HTTP/1.1, and return the status."""
    async with await _connect(page) as stream:
        await stream.send_all(page.request)
        data = bytearray(await stream.receive_some())
        while b"\r\n\r\n" not in data:
            data += await stream.receive_some()
        head, _, _ = bytes(data).partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].split()[0])
        while len(data) < len(head) + 4 + size:
            piece = await stream.receive_some()
            if not piece:
                raise RuntimeError("an answer was cut short")
            data += piece
        return int(head[9:12])


async def _connect(page: Page, receive_buffer: int = 0, protocol: str = "http/1.1") -> trio.abc.Stream:
    plain = trio.socket.socket()
    try:
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        await plain.connect((HOST, page.port))
        stream = trio.SocketStream(plain)
        if page.tls is None:
            return stream
        page.tls.set_alpn_protocols([protocol])
        wrapped = trio.SSLStream(stream, page.tls, server_hostname="localhost", https_compatible=True)
        await wrapped.do_handshake()
        return wrapped
    except BaseException:
        plain.close()
        raise


async def _ask_and_read(page: Page, rate: int) -> None:
    try:
        async with await _connect(page, _RECEIVE_BUFFER) as stream:
            await stream.send_all(page.request)
            while True:
                await trio.sleep(0.5)
                if rate and not await stream.receive_some(rate // 2):
                    await trio.sleep_forever()
    except (trio.BrokenResourceError, OSError):
        pass  # It was cut, as it should be.


async def _ask_without_windows(page: Page, streams: int) -> None:
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.local_settings = h2.settings.Settings(
        client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0}
    )
    connection.initiate_connection()
    asked = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "localhost"),
        (":path", page.path),
        ("authorization", f"Bearer {page.token}"),
    ]
    try:
        async with await _connect(page, protocol="h2") as stream:
            for _ in range(streams):
                connection.send_headers(connection.get_next_available_stream_id(), asked, end_stream=True)
            await stream.send_all(connection.data_to_send())
            while data := await stream.receive_some():
                connection.receive_data(data)
                if answer := connection.data_to_send():
                    await stream.send_all(answer)
    except (trio.BrokenResourceError, OSError):
        pass


def post(token: str, channel_id: str, content: str = EMOJI * CHARACTERS) -> bytes:
    """Return the request that posts what makes a page large."""
    body = json.dumps({"content": content}, ensure_ascii=False).encode()
    return request("POST", f"/channels/{channel_id}/messages", token, body)
