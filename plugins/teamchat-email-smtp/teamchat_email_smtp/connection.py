"""A connection to a mail server: commands, and replies of a bounded size and time (RFC 5321 section 4.2).

The standard library's client reads replies without an end, in a thread that nobody can stop; so this speaks
the few commands that sending one mail needs, on Trio's streams, which end with whoever waits for them.
"""

from __future__ import annotations

import re
import ssl
from typing import NamedTuple

import trio

ANSWER_SECONDS = 20.0
"""How long the server may take for one reply, whole, and to take the command before it."""
MOST_LINE_BYTES = 8192
MOST_LINES = 100
"""RFC 5321 section 4.5.3.1.5 asks for 512 bytes a line; a greeting or a list of extensions has few lines."""

_LINE = re.compile(rb"([2-5]\d\d)(?:([ -])(.*))?\Z", re.DOTALL)
_PIECE_BYTES = 4096


class BadReply(Exception):
    """What came is no reply of SMTP, or one without an end."""


class ConnectionEnded(Exception):
    """The server has ended the connection."""


class Reply(NamedTuple):
    """A reply: its code, and the text of its lines."""

    code: int
    lines: list[str]

    @property
    def is_success(self) -> bool:
        return 200 <= self.code <= 299


class Connection:
    """Commands and their replies, over a stream."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._received = bytearray()

    async def command(self, line: str) -> Reply:
        """Send a command and return its reply. Raises what `reply` does."""
        if "\r" in line or "\n" in line:
            raise ValueError("A command is one line.")
        with trio.fail_after(ANSWER_SECONDS):
            await self._stream.send_all(f"{line}\r\n".encode())
            return await self._reply()

    async def reply(self) -> Reply:
        """Return the next reply.

        Raises `trio.TooSlowError`, `BadReply`, `ConnectionEnded` or `trio.BrokenResourceError`.
        """
        with trio.fail_after(ANSWER_SECONDS):
            return await self._reply()

    async def send(self, data: bytes) -> None:
        """Send the lines of a message. How long that takes is for the caller to bound."""
        await self._stream.send_all(data)

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Encrypt from here on, with a server that proves to be `host`.

        What came before the encryption could be anybody's, so nothing may have (CVE-2011-0411).
        """
        if self._received:
            raise BadReply("bytes before TLS")
        await self._encrypt(context, host)

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
        """Connect; with `tls`, encrypted from the beginning. Raises `OSError` and what TLS raises."""
        with trio.fail_after(ANSWER_SECONDS):
            connection = cls(await trio.open_tcp_stream(host, port))
        if tls is not None:
            try:
                await connection._encrypt(tls, host)
            except BaseException:
                await connection.aclose()
                raise
        return connection

    async def _encrypt(self, context: ssl.SSLContext, host: str) -> None:
        # Many servers end a connection without TLS's goodbye; the replies show whether one is whole.
        stream = trio.SSLStream(self._stream, context, server_hostname=host, https_compatible=True)
        self._stream = stream
        with trio.fail_after(ANSWER_SECONDS):
            await stream.do_handshake()

    @property
    def is_encrypted(self) -> bool:
        return isinstance(self._stream, trio.SSLStream)

    @property
    def peer(self) -> str:
        """The server's address."""
        stream = self._stream.transport_stream if isinstance(self._stream, trio.SSLStream) else self._stream
        assert isinstance(stream, trio.SocketStream)  # noqa: S101 - `open` made it
        return str(stream.socket.getpeername()[0])

    async def aclose(self) -> None:
        """Close at once, without a word."""
        await trio.aclose_forcefully(self._stream)

    async def _reply(self) -> Reply:
        lines: list[str] = []
        while len(lines) < MOST_LINES:
            parts = _LINE.match(await self._line())
            if parts is None:
                raise BadReply("no reply of SMTP")
            lines.append((parts[3] or b"").decode("latin-1"))
            if parts[2] != b"-":
                return Reply(int(parts[1]), lines)
        raise BadReply("a reply without an end")

    async def _line(self) -> bytes:
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched >= MOST_LINE_BYTES:
                raise BadReply("a line without an end")
            piece = await self._stream.receive_some(_PIECE_BYTES)
            if not piece:
                raise ConnectionEnded
            self._received += piece
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line.removesuffix(b"\r")
