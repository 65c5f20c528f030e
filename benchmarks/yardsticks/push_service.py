"""``python -m benchmarks.yardsticks.push_service``: takes pushes at four addresses, reads none, counts all.

``GET`` is answered with how many it has taken, and when the last one came (by `time.perf_counter`, which on
Linux is one clock for all processes).
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import time
from dataclasses import dataclass

HOSTS = tuple(f"127.0.0.{number}" for number in range(1, 5))
"""Where it listens, on one port: people's browsers belong to some push services, not to one."""
_TAKEN = b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ROOM = 65_536


@dataclass
class Taken:
    """What was taken."""

    count: int = 0
    last: float = 0.0


class _Connection:
    def __init__(self, sock: socket.socket, taken: Taken) -> None:
        self._socket = sock
        self._taken = taken
        self._buffer = b""

    def read(self) -> bool:
        """Answer what has come whole; return whether the connection is open still."""
        piece = self._socket.recv(_ROOM)
        self._buffer += piece
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._buffer, 0, end)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < size:
                break
            is_push = self._buffer.startswith(b"POST ")
            self._buffer = self._buffer[size:]
            self._socket.send(self._take() if is_push else self._told())
        return bool(piece)

    def _take(self) -> bytes:
        self._taken.count += 1
        self._taken.last = time.perf_counter()
        return _TAKEN

    def _told(self) -> bytes:
        body = json.dumps({"count": self._taken.count, "last": self._taken.last}).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def main() -> None:
    """Take pushes until the process is ended."""
    taken = Taken()
    first = socket.create_server((HOSTS[0], 0))
    port = first.getsockname()[1]
    with selectors.DefaultSelector() as selector:
        for listener in (first, *(socket.create_server((host, port)) for host in HOSTS[1:])):
            selector.register(listener, selectors.EVENT_READ)
        print(port, flush=True)
        while True:
            for key, _ in selector.select():
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if key.data is None:
                    opened = sock.accept()[0]
                    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    selector.register(opened, selectors.EVENT_READ, _Connection(opened, taken))
                elif not key.data.read():
                    selector.unregister(sock)
                    sock.close()


if __name__ == "__main__":
    main()
