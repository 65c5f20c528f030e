"""HTTP/1.1 on a Trio socket: bytes in, a `Request` out; a `Response` or a stream back.

What must stay true: a body is read whole before anything is done with it, and one that is too large or not
HTTP at all is answered with an error of the interface's shape, after which the connection is closed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, unquote

import h11
import trio

MOST_BODY = 32 * 1024 * 1024
_WORTH_READING = 3 * MOST_BODY
_MOST_HEAD = 64 * 1024


@dataclass(frozen=True)
class Request:
    """What was asked. Header names are in lower case; `parts` are those of the path, unescaped."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    peer: str
    began: float

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(unquote(part) for part in self.path.split("/")[1:])

    def asked(self, name: str) -> str | None:
        """Return a parameter of the query."""
        return self.query[name][0] if name in self.query else None


@dataclass
class Response:
    """What is answered; `stream`, where there is one, gives the body piece by piece."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    stream: AsyncGenerator[bytes, None] | None = None


Answer = Callable[[Request], Awaitable[Response]]


def as_json(value: Any, status: int = 200) -> Response:
    """Return an answer in JSON."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return Response(status, body, {"Content-Type": "application/json", "Cache-Control": "no-store"})


def as_error(status: int, sentence: str) -> Response:
    """Return an error (interface, part 7)."""
    response = as_json({"error": sentence}, status)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


class _TooLarge(Exception):
    pass


async def serve_connection(stream: trio.SocketStream, answer: Answer) -> None:
    """Answer what comes over one connection until either side has had enough."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
    try:
        await _serve(stream, connection, answer)
    except (trio.BrokenResourceError, trio.ClosedResourceError, h11.LocalProtocolError):
        pass
    finally:
        with trio.move_on_after(1) as scope:
            scope.shield = True
            await stream.aclose()


async def _serve(stream: trio.SocketStream, connection: h11.Connection, answer: Answer) -> None:
    peer = str(stream.socket.getpeername()[0])
    try:
        while True:
            request = await _read_request(stream, connection, peer)
            if request is None:
                return
            await _write(stream, connection, request.method, await answer(request))
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()
    except _TooLarge:
        await _write(stream, connection, "POST", as_error(413, "The body is too large"), close=True)
    except h11.RemoteProtocolError as error:
        if connection.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            refusal = as_error(error.error_status_hint, "That is not HTTP")
            await _write(stream, connection, "GET", refusal, close=True)


async def _read_request(stream: trio.SocketStream, connection: h11.Connection, peer: str) -> Request | None:
    head: h11.Request | None = None
    body = bytearray()
    read, began = 0, 0.0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
                await stream.send_all(connection.send(go_on))
            connection.receive_data(bytes(await stream.receive_some(262_144)))
        elif isinstance(event, h11.Request):
            head, began = event, trio.current_time()
            announced = dict(event.headers).get(b"content-length", b"0")
            if int(announced) > _WORTH_READING:
                raise _TooLarge
        elif isinstance(event, h11.Data):
            read += len(event.data)
            if read > _WORTH_READING:
                raise _TooLarge
            if read <= MOST_BODY:
                body += event.data
        elif isinstance(event, h11.EndOfMessage):
            if read > MOST_BODY:
                raise _TooLarge
            assert head is not None
            return _request(head, bytes(body), peer, began)
        else:
            return None


def _request(head: h11.Request, body: bytes, peer: str, began: float) -> Request:
    path, _, query = head.target.decode("ascii").partition("?")
    if "://" in path:
        path = "/" + path.partition("://")[2].partition("/")[2]
    headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
    return Request(
        head.method.decode(), path, parse_qs(query, keep_blank_values=True, max_num_fields=100_000), headers,
        body, peer, began,
    )  # fmt: skip


async def _write(
    stream: trio.SocketStream,
    connection: h11.Connection,
    method: str,
    response: Response,
    *,
    close: bool = False,
) -> None:
    headers = dict(response.headers)
    if close:
        headers["Connection"] = "close"
    if response.stream is None:
        headers["Content-Length"] = str(len(response.body))
    head = h11.Response(status_code=response.status, headers=list(headers.items()))
    await stream.send_all(connection.send(head))
    if response.stream is not None:
        await _write_stream(stream, connection, response.stream)
    elif method != "HEAD":
        await stream.send_all(connection.send(h11.Data(data=response.body)) or b"")
    await stream.send_all(connection.send(h11.EndOfMessage()) or b"")


async def _write_stream(
    stream: trio.SocketStream, connection: h11.Connection, pieces: AsyncGenerator[bytes, None]
) -> None:
    """Send pieces as they come, and stop when the other side hangs up.

    That it sends no more is not yet that: it may still be reading.
    """
    async with trio.open_nursery() as nursery:

        async def notice_the_end() -> None:
            try:
                while await stream.receive_some(1024):
                    pass
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                nursery.cancel_scope.cancel()

        nursery.start_soon(notice_the_end)
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    await stream.send_all(connection.send(h11.Data(data=piece)) or b"")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            connection.send_failed()
        nursery.cancel_scope.cancel()
