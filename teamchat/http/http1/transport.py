"""A client's socket: read when asked, written at once or with a deadline, dropped at any time.

Nothing is read ahead of what was asked for. A write either completes, or the connection is dropped;
`teamchat.stream.slow_clients` says how long a slow client has. Sockets are the standard library's, without
Trio's wrapper around them: this takes the fewest calls between a request and its bytes, and the least memory
for an idle stream.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

import trio

from teamchat.stream import slow_clients

Bytes = bytes | memoryview
WRITE_SECONDS = slow_clients.MOST_SECONDS
_NOT_SENT = 16 * 1024  # how much the kernel takes beyond what is under way; Trio's own streams use the same
_GIVE_UP_MS = 60_000

Address = tuple[str, int] | None


class Transport:
    """The connection's bytes.

    `unread` is what was read and belongs to nobody yet; `is_gone` says that the client has ended its side,
    or has gone altogether.
    """

    __slots__ = ("_fd", "_is_torn", "_socket", "is_gone", "unread")

    def __init__(self, raw: socket.socket) -> None:
        self._socket = raw
        self._fd = raw.fileno()
        self.unread = b""
        self.is_gone = False
        self._is_torn = False  # A write was begun and has not come to its end.

    @property
    def is_closed(self) -> bool:
        return self._fd < 0

    def addresses(self) -> tuple[Address, Address]:
        """Return the client's address and the server's. Raises `OSError` for a client that has gone."""
        return _plain(self._socket.getpeername()), _plain(self._socket.getsockname())

    def take(self) -> bytes:
        """Return what is unread, which then belongs to the caller."""
        data, self.unread = self.unread, b""
        return data

    async def read(self, most: int) -> bytes:
        """Wait for the client and return what it sent: nothing once it has ended its side, or has gone."""
        if self.is_gone:  # The end of a side of TLS, unlike that of a socket, is read once alone.
            await trio.lowlevel.checkpoint()
        while not (self.is_closed or self.is_gone):
            await trio.lowlevel.wait_readable(self._fd)
            try:
                data = self._socket.recv(most)
            except (BlockingIOError, ssl.SSLWantReadError):
                continue
            except OSError:
                break
            if not data:
                break
            return data
        self.is_gone = True
        return b""

    def read_now(self, most: int) -> bytes:
        """Return what has already come, without waiting."""
        try:
            return self._socket.recv(most)
        except OSError:
            return b""

    async def write(self, data: bytes) -> bool:
        """Write all of `data` and return True; False for a client that has gone, or takes nothing."""
        if self._is_torn:
            return False
        try:
            sent = self._send(data)
        except OSError:
            return False
        return sent == len(data) or await self._write_rest(memoryview(data)[sent:])

    async def _write_rest(self, rest: memoryview) -> bool:
        self._is_torn = True
        lasts = WRITE_SECONDS
        while rest:
            if self.is_closed:
                return False
            since = trio.current_time()
            with trio.move_on_at(since + lasts) as limit:
                await trio.lowlevel.wait_writable(self._fd)
            if limit.cancelled_caught:
                return False
            try:
                sent = self._send(rest)
            except OSError:
                return False
            rest = rest[sent:]
            lasts = slow_clients.time_left(lasts, trio.current_time() - since, sent)
        self._is_torn = False
        return True

    def _send(self, data: Bytes) -> int:
        """Hand the kernel what it takes of `data`, and return how much. Raises `OSError`."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def send_now(self, data: bytes) -> int:
        """Hand the kernel what it takes of `data`, and return how much. Raises `BrokenResourceError`."""
        if self._is_torn:
            raise trio.BrokenResourceError("a write was cut short")
        try:
            return self._send(data)
        except OSError as error:
            self.is_gone = True
            raise trio.BrokenResourceError("the client has gone") from error

    async def wait_writable(self) -> None:
        """Wait until the kernel takes more. Raises `BrokenResourceError` once the connection is dropped."""
        if self.is_closed:
            raise trio.BrokenResourceError("the connection was dropped")
        try:
            await trio.lowlevel.wait_writable(self._fd)
        except trio.ClosedResourceError as error:
            raise trio.BrokenResourceError("the connection was dropped") from error

    def farewell(self) -> None:
        """Say that nothing more comes, where what is below HTTP has a word for it: TLS."""

    def end_writing(self) -> bool:
        """Tell the client that nothing more comes; False if it has gone."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close; whoever waits is woken with `ClosedResourceError`."""
        if self._fd >= 0:
            trio.lowlevel.notify_closing(self._fd)
            self._fd = -1
            self._socket.close()


def adopt(accepted: trio.socket.SocketType) -> socket.socket:
    """Return a socket that Trio accepted as a plain one, set up for short answers and for live streams."""
    family, kind, protocol = accepted.family, accepted.type, accepted.proto
    raw = socket.socket(family, kind, protocol, fileno=accepted.detach())
    raw.setblocking(False)
    _set(raw, "TCP_NODELAY", 1)
    # It bounds what the kernel keeps for a client that does not read, so that progress can be seen.
    _set(raw, "TCP_NOTSENT_LOWAT", _NOT_SENT)
    # A client that acknowledges nothing is given up after a minute, not after a quarter of an hour.
    _set(raw, "TCP_USER_TIMEOUT", _GIVE_UP_MS)
    return raw


def _set(raw: socket.socket, option: str, value: int) -> None:
    if hasattr(socket, option):
        with suppress(OSError):  # not on sockets of this machine alone (Unix)
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _plain(name: object) -> Address:
    """Return host and port; an address of this machine alone has none."""
    return (name[0], name[1]) if isinstance(name, tuple) else None
