"""``python -m benchmarks.yardsticks.bare BYTES``: Trio, llhttp and system calls, and no more.

Every request is answered with so many bytes.
"""

from __future__ import annotations

import sys

import httptools
import trio


class _Head:
    """What llhttp calls."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, and pass over it."""


async def main(size: int) -> None:
    """Answer until the process is ended."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"x" * size

    async def serve(stream: trio.SocketStream) -> None:
        raw = stream.socket
        while data := await raw.recv(65_536):
            httptools.HttpRequestParser(_Head()).feed_data(data)
            await raw.send(answer)

    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    print(listener.socket.getsockname()[1], flush=True)
    await trio.serve_listeners(serve, [listener])


if __name__ == "__main__":
    trio.run(main, int(sys.argv[1]))
