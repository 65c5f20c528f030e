"""An HTTP server of another system, beside the one that a page is about."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

T = TypeVar("T", bound="Beside")
_POLL_SECONDS = 0.02  # how soon it notices that it is to end


class Beside(ThreadingHTTPServer):
    """A server on a free port of the loopback, whose requests a `Handler` answers."""

    def __init__(self, handler: type[Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.base = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One request; methods ``do_…`` answer it."""

    def body(self) -> bytes:
        """Read the request's body."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, *told: object) -> None:
        """Say nothing."""


@contextmanager
def answering(server: T) -> Iterator[T]:
    """Let it answer in a thread until the context ends."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=[_POLL_SECONDS])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
