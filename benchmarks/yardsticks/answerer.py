"""``python -m benchmarks.yardsticks.answerer``: a short answer to whatever comes, but for `REFUSED`."""

from __future__ import annotations

import selectors
import socket

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK"
REFUSED, REFUSAL = b"GET /refused", b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\nNO"


def main() -> None:
    """Answer until the process is ended."""
    with selectors.DefaultSelector() as selector, socket.create_server(("127.0.0.1", 0)) as listener:
        selector.register(listener, selectors.EVENT_READ)
        print(listener.getsockname()[1], flush=True)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    selector.register(listener.accept()[0], selectors.EVENT_READ)
                else:
                    _answer(selector, key.fileobj)


def _answer(selector: selectors.BaseSelector, sock: object) -> None:
    assert isinstance(sock, socket.socket)
    if message := sock.recv(65_536):
        sock.send(REFUSAL if message.startswith(REFUSED) else ANSWER)
    else:
        selector.unregister(sock)
        sock.close()


if __name__ == "__main__":
    main()
