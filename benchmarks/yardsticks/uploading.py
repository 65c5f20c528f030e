"""``python -m benchmarks.yardsticks.uploading SIZE COUNT PORT TOKEN PLACE``: clients that upload at once.

Each is a thread over a plain socket and sends pieces of 8 MiB, as tus clients do.  The ids of the files are
printed in the end.  Without a token and a place it is to a bare copy (`benchmarks.yardsticks.copying`).
"""

from __future__ import annotations

import base64
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

HOST = "127.0.0.1"
PART = 8 * 1024 * 1024
_DATA = bytes(PART)


def upload(port: int, token: str, place: str, size: int) -> str:
    """Upload so many bytes and return the file's id."""
    about = ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in _about(place))
    common = f"Host: localhost\r\nAuthorization: Bearer {token}\r\nTus-Resumable: 1.0.0\r\n"
    with socket.create_connection((HOST, port)) as connection:
        head = f"POST /uploads HTTP/1.1\r\n{common}Upload-Length: {size}\r\nUpload-Metadata: {about}\r\n"
        path = _asked(connection, f"{head}Content-Length: 0\r\n\r\n", 201)["location"]
        for offset in range(0, size, PART):
            part = memoryview(_DATA)[: size - offset]
            head = f"PATCH {path} HTTP/1.1\r\n{common}Upload-Offset: {offset}\r\n"
            kind = "Content-Type: application/offset+octet-stream\r\n"
            _asked(connection, f"{head}{kind}Content-Length: {len(part)}\r\n\r\n", 204, part)
    return path.rpartition("/")[2]


def copy(port: int, way: bytes, size: int) -> None:
    """Send so many bytes to a bare copy (``u``), or get them back (``d``)."""
    with socket.create_connection((HOST, port)) as connection:
        connection.sendall(way + size.to_bytes(8))
        for offset in range(0, size if way == b"u" else 0, PART):
            connection.sendall(memoryview(_DATA)[: size - offset])
        received(connection)


def download(port: int, token: str, file_id: str) -> int:
    """Download a file and return how many bytes came."""
    with socket.create_connection((HOST, port)) as connection:
        head = f"GET /files/{file_id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
        return received(connection)


def received(connection: socket.socket) -> int:
    """Return how many bytes come until the other end closes."""
    room, total = bytearray(1024 * 1024), 0
    while count := connection.recv_into(room):
        total += count
    return total


def _about(place: str) -> list[tuple[str, str]]:
    return [("placeId", place), ("filename", "large.bin")]


def _asked(
    connection: socket.socket, head: str, status: int, body: memoryview | None = None
) -> dict[str, str]:
    connection.sendall(head.encode())
    if body is not None:
        connection.sendall(body)
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = connection.recv(65_536)
        if not piece:
            raise RuntimeError("the server closed the connection")
        answer += piece
    lines = answer.decode().split("\r\n")
    if not lines[0].startswith(f"HTTP/1.1 {status} "):
        raise RuntimeError(f"the server answered {answer[:300]!r}")
    return {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines[1:]}


if __name__ == "__main__":
    size, count, port = map(int, sys.argv[1:4])
    work: Callable[[], object] = partial(copy, port, b"u", size)
    if sys.argv[4:]:
        token, place = sys.argv[4:]
        work = partial(upload, port, token, place, size)
    with ThreadPoolExecutor(count) as threads:
        made = [threads.submit(work) for _ in range(count)]
        print(*(one.result() for one in made))
