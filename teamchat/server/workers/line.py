"""The line between the supervisor and a worker: what they say, and whether the other is still there.

The settings, including secrets, are passed this way and no other, because others can read command lines and
environments. When one end of the line closes, the other knows that this process stops or is gone, however it
died; nothing else has to be watched.
"""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Self

import msgspec
import trio
from msgspec import Struct

from teamchat.settings import Settings

BEAT_SECONDS = 5.0

_HEAD = struct.Struct("!I")


class Ready(Struct, frozen=True, tag="ready"):
    """The worker serves."""


class Alive(Struct, frozen=True, tag="alive"):
    """The worker's heartbeat, every `BEAT_SECONDS` once it serves."""


class Failed(Struct, frozen=True, tag="failed"):
    """The worker ends, for a reason that the operator can mend."""

    sentence: str


Report = Ready | Alive | Failed
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Report).decode


class Line:
    """One end of it."""

    def __init__(self, end: trio.socket.SocketType) -> None:
        self._stream = trio.SocketStream(end)

    @classmethod
    def pair(cls) -> tuple[Self, socket.socket]:
        """Return the supervisor's end, and the socket that the worker is to inherit."""
        ours, theirs = socket.socketpair()
        return cls(trio.socket.from_stdlib_socket(ours)), theirs

    @classmethod
    def inherited(cls, descriptor: int) -> Self:
        """Return the worker's end."""
        return cls(trio.socket.from_stdlib_socket(socket.socket(fileno=descriptor)))

    async def give(self, settings: Settings) -> None:
        """Hand the settings to the worker, with every type they hold."""
        await self._send(pickle.dumps(settings))

    async def take(self) -> Settings | None:
        """Return the settings that the supervisor gave, or None if it is gone."""
        data = await self._receive()
        if data is None:
            return None
        settings: Settings = pickle.loads(data)  # noqa: S301 - from the process that started this one
        return settings

    async def send(self, report: Report) -> None:
        """Tell the supervisor how things are. A supervisor that is gone needs no telling."""
        await self._send(_encode(report))

    async def hear(self) -> Report | None:
        """Return the worker's next report, or None when its end is closed."""
        data = await self._receive()
        return None if data is None else _decode(data)

    async def end(self) -> None:
        """Tell the worker to stop; its reports can still be received."""
        try:
            await self._stream.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def until_ended(self) -> None:
        """Wait until the supervisor wants this process to stop, or is gone."""
        await self._exactly(1)

    def close(self) -> None:
        """Close this end."""
        self._stream.socket.close()

    async def _send(self, data: bytes) -> None:
        try:
            await self._stream.send_all(_HEAD.pack(len(data)) + data)
        except trio.BrokenResourceError:
            return

    async def _receive(self) -> bytes | None:
        head = await self._exactly(_HEAD.size)
        return None if head is None else await self._exactly(_HEAD.unpack(head)[0])

    async def _exactly(self, size: int) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            try:
                piece = await self._stream.receive_some(size - len(data))
            except trio.BrokenResourceError:
                return None
            if not piece:
                return None
            data += piece
        return bytes(data)
