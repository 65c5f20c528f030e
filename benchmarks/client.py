"""A client that speaks just enough HTTP/1.1: keep-alive, one request at a time on each connection.

A server may close a connection that has been idle, also at the moment when a request is on its way; the
request is then sent again on a new one, as browsers do, and its time goes on.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.loop import Loop

HOST = "127.0.0.1"
_ROOM = 256 * 1024  # bytes; more than any request here, so that a request is one `send`
_ANSWER_DEADLINE = 30.0  # seconds


trusted: dict[int, ssl.SSLContext] = {}
"""How to speak to the servers that have a certificate, by their ports."""


class Answer(NamedTuple):
    """A status and a body."""

    status: int
    body: bytes

    def json(self) -> Any:
        """Return what the body says; raise if the server refused."""
        if self.status != 200:
            raise RuntimeError(f"the server answered {self.status}: {self.body[:200]!r}")
        return json.loads(self.body)


def request(method: str, path: str, token: str = "", body: bytes = b"") -> bytes:
    """Return the bytes of a request."""
    head = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if token:
        head.append(f"Authorization: Bearer {token}")
    if body:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def secured(connected: socket.socket, port: int) -> socket.socket:
    """Return the socket to use, which does not block: under TLS, if the server at this port speaks it."""
    if (trust := trusted.get(port)) is not None:
        connected.setblocking(True)
        connected = trust.wrap_socket(connected, server_hostname="localhost")
    connected.setblocking(False)
    return connected


class Connection:
    """One keep-alive connection."""

    def __init__(self, loop: Loop, port: int) -> None:
        self._loop = loop
        self._port = port
        self._buffer = b""
        self._message = b""
        self._on_answer: Callable[[Answer], object] | None = None
        self._is_fresh = True
        self._socket = self._connect()

    def ask(self, message: bytes, on_answer: Callable[[Answer], object]) -> None:
        """Send a request; its answer goes to `on_answer`."""
        self._message, self._on_answer = message, on_answer
        if self._socket.send(message) != len(message):
            raise RuntimeError("the server does not take a request")

    def close(self) -> None:
        """Leave."""
        self._loop.forget(self._socket)
        self._socket.close()

    def _connect(self) -> socket.socket:
        connected = socket.create_connection((HOST, self._port))
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM)
        connected = secured(connected, self._port)
        self._loop.watch_request(connected, self._read)
        return connected

    def _read(self) -> None:
        try:
            piece = self._receive()
        except ssl.SSLWantReadError:  # A record has not come in full, or was no answer.
            return
        if not piece:
            self._renew()
            return
        self._buffer += piece
        answer = self._whole()
        if answer is not None and self._on_answer is not None:
            on_answer = self._on_answer
            self._buffer, self._on_answer, self._is_fresh = b"", None, False
            on_answer(answer)

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(_ROOM)
        except ConnectionResetError:
            return b""

    def _renew(self) -> None:
        """Connect again, and send again what had no answer; one that was asked nothing may be closed."""
        if self._buffer or (self._is_fresh and self._on_answer is not None):
            raise RuntimeError("the server closed the connection instead of answering")
        self.close()
        self._is_fresh = True
        self._socket = self._connect()
        if self._on_answer is not None:
            self.ask(self._message, self._on_answer)

    def _whole(self) -> Answer | None:
        """Return the answer if it has come in full."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self._buffer[:end].lower() + b"\r"
        if b"\r\ntransfer-encoding: chunked\r" in head:
            # Nothing follows it, as one is asked for at a time, and JSON has no line ends.
            is_whole = self._buffer.endswith(b"\r\n0\r\n\r\n")
            return Answer(int(head[9:12]), _joined(self._buffer[end + 4 :])) if is_whole else None
        length = head.partition(b"\r\ncontent-length:")[2]
        size = int(length[: length.index(b"\r")]) if length else 0  # 204 has none
        if len(self._buffer) < end + 4 + size:
            return None
        return Answer(int(head[9:12]), self._buffer[end + 4 :])


def _joined(chunks: bytes) -> bytes:
    """Return what a body in chunks (RFC 9112 section 7.1) holds."""
    pieces, at = [], 0
    while size := int(chunks[at : (begins := chunks.index(b"\r\n", at) + 2)].partition(b";")[0], 16):
        pieces.append(chunks[begins : begins + size])
        at = begins + size + 2
    return b"".join(pieces)


def ask(loop: Loop, port: int, message: bytes) -> Answer:
    """Ask one thing and wait for its answer."""
    return ask_all(loop, port, [message])[0]


def ask_all(loop: Loop, port: int, messages: list[bytes], *, connections: int = 16) -> list[Answer]:
    """Ask all of this, some at a time, and return the answers in the order of the requests."""
    answers: dict[int, Answer] = {}
    waiting = iter(enumerate(messages))

    def go_on(connection: Connection) -> None:
        following = next(waiting, None)
        if following is not None:
            number, message = following
            connection.ask(message, lambda answer: keep(connection, number, answer))

    def keep(connection: Connection, number: int, answer: Answer) -> None:
        answers[number] = answer
        go_on(connection)

    opened = [Connection(loop, port) for _ in range(min(connections, len(messages)))]
    try:
        for connection in opened:
            go_on(connection)
        if not loop.run(lambda: len(answers) == len(messages), _ANSWER_DEADLINE + len(messages) / 50):
            raise RuntimeError("the server does not answer")
    finally:
        for connection in opened:
            connection.close()
    return [answers[number] for number in range(len(messages))]
