"""Datagrams between the processes that have one database open, by sockets in a directory beside it.

Each listening process has a socket there (AF_UNIX), which only the owner of the directory can reach. What
does not fit into another's socket is dropped after a moment, and a socket that nobody reads is removed.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

import trio

_MOST_PATH = 100  # bytes that the address of a socket may have everywhere
_TRIES = 10
_PAUSE_SECONDS = 0.005
_MOST_BYTES = 64 * 1024


class Datagrams:
    """This process's sockets. `directory` is made when somebody listens first."""

    def __init__(self, directory: Path) -> None:
        self._directory = str(directory)
        self._name = secrets.token_hex(8)

    async def send(self, text: str) -> None:
        """Send to all others who listen. Raises an `OSError` if there is no sending at all."""
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:  # Nobody has ever listened.
            return
        sending = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with sending, _Directory(self._directory) as place:
            sending.setblocking(False)
            for name in names:
                if name != self._name:
                    await _send(sending, place, name, text.encode())

    async def received(self) -> AsyncGenerator[str, None]:
        """Yield what is received. Raises an `OSError` if there is no listening here."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        with trio.socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
            with _Directory(self._directory) as place:
                await listening.bind(place.address_of(self._name))
            try:
                while True:
                    data = await listening.recv(_MOST_BYTES)
                    yield data.decode(errors="replace")
            finally:
                with suppress(OSError):
                    os.unlink(os.path.join(self._directory, self._name))


class _Directory:
    """An open directory: what is in it can be named however long its own name is, at least on Linux."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> _Directory:
        self._descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def address_of(self, name: str) -> str:
        """Return the address of the socket of that name."""
        path = os.path.join(self._path, name)
        return path if len(os.fsencode(path)) < _MOST_PATH else f"/proc/self/fd/{self._descriptor}/{name}"

    def remove(self, name: str) -> None:
        """Remove a socket that nobody reads."""
        with suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)


async def _send(sending: socket.socket, place: _Directory, name: str, data: bytes) -> None:
    """Send to one socket; its process may have died, or be busy for longer than signals are wanted."""
    for _ in range(_TRIES):
        try:
            sending.sendto(data, place.address_of(name))
        except BlockingIOError:
            await trio.sleep(_PAUSE_SECONDS)
        except ConnectionRefusedError:
            return place.remove(name)
        except FileNotFoundError:
            return None
        else:
            return None
    return None
