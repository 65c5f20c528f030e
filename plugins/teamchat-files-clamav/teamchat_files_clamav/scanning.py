"""What is said to clamd: one connection a file, by its command INSTREAM (clamd(8))."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Annotated, Literal

import trio
from msgspec import Meta, Struct

from teamchat import CheckedFile, SettingsError

MOST_SCANS = 8
"""Files that are looked at at once; clamd has ten threads unless it is told otherwise."""
_MOST_ANSWER_BYTES = 4096
_Seconds = Annotated[float, Meta(gt=0, le=3600)]

_log = logging.getLogger(__name__)


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The keys of ``[plugins.files-clamav]``.

    `address` is a path of a socket, or ``host:port``; nothing is checked without it. `too_large` is what
    becomes of a file that clamd does not take for its size (``StreamMaxLength``). Times are in seconds: for
    connecting, and for what clamd may take to take a piece or to answer.
    """

    address: str | None = None
    too_large: Literal["block", "pass"] = "block"
    connect_seconds: _Seconds = 5.0
    answer_seconds: _Seconds = 120.0


class ScanFailed(Exception):
    """clamd has not said what it thinks of a file."""


class ClamAV:
    """`teamchat.FileCheck` by clamd. Raises `SettingsError` if the address is none."""

    name = "clamav"

    def __init__(self, options: Options) -> None:
        self._options = options
        self._address = _parsed(options.address or "")
        self._scans = trio.CapacityLimiter(MOST_SCANS)

    async def check(self, file: CheckedFile, chunks: AsyncIterator[bytes]) -> bool:
        """Return whether clamd finds nothing in it. Raises `ScanFailed` or `OSError` if it can't say."""
        async with self._scans, await self._connected() as clamd:
            answer = await self._asked(clamd, chunks)
        if answer == "stream: OK":
            return True
        if answer.endswith(" FOUND"):
            _log.warning("clamd blocks the file %s: %r", file.id, answer.removeprefix("stream: "))
            return False
        if "size limit exceeded" in answer:
            _log.warning("the file %s is larger than clamd takes: %s", file.id, self._options.too_large)
            return self._options.too_large == "pass"
        raise ScanFailed(f"clamd says: {answer!r}")

    async def _connected(self) -> trio.SocketStream:
        with trio.move_on_after(self._options.connect_seconds):
            if isinstance(self._address, str):
                return await trio.open_unix_socket(self._address)
            return await trio.open_tcp_stream(*self._address)
        raise ScanFailed("clamd can't be reached in time")

    async def _asked(self, clamd: trio.SocketStream, chunks: AsyncIterator[bytes]) -> str:
        try:
            await self._send(clamd, b"zINSTREAM\0")
            async for chunk in chunks:
                await self._send(clamd, len(chunk).to_bytes(4, "big") + chunk)
            await self._send(clamd, bytes(4))
        except trio.BrokenResourceError:
            # It says why before it hangs up in the middle: the file is too large for it.
            return await self._answer(clamd)
        return await self._answer(clamd)

    async def _send(self, clamd: trio.SocketStream, data: bytes) -> None:
        with trio.move_on_after(self._options.answer_seconds):
            await clamd.send_all(data)
            return
        raise ScanFailed("clamd takes nothing more")

    async def _answer(self, clamd: trio.SocketStream) -> str:
        answer = bytearray()
        with trio.move_on_after(self._options.answer_seconds):
            while not answer.endswith(b"\0") and len(answer) < _MOST_ANSWER_BYTES:
                try:
                    piece = await clamd.receive_some(_MOST_ANSWER_BYTES)
                except trio.BrokenResourceError:
                    piece = b""
                if not piece:
                    raise ScanFailed("clamd hung up without an answer")
                answer += piece
            return answer.rstrip(b"\0").decode("utf-8", "replace")
        raise ScanFailed("clamd takes too long")


def _parsed(address: str) -> str | tuple[str, int]:
    if address.startswith("/"):
        return address
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise SettingsError(
            "plugins.files-clamav.address must be the path of clamd's socket, or its host and port, such as "
            "127.0.0.1:3310."
        )
    return host.removeprefix("[").removesuffix("]"), int(port)
