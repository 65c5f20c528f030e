"""A load generator that speaks just enough HTTP/1.1: keep-alive, one request at a time on each connection.

It is measured itself (`capacity`), so that its own limit is known before a server's is believed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import trio


@dataclass
class Result:
    """What a run gave: requests answered with 200, seconds, and each request's time in seconds."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.times) / self.seconds

    def percentile(self, share: float) -> float:
        """Return the time, in milliseconds, that `share` of the requests stayed under."""
        ordered = sorted(self.times)
        return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Connection:
    """One keep-alive connection."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._buffer = b""

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and return the status and the body of its answer."""
        await self._stream.send_all(request)
        while b"\r\n\r\n" not in self._buffer:
            await self._more()
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        while len(self._buffer) < length:
            await self._more()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return int(head[9:12]), body

    async def _more(self) -> None:
        piece = await self._stream.receive_some(262_144)
        if not piece:
            raise RuntimeError("the server closed the connection")
        self._buffer += piece


def request(method: str, path: str, token: str = "", body: bytes = b"") -> bytes:
    """Return the bytes of a request."""
    head = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if token:
        head.append(f"Authorization: Bearer {token}")
    if body:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


async def connect(port: int) -> Connection:
    """Open a connection to the server on this machine."""
    return Connection(await trio.open_tcp_stream("127.0.0.1", port))


async def hammer(port: int, message: bytes, *, connections: int, seconds: float) -> Result:
    """Send the same request over and over on several connections for some seconds."""
    result = Result()

    async def one(end: float) -> None:
        connection = await connect(port)
        while (started := time.perf_counter()) < end:
            status, _ = await connection.ask(message)
            if status != 200:
                raise RuntimeError(f"the server answered {status}")
            result.times.append(time.perf_counter() - started)

    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(connections):
            nursery.start_soon(one, began + seconds)
    result.seconds = time.perf_counter() - began
    return result


async def capacity(*, connections: int, seconds: float) -> Result:
    """Measure the generator against a server that does nothing but answer, in this same process."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK"

    async def serve(stream: trio.SocketStream) -> None:
        while await stream.receive_some(65_536):
            await stream.send_all(answer)

    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        port = listener.socket.getsockname()[1]
        result = await hammer(port, request("GET", "/"), connections=connections, seconds=seconds)
        nursery.cancel_scope.cancel()
    return result
