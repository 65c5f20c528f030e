"""A capability's signals on real servers: in one process, between workers, and between nodes (X-8)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE, Server, listening, running
from tests.storages import storage_section

ROOT = Path(__file__).parents[2]


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the servers find the plugin, as if it were installed."""
    information = tmp_path / "found" / "acme_typing-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-typing\nVersion: 1.0\n")
    offered = "[teamchat]\nacme_typing = tests.capabilities.typing_plugin\n"
    (information / "entry_points.txt").write_text(offered)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'found'}:{ROOT}")


pytestmark = pytest.mark.usefixtures("_installed")


@asynccontextmanager
async def serving(directory: Path, **server: Any) -> AsyncIterator[Server]:
    """Run a server on the storage that belongs to a directory."""
    (directory / "data").mkdir(parents=True, exist_ok=True)
    address = {"host": "127.0.0.1", "port": 0}
    async with running(
        directory, storage=storage_section(directory / "data"), server=address | server
    ) as one:
        yield one


async def typed(client: httpx2.AsyncClient, channel: str) -> None:
    assert (await client.post(f"/channels/{channel}/typed")).json() == {"success": True}


@pytest.mark.slow
async def test_it_reaches_who_asks_and_stands_in_no_log(tmp_path: Path) -> None:
    async with (
        serving(tmp_path) as server,
        await server.sign_in() as ada,
        await server.sign_in("bob@example.org") as bob,
    ):
        [channel] = (await ada.get("/channels")).json()["channels"]
        async with (
            listening(bob, last_event_id="", ephemeral=["weather", "acme-typing"]) as asks,
            listening(bob, last_event_id="") as other,
        ):
            await typed(ada, channel["id"])
            heard = await asks.next()
            assert heard["type"] == "org.example.typing.typed"
            assert heard["payload"]["channelId"] == channel["id"]
            await ada.post(f"/channels/{channel['id']}/messages", json={"content": "hello"})
            assert (await other.next())["type"] == "NEW_MESSAGE"
            assert (await asks.next())["type"] == "NEW_MESSAGE"
            assert asks.last_id == other.last_id
        stranger = await ada.post(f"/channels/{'0' * 32}/typed")
        assert stranger.status_code == 404


async def heard_by_all(servers: list[Server], streams: int) -> None:
    """Type, with many streams open at all servers, until each has heard it."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(await one.sign_in()) for one in servers]
        [channel] = (await clients[0].get("/channels")).json()["channels"]
        opened = [
            await stack.enter_async_context(listening(client, ephemeral=["acme-typing"]))
            for client in clients
            for _ in range(streams)
        ]
        waiting = set(range(len(opened)))

        async def hear(number: int) -> None:
            await opened[number].until("org.example.typing.typed")
            waiting.discard(number)

        with trio.fail_after(DEADLINE):
            async with trio.open_nursery() as nursery:
                for number in range(len(opened)):
                    nursery.start_soon(hear, number)
                while waiting:  # One may be lost; somebody who types goes on.
                    await typed(clients[0], channel["id"])
                    await trio.sleep(0.1)


@pytest.mark.slow
async def test_it_goes_from_worker_to_worker(tmp_path: Path) -> None:
    async with serving(tmp_path, workers=2) as server:
        await heard_by_all([server], 12)


@pytest.mark.slow
async def test_it_goes_from_node_to_node(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    storage = storage_section(tmp_path / "data")
    async with (
        running(tmp_path / "a", storage=storage) as one,
        running(tmp_path / "b", storage=storage) as other,
    ):
        await heard_by_all([one, other], 2)
