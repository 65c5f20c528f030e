"""``python -m benchmarks.yardsticks.sender STREAMS SIZE``: one chunk to every socket, as fast as it goes.

A socket that is full is passed over, as the product passes it over; a chunk that was taken in part is
finished before anything else, so that what arrives is whole chunks.
"""

from __future__ import annotations

import select
import socket
import sys

GREETING = b'HTTP/1.1 200 OK\r\n\r\ndata: {"type":"CONNECTED"}\n\n'


def chunk(size: int) -> bytes:
    """Return a chunk with one mark."""
    return b"x" * (size - 1) + b"^"


def main() -> None:
    """Wait for the streams, then send until the process is ended or the streams leave."""
    count, size = map(int, sys.argv[1:])
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        print(listener.getsockname()[1], flush=True)
        sockets = [_greeted(listener) for _ in range(count)]
    try:
        _send_on(sockets, chunk(size))
    except ConnectionError:
        pass
    finally:
        for sock in sockets:
            sock.close()


def _greeted(listener: socket.socket) -> socket.socket:
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(GREETING)
    sock.setblocking(False)
    return sock


def _send_on(sockets: list[socket.socket], ready: bytes) -> None:
    sends = [sock.send for sock in sockets]
    size, count = len(ready), len(sends)
    while True:
        full = 0
        for number, send in enumerate(sends):
            try:
                sent = send(ready)
            except BlockingIOError:
                full += 1
                continue
            if sent != size:
                _finish(sockets[number], ready[sent:])
        if full == count:
            _wait(sockets)


def _finish(sock: socket.socket, rest: bytes) -> None:
    sock.setblocking(True)
    sock.sendall(rest)
    sock.setblocking(False)


def _wait(sockets: list[socket.socket]) -> None:
    poll = select.poll()
    for sock in sockets:
        poll.register(sock, select.POLLOUT)
    poll.poll()


if __name__ == "__main__":
    main()
