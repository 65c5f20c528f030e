"""A connection that our own server accepted and hands to Hypercorn, which expects a `trio.SSLStream`."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from teamchat.http.http1.transport import Address, Transport


class Handed:
    """A connection whose handshake is over and has agreed upon HTTP/2, and also the socket below it."""

    __slots__ = ("_transport",)

    family = socket.AF_INET
    """Its addresses are host and port, whatever it is."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def transport_stream(self) -> Handed:
        return self

    @property
    def socket(self) -> Handed:
        return self

    def getpeername(self) -> Address:
        return self._transport.addresses()[0]

    def getsockname(self) -> Address:
        return self._transport.addresses()[1]

    async def do_handshake(self) -> None:
        await trio.lowlevel.checkpoint()

    def selected_alpn_protocol(self) -> str:
        return "h2"

    async def receive_some(self, most: int) -> bytes:
        return await self._transport.read(most)

    async def send_all(self, data: bytes) -> None:
        if not await self._transport.write(data):
            raise trio.BrokenResourceError("the client has gone, or takes nothing")

    async def aclose(self) -> None:
        self._transport.farewell()
        self._transport.close()
        await trio.lowlevel.checkpoint()

    def close(self) -> None:
        self._transport.close()
