"""Thousands of event streams, read by one process that counts what comes instead of parsing it (`counting`).

One non-blocking socket a stream, one read whenever it has something, into one buffer for all.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from selectors import EVENT_WRITE
from types import TracebackType
from typing import Self

from benchmarks.client import HOST, secured
from benchmarks.counting import MARK, Tally, Witness
from benchmarks.loop import Loop

Hear = Callable[[bytes], object]

_BUFFER = 256 * 1024  # bytes; the most that one read takes
_PER_SOURCE = 5000  # connections from one loopback address, well under its number of ports
_SMALLEST_ROOM = 4096  # bytes; the receive buffer of a client that is going to stall
_OPEN_DEADLINE = 120.0  # seconds
_CONNECTED_AT_A_TURN = 16  # a connection takes some 50 microseconds, in which requests are not looked at
_ARRIVAL_DEADLINE = 120.0


class Stream:
    """One client's stream."""

    __slots__ = ("_greeting", "_hear", "_streams", "ended_at", "seen", "socket")

    def __init__(self, streams: Streams, sock: socket.socket, hear: Hear | None) -> None:
        self._streams = streams
        self._greeting = b""
        self._hear = hear
        self.socket = sock
        self.seen = 0
        self.ended_at: float | None = None

    def greet(self) -> None:
        """Read until CONNECTED has come."""
        try:
            piece = self.socket.recv(_BUFFER)
        except ssl.SSLWantReadError:
            return
        self._greeting += piece
        if b'"CONNECTED"' not in self._greeting:
            if not piece or (b"\r\n\r\n" in self._greeting and b" 200" not in self._greeting[:13]):
                raise RuntimeError(f"the server opens no stream: {self._greeting[:200]!r}")
            return
        self._take(self._greeting.count(MARK))
        if self._hear is not None:
            self._hear(self._greeting)
        self._greeting = b""
        self._streams.opened(self)

    def read(self) -> None:
        """Read once and count; this is what runs a hundred thousand times a second."""
        streams = self._streams
        try:
            size = self.socket.recv_into(streams.buffer)
        except ssl.SSLWantReadError:
            return
        except ConnectionError:
            size = 0
        if not size:
            self.ended_at = time.perf_counter()
            streams.ended += 1
            streams.loop.forget(self.socket)
            return
        streams.bytes += size
        streams.reads += 1
        self._take(streams.buffer.count(MARK, 0, size))
        if self._hear is not None:
            self._hear(bytes(streams.buffer[:size]))

    def _take(self, marks: int) -> None:
        if marks:
            self._streams.tally.add(self.seen, marks, time.perf_counter())
            self.seen += marks


class Streams(AbstractContextManager["Streams"]):
    """Opens streams and reads them; leaving the context closes them.

    Those that stall read nothing after CONNECTED.  `hear(n)` may give a reader for the nth stream; if it
    gives none for the first, that is the witness's.
    """

    def __init__(
        self,
        loop: Loop,
        port: int,
        *,
        stalling: bool = False,
        hear: Callable[[int], Hear | None] = lambda _: None,
    ) -> None:
        self.loop = loop
        self.buffer = bytearray(_BUFFER)
        self.tally = Tally()
        self.witness = Witness()
        self.all: list[Stream] = []
        self.bytes = 0
        self.reads = 0
        self.ended = 0
        self.opening_seconds = 0.0
        self.connected_at = 0.0
        self.port = port
        self._stalling = stalling
        self._hear = hear
        self._pending: list[bytes] = []
        self._at_once = 0  # how many of those that come at once have not begun
        self._open = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Have all clients leave."""
        for stream in self.all:
            self.loop.forget(stream.socket)
            stream.socket.close()

    @property
    def deliveries(self) -> int:
        """How many marks have come on all streams."""
        return sum(stream.seen for stream in self.all)

    def open(self, requests: Sequence[bytes], *, at_once: int = 100) -> Self:
        """Open a stream by each request, with so many on their way at once, and wait for CONNECTED.

        Requests go on meanwhile: also those that come at once begin some at a turn of the loop.
        """
        self._pending = list(reversed(requests))
        self._at_once = min(at_once, len(requests))
        began = time.perf_counter()
        try:
            if not self.loop.run(lambda: self._go_on() == len(requests), _OPEN_DEADLINE):
                raise RuntimeError(f"only {self._open} of {len(requests)} streams opened")
        except BaseException:
            self.close()
            raise
        self.connected_at = time.perf_counter()
        self.opening_seconds = self.connected_at - began
        return self

    def opened(self, stream: Stream) -> None:
        """Note that a stream has said CONNECTED, and open the next one."""
        self._open += 1
        if self._stalling:
            self.loop.forget(stream.socket)
        else:
            self.loop.watch(stream.socket, stream.read)
        if len(self._pending) > self._at_once:
            self._connect()

    def _go_on(self) -> int:
        """Begin some more of those that come at once, and return how many streams are open."""
        for _ in range(min(self._at_once, _CONNECTED_AT_A_TURN)):
            self._at_once -= 1
            self._connect()
        return self._open

    def wait(self, marks: int) -> None:
        """Wait until every stream that has not ended got this many marks; raise if that does not come."""
        if not self.loop.run(lambda: self._have_all(marks), _ARRIVAL_DEADLINE):
            behind = sum(stream.seen < marks for stream in self.all)
            raise RuntimeError(f"{behind} of {len(self.all)} streams have not got every event")

    def _have_all(self, marks: int) -> bool:
        """Look at the tally first: to look at each stream costs more than to read from some."""
        if not marks:
            return True
        if len(self.tally.count) < marks or self.tally.count[marks - 1] < len(self.all) - self.ended:
            return False
        return all(stream.seen >= marks or stream.ended_at is not None for stream in self.all)

    def _connect(self) -> None:
        number = len(self.all)
        request = self._pending.pop()
        sock = socket.socket()
        stream = Stream(self, sock, self._hear(number) or (self.witness if number == 0 else None))
        self.all.append(stream)
        sock.setblocking(False)
        if self._stalling:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALLEST_ROOM)
        sock.bind((f"127.0.0.{1 + number // _PER_SOURCE}", 0))
        sock.connect_ex((HOST, self.port))
        self.loop.watch(sock, partial(self._connected, stream, request), events=EVENT_WRITE)

    def _connected(self, stream: Stream, request: bytes) -> None:
        self.loop.forget(stream.socket)
        stream.socket = secured(stream.socket, self.port)
        stream.socket.send(request)
        self.loop.watch(stream.socket, stream.greet)
