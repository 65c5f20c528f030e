"""A server's clients on bare sockets: to see what it does with connections, beneath any library."""

from __future__ import annotations

import socket

import trio

from teamchat.testing import Server

PATIENCE = 60.0  # seconds; far above what anything here takes, on a busy machine too


async def open_stream(server: Server, token: str) -> trio.SocketStream:
    """Open the event stream on a socket with a small window, and read CONNECTED."""
    raw = trio.socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await raw.connect(("127.0.0.1", int(server.base.rpartition(":")[2])))
    stream = trio.SocketStream(raw)
    await stream.send_all(f"GET /events?token={token} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    data = b""
    with trio.fail_after(PATIENCE):
        while b"CONNECTED" not in data:
            data += await stream.receive_some()
    return stream


async def read_all(stream: trio.SocketStream) -> bytes:
    """Return everything until the server closes, and close."""
    data = b""
    with trio.fail_after(PATIENCE):
        async with stream:
            while piece := await stream.receive_some():
                data += piece
    return data


async def refuses_connections(port: int) -> None:
    """Wait until nobody listens on this port."""
    with trio.fail_after(PATIENCE):
        while True:
            try:
                await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
            except OSError:
                return
