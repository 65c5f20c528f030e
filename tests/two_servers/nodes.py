"""Servers on one database, in processes of their own, that live longer than one test."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from teamchat.interfaces import Storage
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from teamchat.testing import ADMIN, DEADLINE, PASSWORD
from tests import forks
from tests.storages import ON_SQLITE

REQUESTS = 200
"""``server.rateLimit.attempts`` of every node; each client has an address of its own."""

_numbers = itertools.count(1)
_clients: list[httpx2.AsyncClient] = []


async def close_clients() -> None:
    """Close every client that was made."""
    while _clients:
        await _clients.pop().aclose()


def fresh_address() -> str:
    """Return a client address that nobody has had yet."""
    number = next(_numbers)
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def fresh_email() -> str:
    return f"somebody{next(_numbers)}@example.org"


class NotStarted(Exception):
    """The server ended before it was ready, and said this."""


@dataclass
class Node:
    """A running server. `log` is the file with what it wrote to stderr."""

    base: str
    process: subprocess.Popen[str]
    log: Path

    def client(self, token: str = "", address: str = "") -> httpx2.AsyncClient:
        """Return a client, which has an address of its own unless it is given one."""
        headers = {"X-Forwarded-For": address or fresh_address()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        made = httpx2.AsyncClient(base_url=self.base, headers=headers, timeout=DEADLINE)
        _clients.append(made)
        return made

    def end(self) -> int:
        """Send SIGTERM and return the exit status."""
        self.process.terminate()
        return self._gone()

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self._gone()

    def _gone(self) -> int:
        status = self.process.wait(DEADLINE)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status


@dataclass
class Pair:
    """Two servers that are to be as one. `directory` is what they share."""

    a: Node
    b: Node
    directory: Path
    storage: dict[str, Any]

    def opened(self) -> AbstractAsyncContextManager[Storage]:
        """Open the storage in this process too."""
        if self.storage["backend"] == "sqlite":
            return open_sqlite(SqliteOptions(path=self.storage["path"]))
        from teamchat_storage_postgres import PostgresOptions
        from teamchat_storage_postgres.storage import open_postgres

        return open_postgres(PostgresOptions(url=self.storage["url"]))

    @property
    def mails(self) -> Path:
        return self.directory / "mails"

    async def signed_in(self, email: str = ADMIN) -> tuple[httpx2.AsyncClient, httpx2.AsyncClient]:
        """Sign in by dev-login at A, and return a client of A and one of B with that token."""
        async with self.a.client() as client:
            answer = await client.post("/auth/dev-login", json={"email": email})
        assert answer.status_code == 200, answer.text
        token = answer.json()["token"]
        return self.a.client(token), self.b.client(token)


def storage_of(kind: str, directory: Path) -> dict[str, Any]:
    """Return the section ``[storage]`` of a database that is new and empty."""
    section = {"backend": kind, "path": str(directory / "data")}
    if kind == "sqlite":
        if not ON_SQLITE:
            pytest.skip("the tests are to run on another storage")
        return section
    from tests.postgres import shared

    return section | {"url": shared().url(shared().new_database())}


def settings_of(storage: dict[str, Any], **sections: dict[str, Any]) -> dict[str, dict[str, Any]]:
    settings: dict[str, dict[str, Any]] = {
        "auth": {"authMode": "dev", "isInviteRequired": False, "maxActiveSessions": 3},
        "chat": {"initialUser": {"userName": "Ada", "email": ADMIN, "password": PASSWORD}},
        "server": {
            "host": "127.0.0.1",
            "port": 0,
            "trustedProxies": ["127.0.0.1"],
            "rateLimit": {"attempts": REQUESTS, "windowSeconds": 3600},
        },
        "events": {"maxStreamsPerUser": 3},
        "storage": storage,
    }
    for name, keys in sections.items():
        settings[name] = settings.get(name, {}) | keys
    return settings


def begin(directory: Path, settings: dict[str, dict[str, Any]]) -> Node:
    """Start a server and wait until it is ready."""
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / f"teamchat-{next(_numbers)}.json"
    config.write_text(json.dumps(settings))
    log = config.with_suffix(".log")
    with log.open("w") as stderr:
        process = forks.serve(config, stderr, os.environ)
    assert process.stdout is not None
    for line in process.stdout:
        if "ready on " in line:
            return Node(line.rpartition("ready on ")[2].strip().rstrip("/"), process, log)
    process.wait(DEADLINE)
    process.stdout.close()
    raise NotStarted(log.read_text())


@contextmanager
def begun(directory: Path, settings: dict[str, dict[str, Any]]) -> Iterator[Node]:
    """Run a server; what it is not told to end before is killed."""
    node = begin(directory, settings)
    try:
        yield node
    finally:
        node.kill()


@contextmanager
def pair(kind: str, directory: Path, **sections: dict[str, Any]) -> Iterator[Pair]:
    """Run two servers on one new database."""
    storage = storage_of(kind, directory)
    settings = settings_of(storage, **sections)
    with begun(directory / "a", settings) as a, begun(directory / "b", settings) as b:
        yield Pair(a, b, directory, storage)
