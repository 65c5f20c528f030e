"""Small ASGI applications, and what is sent to them."""

from __future__ import annotations

from typing import Any

import msgspec

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
CLOSE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def post(body: bytes, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return b"POST / HTTP/1.1\r\nHost: x\r\n%bContent-Length: %d\r\n\r\n%b" % (lines, len(body), body)


async def start(send: Any, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


async def finish(send: Any, body: bytes = b"") -> None:
    await send({"type": "http.response.body", "body": body})


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await start(send, 200, (b"content-length", b"5"))
    await finish(send, b"hello")


async def body_of(receive: Any) -> bytes:
    data = b""
    while (message := await receive())["type"] == "http.request":
        data += message["body"]
        if not message["more_body"]:
            return data
    raise EOFError("the client has gone")


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with what arrived."""
    body = await body_of(receive)
    seen = {
        name: scope[name]
        for name in ("method", "path", "http_version", "scheme", "root_path", "type", "client", "server")
    }
    seen["query"] = scope["query_string"].decode("latin-1")
    seen["raw_path"] = scope["raw_path"].decode("latin-1")
    seen["headers"] = [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]
    seen["body"] = body.decode("latin-1")
    await start(send, 200, (b"content-type", b"application/json"))
    await finish(send, msgspec.json.encode(seen))


async def ignore(scope: Any, receive: Any, send: Any) -> None:
    """Answer without a look at the body."""
    await hello(scope, receive, send)
