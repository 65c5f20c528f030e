"""What the load generator itself can do, so that its limit is known before a server's is believed."""

from __future__ import annotations

import socket
import time

from benchmarks import yardsticks
from benchmarks.asking import Asker
from benchmarks.client import HOST, request
from benchmarks.loop import Loop
from benchmarks.streams import Streams
from benchmarks.yardsticks.sender import GREETING, chunk

_MOST_STREAMS = 1000  # both ends of each connection are in this process
_SWEEPS = 20


def deliveries(count: int, size: int, *, joined: int = 1) -> float:
    """Return the deliveries/s it can read when they lie ready, `joined` chunks in each of so many sockets."""
    count = min(count, _MOST_STREAMS)
    ready = chunk(size) * joined
    senders: list[socket.socket] = []
    with Loop() as loop, socket.create_server((HOST, 0), backlog=4096) as listener:
        loop.watch(listener, lambda: senders.append(_greeted(listener)))
        with Streams(loop, listener.getsockname()[1]) as streams:
            streams.open([b"GET / HTTP/1.1\r\n\r\n"] * count)
            loop.forget(listener)
            seconds = sum(_sweep(streams, senders, ready, (number + 1) * joined) for number in range(_SWEEPS))
            for sender in senders:
                sender.close()
    return _SWEEPS * count * joined / seconds


def requests(connections: int, seconds: float) -> float:
    """Return the requests/s it can ask of a program that has one prepared answer."""
    message = request("GET", "/")
    with (
        Loop() as loop,
        yardsticks.answering() as port,
        Asker(loop, port, lambda _: message, connections=connections) as asker,
    ):
        taken = asker.flood(seconds)
        return len(asker.answered) / taken


def _greeted(listener: socket.socket) -> socket.socket:
    sender, _ = listener.accept()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sender.sendall(GREETING)
    return sender


def _sweep(streams: Streams, senders: list[socket.socket], ready: bytes, marks: int) -> float:
    for sender in senders:
        sender.sendall(ready)
    began = time.perf_counter()
    streams.wait(marks)
    return time.perf_counter() - began
