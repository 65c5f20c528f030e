"""A client's end of a connection under TLS, which can end its own side alone, as that of a socket can."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import trio

T = TypeVar("T")


class SecureEnd:
    """Stands where a `trio.SocketStream` does. `was_told`: the server has said farewell (close_notify)."""

    def __init__(self, stream: trio.SocketStream, trust: ssl.SSLContext) -> None:
        self.stream = stream
        self.was_told = False
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = trust.wrap_bio(self._coming, self._going, server_hostname="localhost")

    @property
    def socket(self) -> trio.socket.SocketType:
        return self.stream.socket

    async def begin(self) -> SecureEnd:
        """Shake hands."""
        await self._until(self.tls.do_handshake)
        return self

    def encrypted(self, data: bytes) -> bytes:
        """Return what to send for `data`."""
        self.tls.write(data)
        return self._going.read()

    async def send_all(self, data: bytes) -> None:
        await self.stream.send_all(self.encrypted(data) if data else b"")

    async def receive_some(self, most: int = 65_536) -> bytes:
        """Return as much as there is. Raises `BrokenResourceError` at an end without a farewell."""
        data = await self._until(lambda: self._read(most), most)
        with suppress(ssl.SSLWantReadError, ssl.SSLEOFError):
            while data and len(data) < most and (more := self._read(most - len(data))):
                data += more
        self.was_told = not data
        return data

    async def send_eof(self) -> None:
        """Say farewell, and send nothing more."""
        with suppress(ssl.SSLError):
            self.tls.unwrap()
        with suppress(trio.BrokenResourceError):
            await self.stream.send_all(self._going.read())
            await self.stream.send_eof()

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def __aenter__(self) -> SecureEnd:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()

    def _read(self, most: int) -> bytes:
        try:
            return self.tls.read(most)
        except ssl.SSLZeroReturnError:  # so it is called once both sides have said farewell
            return b""

    async def _until(self, act: Callable[[], T], most: int = 65_536) -> T:
        while True:
            try:
                done = act()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLEOFError:
                raise trio.BrokenResourceError("the server did not say farewell") from None
            except ssl.SSLError as error:
                raise trio.BrokenResourceError from error
            else:
                await self._tell()
                return done
            await self._tell()
            data = await self.stream.receive_some(most)
            self._coming.write(data) if data else self._coming.write_eof()

    async def _tell(self) -> None:
        if told := self._going.read():  # Somebody else may be sending.
            await self.stream.send_all(told)
