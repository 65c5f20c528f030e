"""Connections to push services: to addresses that were checked, without following redirects (J-8)."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import httpcore2
import httpx2
import trio

from teamchat import BadRequest
from teamchat_web_push.addresses import Refused, Target, addresses_of, target_of
from teamchat_web_push.pacing import Pace, PacedStream

ANSWER_SECONDS = 10.0
"""How long a push service has to answer, the connection included."""
_CONNECT_SECONDS = 5.0
_CLOSE_SECONDS = 1.0
_KEPT_SECONDS = 60.0
_REST_BYTES = 4096
PRIVATE = "the address is in a private network, and push.allowedHosts does not name it"
AT_ONCE = 16
AT_ONCE_A_HOST = 4


class Answer(NamedTuple):
    """What a push service has answered: `status` is 0 where it could not be reached, and `reason` says why.

    `retry_after` is that header, as it came.
    """

    status: int
    reason: str = ""
    retry_after: str | None = None


class Checked(httpcore2.AsyncNetworkBackend):
    """Connects to a host by an address of it that was checked, so that no other can take its place."""

    def __init__(self, allowed: Collection[str], pace: Pace) -> None:
        self._allowed = {one.lower().strip("[]") for one in allowed}
        self._pace = pace
        self._sockets = httpcore2.TrioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            found = await addresses_of(Target(host, port, host.lower().strip("[]") in self._allowed))
        except OSError as error:
            raise httpcore2.ConnectError("the name can't be resolved") from error
        failed: Exception = httpcore2.ConnectError("no address")
        for address in found:
            try:
                stream = await self._sockets.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
                return PacedStream(stream, self._pace)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(seconds)


class Connections:
    """Connections, each for one push at a time. Some that are idle are kept for the next to their service.

    The library's own pool looks at all connections and requests for each request: a third of what one takes.
    """

    def __init__(self, backend: httpcore2.AsyncNetworkBackend) -> None:
        self._backend = backend
        self._idle: list[httpcore2.AsyncHTTPConnection] = []

    async def take(self, origin: httpcore2.Origin) -> httpcore2.AsyncHTTPConnection:
        """Return one to that origin, which is given back in the end."""
        while (found := self._kept(origin)) is not None:
            if not found.has_expired():
                return found
            await _close(found)
        # The certificates of the authorities take 40 ms to read, once.
        tls = await trio.to_thread.run_sync(_tls) if origin.scheme == b"https" else None
        return httpcore2.AsyncHTTPConnection(origin, tls, _KEPT_SECONDS, network_backend=self._backend)

    async def give_back(self, connection: httpcore2.AsyncHTTPConnection) -> None:
        """Keep a connection whose answer was read; the one that is idle for longest makes room."""
        if connection.is_closed():
            return
        if not connection.is_idle():
            await _close(connection)
            return
        self._idle.append(connection)
        if len(self._idle) > AT_ONCE:
            await _close(self._idle.pop(0))

    async def close(self) -> None:
        """Close what is kept."""
        while self._idle:
            await _close(self._idle.pop())

    def _kept(self, origin: httpcore2.Origin) -> httpcore2.AsyncHTTPConnection | None:
        for number in reversed(range(len(self._idle))):
            if self._idle[number].can_handle_request(origin):
                return self._idle.pop(number)
        return None


class Services:
    """The push services, as they are posted to."""

    def __init__(self, connections: Connections, allowed: Collection[str], pace: Pace) -> None:
        self._connections = connections
        self._allowed = allowed
        self.pace = pace

    async def post(self, endpoint: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send once, and return the answer; it raises nothing but `trio.Cancelled`."""
        try:
            target_of(endpoint, self._allowed)
            with trio.fail_after(ANSWER_SECONDS):
                return await self._post(endpoint, headers, body)
        except (Refused, BadRequest):
            return Answer(0, PRIVATE)
        except trio.TooSlowError:
            return Answer(0, f"no answer within {ANSWER_SECONDS:g} seconds")
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
            return Answer(0, f"no connection ({_said(error)})")
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.TimeoutException,
            httpcore2.UnsupportedProtocol,
        ) as error:
            return Answer(0, f"the connection failed ({type(error).__name__})")

    async def _post(self, endpoint: str, headers: Mapping[str, str], body: bytes) -> Answer:
        url, sent = httpcore2.URL(endpoint), list(headers.items())
        extensions = {"timeout": {"connect": _CONNECT_SECONDS}}
        connection = await self._connections.take(url.origin)
        try:
            async with connection.stream(
                "POST", url, headers=sent, content=body, extensions=extensions
            ) as answer:
                read = 0
                async with aclosing(answer.aiter_stream()) as pieces:
                    async for piece in pieces:  # A connection whose answer was read is used again.
                        read += len(piece)
                        if read > _REST_BYTES:
                            break
                return Answer(answer.status, "", _retry_after(answer))
        finally:
            await self._connections.give_back(connection)


@asynccontextmanager
async def open_services(allowed: Collection[str]) -> AsyncIterator[Services]:
    """Offer the push services; the connections to them are closed in the end."""
    pace = Pace()
    connections = Connections(Checked(allowed, pace))
    try:
        yield Services(connections, allowed, pace)
    finally:
        await connections.close()


async def _close(connection: httpcore2.AsyncHTTPConnection) -> None:
    with trio.move_on_after(_CLOSE_SECONDS, shield=True):
        await connection.aclose()


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _retry_after(answer: httpcore2.Response) -> str | None:
    found = [value for name, value in answer.headers if name.lower() == b"retry-after"]
    return found[0].decode("latin-1") if found else None


def _said(error: Exception) -> str:
    """Return what went wrong, without what a certificate or a peer may have put into it."""
    cause = error.__cause__ or error.__context__ or error
    return "its certificate" if "CERTIFICATE" in str(cause).upper() else type(cause).__name__
