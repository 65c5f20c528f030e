"""The sockets the server listens on: bound once; errors name the configuration key.

They are bound before anything else is done that can't be done twice. Whoever holds them last closes them, so
that nobody waits in the queue of a server that has stopped.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import trio

from teamchat.errors import SettingsError

if TYPE_CHECKING:
    from teamchat.settings import ServerSettings


@asynccontextmanager
async def listening(server: ServerSettings) -> AsyncIterator[Sequence[trio.SocketListener]]:
    """Yield sockets that listen on the configured address. Raises `SettingsError` naming the key."""
    try:
        listeners = await trio.open_tcp_listeners(server.port, host=server.host)
    except OSError as error:
        raise _cannot_listen(server, error) from error
    if not server.port:  # A free port is free on one address; a second one would get another port.
        for unused in listeners[1:]:
            await unused.aclose()
        del listeners[1:]
    with _closing(listeners):
        yield listeners


@contextmanager
def inherited(descriptors: Iterable[int]) -> Iterator[Sequence[trio.SocketListener]]:
    """Yield the listening sockets that the process was given by the one that started it."""
    sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(one)) for one in sockets]
    with _closing(listeners):
        yield listeners


def port_of(listeners: Sequence[trio.SocketListener]) -> int:
    """Return the port they listen on."""
    return int(listeners[0].socket.getsockname()[1])


def address(server: ServerSettings, port: int) -> str:
    """Return the URL under which the server can be reached on this machine."""
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"{'http' if server.tls is None else 'https'}://{host}:{port}"


@contextmanager
def _closing(listeners: Sequence[trio.SocketListener]) -> Iterator[None]:
    try:
        yield
    finally:
        for listener in listeners:
            listener.socket.close()


def _cannot_listen(server: ServerSettings, error: OSError) -> SettingsError:
    if error.errno == errno.EADDRINUSE:
        return SettingsError(
            f"server.port: another program already listens on {server.host} port {server.port}, perhaps a "
            f"teamchat that still runs; ss -ltnp 'sport = :{server.port}' shows it. "
            "End it, or choose another port with server.port or --port."
        )
    if error.errno == errno.EACCES:
        return SettingsError(
            f"server.port: this user may not listen on port {server.port}. Choose one above 1023."
        )
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return SettingsError(f"server.host: {server.host!r} is no address of this machine.")
    return SettingsError(f"server.host, server.port: can't listen there ({error.strerror}).")
