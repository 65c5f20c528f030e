"""One of two servers behind a proxy is killed under load, and nobody loses or sees anything twice.

The size is for every day; ``TEAMCHAT_FAILOVER="clients,posters,posts_each,kills"`` chooses another, such as
``200,20,200,6``: each kill takes one of the two in turn, which comes back before the next.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE
from tests.harness import free_port
from tests.test_resume import Installation, Reader, all_messages
from tests.two_servers.nodes import Node, begin, settings_of, storage_of
from tests.two_servers.proxy import Proxy, proxied
from tests.two_servers.test_chat import channel_of


class Size(NamedTuple):
    clients: int = 24
    posters: int = 6
    posts_each: int = 40
    kills: int = 2


SIZE = Size(
    *map(int, os.environ["TEAMCHAT_FAILOVER"].split(",")) if "TEAMCHAT_FAILOVER" in os.environ else ()
)


@dataclass
class Front:
    """What clients know: the proxy's port, and that somebody is there."""

    port: int

    async def up(self) -> None:
        await trio.lowlevel.checkpoint()

    def client(self, token: str) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": "10.255.0.1"}
        return httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=DEADLINE)


class Poster:
    """Posts one message after another, and repeats what got no answer, under the same key."""

    def __init__(self, front: Front, token: str, name: str, path: str) -> None:
        self._client = front.client(token)
        self._name = name
        self._path = path
        self.ids: list[str] = []
        self.repeated = 0

    async def run(self) -> None:
        async with self._client:
            for number in range(SIZE.posts_each):
                self.ids.append(await self._post(f"{self._name} {number}"))

    async def _post(self, content: str) -> str:
        while True:
            try:
                answer = await self._client.post(
                    self._path, json={"content": content}, headers={"Idempotency-Key": content}
                )
            except httpx2.TransportError:
                self.repeated += 1
                continue
            if answer.status_code == 200:
                return str(answer.json()["message"]["id"])
            assert answer.status_code == 503, answer.text
            self.repeated += 1


@pytest.mark.slow
async def test_d34_a_server_killed_behind_a_proxy_loses_nobody_anything(
    storage_kind: str, tmp_path: Path
) -> None:
    storage = storage_of(storage_kind, tmp_path)
    settings = [
        settings_of(
            storage,
            auth={"maxActiveSessions": 50},
            server={"port": free_port(), "rateLimit": None},
            events={"maxStreamsPerUser": 1000},
        )
        for _ in range(2)
    ]
    nodes = [begin(tmp_path / str(number), one) for number, one in enumerate(settings)]
    try:
        with trio.fail_after(10 * DEADLINE + SIZE.posters * SIZE.posts_each / 10):
            async with proxied([node.base for node in nodes]) as proxy, trio.open_nursery() as nursery:
                await _storm(proxy, nodes, settings, tmp_path, nursery)
                nursery.cancel_scope.cancel()
        assert min(proxy.taken) > 0
    finally:
        for node in nodes:
            node.kill()


async def _storm(
    proxy: Proxy, nodes: list[Node], settings: list[Any], directory: Path, nursery: trio.Nursery
) -> None:
    front = Front(proxy.port)
    async with nodes[0].client() as client:
        token = (await client.post("/auth/dev-login", json={"email": "admin@localhost"})).json()["token"]
    admin = nodes[0].client(token)
    path = f"{await channel_of(admin)}/messages"
    readers = [Reader(cast(Installation, front), token) for _ in range(SIZE.clients)]
    for reader in readers:
        await nursery.start(reader.run)
    posters = [Poster(front, token, f"poster {number}", path) for number in range(SIZE.posters)]
    async with trio.open_nursery() as posting:
        for poster in posters:
            posting.start_soon(poster.run)
        for kill in range(SIZE.kills):
            await _until_posted(posters, (kill + 1) / (SIZE.kills + 1))
            number = kill % 2
            nodes[number].kill()
            again = await trio.to_thread.run_sync(begin, directory / str(number), settings[number])
            nodes[number] = again
    async with front.client(token) as client:
        last = (await client.post(path, json={"content": "the last"})).json()["message"]["id"]
    with trio.fail_after(DEADLINE):
        for reader in readers:
            await reader.until(last)
    async with nodes[0].client(token) as a, nodes[1].client(token) as b:
        stored = await all_messages(a, path)
        assert await all_messages(b, path) == stored
    # What was acknowledged is stored, once; and everybody saw it, once and in order.
    acknowledged = [message for poster in posters for message in poster.ids]
    assert sorted([*acknowledged, last]) == sorted(stored)
    for reader in readers:
        assert reader.ids == sorted(set(reader.ids))
        told = [one["payload"]["id"] for one in reader.events if one["type"] == "NEW_MESSAGE"]
        assert sorted(told) == stored
        # Two servers may make ids in one millisecond, and those stand on a page in either order.
        moments = [message_id[:12] for message_id in told]
        assert moments == sorted(moments)
    assert sum(poster.repeated for poster in posters) > 0
    assert sum(reader.connections for reader in readers) > len(readers)


async def _until_posted(posters: list[Poster], share: float) -> None:
    with trio.fail_after(5 * DEADLINE):
        while sum(len(poster.ids) for poster in posters) < share * SIZE.posters * SIZE.posts_each:  # noqa: ASYNC110
            await trio.sleep(0.01)
