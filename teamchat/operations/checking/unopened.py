"""Stand-ins for the storage and the mailer, while plugins are asked for their offers and no server starts.

A hook may keep them, and their methods, for later, as it does in a server. Code that really uses them is told
that they are not open.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from teamchat.errors import StorageError
from teamchat.events import LoggedEvent
from teamchat.interfaces import Mail, Transaction

_WHY = "is not open while plugins are checked: a hook does no work, it only returns what does"


class UnopenedStorage:
    """A `teamchat.Storage` that raises `StorageError` when it is used."""

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        raise _unopened()
        yield

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Transaction]:
        raise _unopened()
        yield

    async def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:  # noqa: ARG002
        raise _unopened()
        yield

    async def log_bounds(self) -> tuple[int, int]:
        raise _unopened()

    async def position(self) -> int:
        raise _unopened()


class UnopenedMailer:
    """A `teamchat.Mailer` that sends nothing."""

    async def send(self, mail: Mail) -> None:  # noqa: ARG002
        raise RuntimeError(f"The mailer {_WHY}.")


def _unopened() -> StorageError:
    return StorageError(f"The storage {_WHY}.")
