"""Connections to push services: to addresses that were checked, without following redirects (J-8).

`h11` speaks HTTP/1.1 over them, one push at a time.  A whole client of a library took half of what a push
costs, and thousands of them are due at once.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import NamedTuple, Self

import h11
import httpx2
import trio

from teamchat import BadRequest
from teamchat_web_push.addresses import Origin, Refused, Target, addresses_of, target_of
from teamchat_web_push.pacing import Pace

ANSWER_SECONDS = 10.0
"""How long a push service has to answer, the connection included."""
_CONNECT_SECONDS = 3.0
"""How long each address of a service has, and TLS after it."""
_KEPT_SECONDS = 60.0
_REST_SECONDS = 1.0
"""How long an answer may go on, once it is known what it is."""
_MOST_BYTES = 16_384
_PIECE_BYTES = 4096
PRIVATE = "the address is in a private network, and push.allowedHosts does not name it"
AT_ONCE = 16
AT_ONCE_A_HOST = 4
_LOOKUPS = 4 * AT_ONCE
"""How many names are resolved at once: one that nobody answers for outlasts who waits for it."""


class NotConnected(Exception):
    """There is no connection to a push service; `str` says why, without what a peer may have put into it."""


class Answer(NamedTuple):
    """What a push service has answered: `status` is 0 where it could not be reached, and `reason` says why.

    `retry_after` is that header, as it came.
    """

    status: int
    reason: str = ""
    retry_after: str | None = None


class Connection:
    """A connection to a push service (RFC 9112)."""

    def __init__(self, origin: Origin, socket: trio.SocketStream, stream: trio.abc.Stream) -> None:
        self.origin = origin
        self._socket = socket
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT)
        self._kept_until = 0.0
        self._received = 0

    @classmethod
    async def to(cls, target: Target, lookups: trio.CapacityLimiter) -> Self:
        """Connect by an address that was checked, so that no other can take its place.

        Raises `NotConnected`, and `Refused` for a private network.
        """
        socket = await _connected(target, lookups)
        stream = await _secured(socket, target.host) if target.is_tls else socket
        return cls(target.origin, socket, stream)

    @property
    def is_reusable(self) -> bool:
        """Whether all that was asked is answered, lately, and the service has not closed it since."""
        return trio.current_time() < self._kept_until and not self._socket.socket.is_readable()

    async def post(self, target: Target, headers: Mapping[str, str], body: bytes, pace: Pace) -> Answer:
        """Send a push and return the answer, each piece of which takes a step of its own.

        Raises `trio.BrokenResourceError` and `h11.ProtocolError`.
        """
        self._kept_until = 0.0
        told = [("Host", target.authority), *headers.items(), ("Content-Length", str(len(body)))]
        request = h11.Request(method="POST", target=target.path, headers=told)
        parts = [self._http.send(part) or b"" for part in (request, h11.Data(body), h11.EndOfMessage())]
        with suppress(trio.BrokenResourceError):  # Who closes early may have answered before.
            await self._stream.send_all(b"".join(parts))
        self._received = 0
        while not isinstance(event := await self._next(pace), h11.Response):
            pass
        with trio.move_on_after(_REST_SECONDS), suppress(trio.BrokenResourceError, h11.RemoteProtocolError):
            while not isinstance(await self._next(pace), h11.EndOfMessage):
                pass
            self._keep()
        found = dict(event.headers).get(b"retry-after")
        return Answer(event.status_code, "", None if found is None else found.decode("latin-1"))

    async def _next(self, pace: Pace) -> object:
        """Return what comes next of the answer, which need not be long."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            data = await self._stream.receive_some(_PIECE_BYTES)
            await pace.step()
            self._received += len(data)
            if self._received > _MOST_BYTES:
                raise h11.RemoteProtocolError("the answer is too long")
            self._http.receive_data(bytes(data))
        return event

    def _keep(self) -> None:
        """Be ready for the next push, unless the service closes, or says what nobody has asked for."""
        http, (unasked, _) = self._http, self._http.trailing_data
        if http.our_state is h11.DONE and http.their_state is h11.DONE and not unasked:
            http.start_next_cycle()
            self._kept_until = trio.current_time() + _KEPT_SECONDS

    async def close(self) -> None:
        """Close it, without waiting for the service."""
        await trio.aclose_forcefully(self._stream)


class Services:
    """The push services, as they are posted to. Some connections that are idle are kept."""

    def __init__(self, allowed: Collection[str]) -> None:
        self.pace = Pace()
        self._allowed = allowed
        self._lookups = trio.CapacityLimiter(_LOOKUPS)
        self._idle: list[Connection] = []

    async def post(self, endpoint: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send once, and return the answer; it raises nothing but `trio.Cancelled`."""
        try:
            target = target_of(endpoint, self._allowed)
            with trio.fail_after(ANSWER_SECONDS):
                return await self._post(target, headers, body)
        except Refused:
            return Answer(0, PRIVATE)
        except BadRequest as error:  # It was taken when push.allowedHosts was another.
            return Answer(0, error.sentence.removesuffix("."))
        except trio.TooSlowError:
            return Answer(0, f"no answer within {ANSWER_SECONDS:g} seconds")
        except NotConnected as error:
            return Answer(0, f"no connection ({error})")
        except (trio.BrokenResourceError, h11.ProtocolError) as error:
            return Answer(0, f"the connection failed ({type(error).__name__})")

    async def _post(self, target: Target, headers: Mapping[str, str], body: bytes) -> Answer:
        connection = await self._kept(target) or await Connection.to(target, self._lookups)
        try:
            return await connection.post(target, headers, body, self.pace)
        finally:
            await self._give_back(connection)

    async def _kept(self, target: Target) -> Connection | None:
        """Take a connection to that service that is idle, if there is one."""
        while (found := self._next_idle(target.origin)) is not None:
            if found.is_reusable:
                break
            await found.close()
        return found

    def _next_idle(self, origin: Origin) -> Connection | None:
        for number in reversed(range(len(self._idle))):
            if self._idle[number].origin == origin:
                return self._idle.pop(number)
        return None

    async def _give_back(self, connection: Connection) -> None:
        """Keep a connection whose answer was read; the one that is idle for longest makes room."""
        if connection.is_reusable:
            self._idle.append(connection)
            if len(self._idle) <= AT_ONCE:
                return
            connection = self._idle.pop(0)
        await connection.close()

    async def close(self) -> None:
        """Close what is kept, also while that is cancelled."""
        with trio.CancelScope(shield=True):
            while self._idle:
                await self._idle.pop().close()


@asynccontextmanager
async def open_services(allowed: Collection[str]) -> AsyncIterator[Services]:
    """Offer the push services; the connections to them are closed in the end."""
    services = Services(allowed)
    try:
        yield services
    finally:
        await services.close()


async def _connected(target: Target, lookups: trio.CapacityLimiter) -> trio.SocketStream:
    try:
        addresses = await addresses_of(target, lookups)
    except OSError as error:
        raise NotConnected("the name can't be resolved") from error
    failed: BaseException | None = None
    for address in addresses:
        with trio.move_on_after(_CONNECT_SECONDS):
            try:
                return await trio.open_tcp_stream(address, target.port)
            except OSError as error:
                failed = error
    if failed is None:
        raise NotConnected("it takes too long")
    raise NotConnected(_said(failed)) from failed


async def _secured(socket: trio.SocketStream, host: str) -> trio.abc.Stream:
    """Return the connection under TLS, by which the service has shown that it is `host`."""
    try:
        with trio.fail_after(_CONNECT_SECONDS):
            # The certificates of the authorities take 40 ms to read, once.
            context = await trio.to_thread.run_sync(_tls)
            stream = trio.SSLStream(socket, context, server_hostname=host, https_compatible=True)
            await stream.do_handshake()
    except BaseException as error:
        await trio.aclose_forcefully(socket)
        if isinstance(error, trio.TooSlowError):
            raise NotConnected("TLS takes too long") from error
        if isinstance(error, (trio.BrokenResourceError, OSError, ValueError)):
            raise NotConnected(_said(error)) from error
        raise
    return stream


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _said(error: BaseException) -> str:
    """Return what went wrong, without what a certificate or a peer may have put into it."""
    while (cause := error.__cause__) is not None:
        error = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause
    return "its certificate" if "CERTIFICATE" in str(error).upper() else type(error).__name__
