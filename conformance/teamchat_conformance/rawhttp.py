"""HTTP written byte by byte: split writes, lengths that lie, lines that no client would send.

What goes out is exactly what was given; only whole answers are judged; and each of them
is recorded like any other, under the method and target it is said to be for.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import h11
import trio

from teamchat_conformance.expect import Answered
from teamchat_conformance.http import Exchange, Recorder
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

BROKEN = "BROKEN"
"""The method under which a request is recorded that is none."""

_PIECE = 65_536


def head(
    method: str, target: str, *headers: tuple[str, str], host: str = "localhost", version: str = "1.1"
) -> bytes:
    """Return the head of a request with these headers, nothing added but Host."""
    lines = [f"{method} {target} HTTP/{version}"]
    lines += [f"{name}: {value}" for name, value in ((("Host", host),) if host else ()) + headers]
    return "\r\n".join(lines).encode("latin1") + b"\r\n\r\n"


def chunked(data: bytes, size: int = 7) -> bytes:
    """Return a body in chunks of so many bytes (RFC 9112, section 7.1)."""
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


class RawConnection:
    """One connection to the server. `prefix` is the path of the server's address."""

    def __init__(
        self, stream: trio.abc.Stream, recorder: Recorder, actor: str, parts: SplitResult, seconds: float
    ) -> None:
        self.host = parts.netloc
        self.prefix = parts.path.rstrip("/")
        self.has_ended = False
        self._stream = stream
        self._recorder = recorder
        self._actor = actor
        self._seconds = seconds
        self._came = b""

    async def send(self, data: bytes | Iterable[bytes]) -> None:
        """Send bytes, each item of several in a write of its own, until nobody takes them any more."""
        try:
            for piece in (data,) if isinstance(data, bytes) else data:
                await self._stream.send_all(piece)
        except trio.BrokenResourceError:
            return

    async def ask(
        self,
        method: str,
        target: str,
        data: bytes | Sequence[bytes],
        *,
        body: bytes = b"",
        seconds: float | None = None,
    ) -> Answered | None:
        """Send bytes that are recorded as this request with this body, and return the answer to them.

        An answer that comes before everything is sent ends the sending.  None means that the connection was
        closed, or nothing came in time: see `has_ended`.
        """
        exchange = self._recorder.begin(self._actor, method, target, [("X-Sent", "byte by byte")], body)
        answer: Answered | None = None
        missed: Miss | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.send, data)
            try:
                answer = await self.answer(exchange, seconds=seconds)
            except Miss as miss:
                missed = miss
            nursery.cancel_scope.cancel()
        if missed is not None:
            raise missed
        return answer

    async def told(
        self, method: str, target: str, data: bytes | Sequence[bytes], *, body: bytes = b""
    ) -> Answered:
        """Send bytes as `ask` does, and return the answer. Raises `Miss` if none comes."""
        answer = await self.ask(method, target, data, body=body)
        if answer is None:
            raise Miss(f"{method} {target}, byte by byte: no answer")
        return answer

    async def answer(self, exchange: Exchange, *, seconds: float | None = None) -> Answered | None:
        """Wait for a whole answer on this connection."""
        reader = h11.Connection(our_role=h11.CLIENT)
        method = exchange.method if exchange.method == "HEAD" else "GET"
        reader.send(h11.Request(method=method, target="/", headers=[("Host", self.host)]))
        reader.send(h11.EndOfMessage())
        try:
            with trio.move_on_after(self._seconds if seconds is None else seconds):
                return await self._read(reader, exchange)
        except h11.RemoteProtocolError as error:
            self.has_ended = True
            if self._came:
                exchange.failure = "no HTTP came back"
                raise Miss(f"{exchange.method} {exchange.target}: what came is no HTTP ({error})") from None
        exchange.failure = "the connection was closed" if self.has_ended else "no answer in time"
        return None

    async def _read(self, reader: h11.Connection, exchange: Exchange) -> Answered | None:
        status, headers, body = 0, list[tuple[str, str]](), b""
        if self._came:
            reader.receive_data(self._came)
        while True:
            event = reader.next_event()
            if event is h11.NEED_DATA:
                piece = await self._receive()
                self._came += piece
                if not piece and not status:
                    return None
                reader.receive_data(piece)
            elif isinstance(event, h11.Response):
                status = event.status_code
                headers = [(name.decode().lower(), value.decode("latin1")) for name, value in event.headers]
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                self._came = bytes(reader.trailing_data[0])
                return self._answered(exchange, status, headers, body)
            elif isinstance(event, h11.ConnectionClosed):
                return None

    async def _receive(self) -> bytes:
        try:
            piece = bytes(await self._stream.receive_some(_PIECE))
        except trio.BrokenResourceError:
            piece = b""
        self.has_ended = self.has_ended or not piece
        return piece

    def _answered(
        self, exchange: Exchange, status: int, headers: list[tuple[str, str]], body: bytes
    ) -> Answered:
        answered = Answered(
            exchange.method, exchange.target, self._actor, status, headers, body, exchange.number
        )
        self._recorder.ended(exchange, answered)
        return answered

    async def ended(self, seconds: float) -> bool:
        """Wait for the end of the connection, and tell whether it came."""
        with trio.move_on_after(seconds):
            while not self.has_ended:
                self._came += await self._receive()
        return self.has_ended


@asynccontextmanager
async def raw(run: Run, actor: str = "nobody", *, seconds: float = 10.0) -> AsyncIterator[RawConnection]:
    """Open a connection to the server under test; it is closed in the end, whatever is on its way."""
    parts = urlsplit(run.instance.base_url)
    patience = run.wait(seconds)
    stream = await _connect(parts, run.instance.network.verify_tls, patience)
    try:
        yield RawConnection(stream, run.recorder, actor, parts, patience)
    finally:
        await trio.aclose_forcefully(stream)


async def _connect(parts: SplitResult, verify_tls: bool, seconds: float) -> trio.abc.Stream:
    is_secure = parts.scheme == "https"
    try:
        with trio.fail_after(seconds):
            stream = await trio.open_tcp_stream(
                parts.hostname or "", parts.port or (443 if is_secure else 80)
            )
    except (OSError, trio.TooSlowError) as error:
        raise Miss(f"can't connect to {parts.netloc} ({type(error).__name__})") from error
    if not is_secure:
        return stream
    context = ssl.create_default_context()
    if not verify_tls:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return trio.SSLStream(stream, context, server_hostname=parts.hostname, https_compatible=True)
