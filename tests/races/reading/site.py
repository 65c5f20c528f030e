"""A server of two workers that is asked over HTTP, and its log, read from the database beside it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from teamchat.chat.retention import Retention
from teamchat.events import Audience
from teamchat.interfaces import Storage
from teamchat.storage.log import logged_in
from teamchat.testing import ADMIN, DEADLINE
from tests.races.reading.faults import install
from tests.races.reading.judge import Happened
from tests.storages import open_storage
from tests.workers.several import several

BUSY = 503
_PORTION = 10_000


@dataclass(frozen=True)
class User:
    """Somebody who is signed in."""

    id: str
    name: str
    token: str


class Site:
    """The server. `tick` counts what was asked and answered, so that one can tell what was before what."""

    def __init__(self, base: str, client: httpx2.AsyncClient, storage: Storage) -> None:
        self.host, _, port = base.removeprefix("http://").partition(":")
        self.port = int(port)
        self.client, self._storage = client, storage
        self._ticks = 0

    def tick(self) -> int:
        """Return a number that is greater than all before."""
        self._ticks += 1
        return self._ticks

    async def ask(self, user: User, method: str, path: str, body: Any = None) -> httpx2.Response:
        """Ask as a user, at whichever worker; again where it was too busy to do anything."""
        headers = {"Authorization": f"Bearer {user.token}"}
        answer = await self.client.request(method, path, json=body, headers=headers)
        while answer.status_code == BUSY:
            answer = await self.client.request(method, path, json=body, headers=headers)
        assert answer.status_code < 500, f"{method} {path}: {answer.text}"
        return answer

    async def ok(self, user: User, method: str, path: str, body: Any = None) -> Any:
        """Ask for what must be granted; return what was answered."""
        answer = await self.ask(user, method, path, body)
        assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def sign_in(self, email: str) -> User:
        """Sign somebody in who was never here before, or was."""
        answer = await self.client.post("/auth/dev-login", json={"email": email})
        assert answer.status_code == 200, answer.text
        told = answer.json()
        return User(told["user"]["id"], told["user"]["userName"], told["token"])

    async def sweep(self, seconds: float) -> None:
        """Have retention remove what is older, from a process of its own beside the workers."""
        retention = Retention(self._storage, 0)
        retention._kept_ms = int(seconds * 1000)
        await retention.sweep()

    async def last(self) -> int:
        """Return the number of the newest event."""
        return (await self._storage.log_bounds())[1]

    async def log(self, after: int) -> Sequence[Happened]:
        """Return what has happened after an event."""
        async with self._storage.read() as tx:
            events = await logged_in(tx, after, _PORTION)
        assert len(events) < _PORTION
        return [Happened(one.seq, one.type, json.loads(one.payload), _only(one.audience)) for one in events]


def _only(audience: Audience) -> str:
    return audience[0] if isinstance(audience, tuple) and len(audience) == 1 else ""


@asynccontextmanager
async def open_site(
    directory: Path, fault: Callable[[], None] | None = None
) -> AsyncIterator[tuple[Site, User]]:
    """Start the server, broken if a fault is given; yield it, and its first admin."""
    sections: dict[str, dict[str, Any]] = {
        "server": {
            "host": "127.0.0.1",
            "port": 0,
            "workers": 2,
            "rateLimit": {"attempts": 1_000_000, "windowSeconds": 3600},
        },
        # Of many games' people the first channel has more than may be mentioned at once by default (E-5).
        "chat": {"wideLimit": 100_000},
    }
    directory.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
    if fault is not None:
        install(fault, directory)
    async with (
        several(directory, **sections) as server,
        open_storage(directory / "data") as storage,
        httpx2.AsyncClient(base_url=server.base, timeout=DEADLINE, trust_env=False) as client,
    ):
        site = Site(server.base, client, storage)
        yield site, await site.sign_in(ADMIN)
