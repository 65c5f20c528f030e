"""Pages of 12 MiB that nobody reads, asked for by one user: the server's memory stays bounded (D-44).

Against a server in a process of its own, over real sockets. Without a budget it grew by 900 to 3,600 MiB.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks import unread
from benchmarks.unread import CHARACTERS, EMOJI, MESSAGES, Page
from teamchat.testing import ADMIN, DEADLINE, Server
from tests.harness import running
from tests.test_tls import certificate

MIB = 1024 * 1024
MOST_GROWN = 150 * MIB
SECONDS = 6.0

pytestmark = [pytest.mark.slow, pytest.mark.alone]


class World:
    """A server, a user's page of 12 MiB, and a page of somebody else's."""

    def __init__(self, server: Server, tls: ssl.SSLContext | None) -> None:
        self.server = server
        self.tls = tls

    async def prepare(self) -> None:
        eve, ada = [await self._sign_in(email) for email in ("eve@example.org", ADMIN)]
        async with self._client(ada) as client:
            [channel] = (await client.get("/channels")).json()["channels"]
            quiet = (await client.post("/channels", json={"name": "quiet"})).json()["channel"]
            await client.post(f"/channels/{quiet['id']}/messages", json={"content": "hello"})
        path = f"/channels/{channel['id']}/messages"
        async with self._client(eve) as client:
            for _ in range(MESSAGES):
                posted = await client.post(path, json={"content": EMOJI * CHARACTERS})
                assert posted.status_code == 200
        port = int(self.server.base.rpartition(":")[2])
        self.last = posted.json()["message"]["id"]
        self.page = Page(port, eve, f"{path}?limit={MESSAGES}", self.tls)
        self.other = Page(port, ada, f"/channels/{quiet['id']}/messages", self.tls)

    async def ask(self) -> None:
        assert await unread.read(self.other) == 200

    async def _sign_in(self, email: str) -> str:
        async with self._client() as client:
            return str((await client.post("/auth/dev-login", json={"email": email})).json()["token"])

    def _client(self, token: str = "") -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.AsyncClient(
            base_url=self.server.base, headers=headers, timeout=DEADLINE, trust_env=False, verify=False
        )


@asynccontextmanager
async def world(directory: Path, **server: Any) -> AsyncIterator[World]:
    tls = None
    if "tls" in server:
        tls = ssl.create_default_context(cafile=server["tls"]["certificate"])
    async with running(directory, server=server) as started:
        made = World(started, tls)
        await made.prepare()
        await made.ask()
        yield made


async def check(made: World, attack: Callable[[Page], Any], page: Page | None = None) -> None:
    """See how the server bears an attack, and whether the page can be read whole while it lasts."""
    effect = await unread.watch(
        made.server.process.pid, made.ask, partial(attack, page or made.page), SECONDS
    )
    assert effect.grown < MOST_GROWN, f"grown by {effect.grown / MIB:.0f} MiB"
    assert effect.seconds, "somebody else is answered meanwhile"


@pytest.mark.parametrize("http1", ["native", "hypercorn"])
async def test_connections_that_read_nothing_or_little_hold_no_pages(tmp_path: Path, http1: str) -> None:
    async with world(tmp_path, http1=http1) as made:
        await check(made, unread.not_reading)
        older = replace(made.page, path=f"{made.page.path}&before={made.last}")  # Each answer is its own.
        await check(made, unread.not_reading, older)
        await check(made, unread.reading_slowly)
        assert await unread.read(replace(made.other, path=made.page.path)) == 200


async def test_streams_of_http_2_without_windows_hold_no_pages(tmp_path: Path) -> None:
    tls = certificate(tmp_path)
    async with world(tmp_path, tls={"certificate": tls.certificate, "key": tls.key}) as made:
        await check(made, unread.without_windows)
        assert await unread.read(replace(made.other, path=made.page.path)) == 200
