"""What one address can take of a server's connections; run in a network of its own by a test.

``unshare --user --map-root-user --net python -m tests.in_a_network PROGRAM …`` brings up addresses of those
kept for documentation (RFC 5737), starts the server, floods it from one, and prints as JSON what is left.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

SERVER, FLOOD, OTHER = "203.0.113.1", "203.0.113.2", "203.0.113.3"
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
SECONDS = 30.0


def main(command: Sequence[str]) -> None:
    """Flood the server that `command` starts."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in (SERVER, FLOOD, OTHER):
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            print(json.dumps(flooded(_port_of(server))))
        finally:
            server.terminate()


def flooded(port: int, count: int = 400) -> dict[str, int]:
    """Return how many of so many connections of one address live, and how many of another's are answered."""
    before = [asked(port, OTHER) for _ in range(5)]
    flood = [connected(port, FLOOD) for _ in range(count)]
    answered = sum(is_answered(asked(port, OTHER)) for _ in range(20))
    return {
        "flood that lives": sum(lives(one) for one in flood),
        "others that were answered": answered,
        "others from before that live": sum(is_answered(one) and lives(one) for one in before),
    }


def connected(port: int, source: str) -> socket.socket:
    return socket.create_connection((SERVER, port), SECONDS, source_address=(source, 0))


def asked(port: int, source: str) -> socket.socket:
    one = connected(port, source)
    one.sendall(GET)
    return one


def is_answered(one: socket.socket) -> bool:
    try:
        return one.recv(4096).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def lives(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        return bool(one.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def _port_of(server: subprocess.Popen[bytes]) -> int:
    assert server.stdout is not None
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        line = server.stdout.readline().decode()
        if "ready on http" in line:
            return int(line.rpartition(":")[2])
    raise RuntimeError("the server is not ready")


if __name__ == "__main__":
    main(sys.argv[1:])
