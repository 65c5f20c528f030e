"""Servers that teamchat talks to, and that tell back whatever they were told, in every error they give."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import trio

Serve = Callable[[trio.SocketStream], Awaitable[None]]


@asynccontextmanager
async def listener(serve: Serve) -> AsyncIterator[int]:
    """Serve connections on a free port."""

    async def safely(stream: trio.SocketStream) -> None:
        with trio.move_on_after(20):
            with suppress(trio.BrokenResourceError):
                await serve(stream)
            await stream.aclose()

    async with trio.open_nursery() as nursery:
        [listening] = await nursery.start(partial(trio.serve_tcp, safely, 0, host="127.0.0.1"))
        yield listening.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


class Provider:
    """An OAuth provider whose every answer is an error that repeats the request."""

    def __init__(self) -> None:
        self.heard = b""

    async def __call__(self, stream: trio.SocketStream) -> None:
        request = await stream.receive_some()
        length = int(request.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        while len(request.partition(b"\r\n\r\n")[2]) < length:
            request += await stream.receive_some()
        self.heard += request
        body = b'{"error": "invalid_grant", "error_description": "%s"}' % request.rpartition(b"\r\n")[2]
        status = b"400 Bad" if self.heard.count(b"POST ") % 2 else b"500 Worse"
        head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        await stream.send_all(head % (status, len(body)) + body)


class MailServer:
    """A mail server that refuses passwords at first and mails always, and says why at length."""

    def __init__(self) -> None:
        self.heard = b""
        self.mails: list[bytes] = []

    async def __call__(self, stream: trio.SocketStream) -> None:
        lines = _Lines(stream)
        await stream.send_all(b"220 hello\r\n")
        while (line := await lines.next()) is not None:
            self.heard += line
            verb = line[:4].upper()
            if verb == b"DATA":
                await stream.send_all(b"354 go on\r\n")
                mail = await lines.until_dot()
                self.mails.append(mail)
                await stream.send_all(b"554 5.7.1 no: %s\r\n" % b" ".join(mail.split())[-400:])
            else:
                await stream.send_all(self._answer(verb, line.strip()))

    def _answer(self, verb: bytes, line: bytes) -> bytes:
        if verb == b"EHLO":
            return b"250-hello\r\n250 AUTH PLAIN LOGIN\r\n"
        if verb == b"AUTH" and self.heard.upper().count(b"AUTH") < 2:
            word = line.rpartition(b" ")[2]
            return b"535 5.7.8 no: %s %r\r\n" % (word, base64.b64decode(word + b"=="))
        return b"235 ok\r\n" if verb == b"AUTH" else b"250 ok\r\n"


class _Lines:
    """The lines of a connection."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._data = b""

    async def next(self) -> bytes | None:
        while b"\n" not in self._data:
            piece = await self._stream.receive_some()
            if not piece:
                return None
            self._data += piece
        line, _, self._data = self._data.partition(b"\n")
        return line + b"\n"

    async def until_dot(self) -> bytes:
        lines = []
        while (line := await self.next()) not in (b".\r\n", None):
            assert line is not None
            lines.append(line)
        return b"".join(lines)
