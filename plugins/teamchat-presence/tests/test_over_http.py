"""Presence and typing on real servers: in one process, and between two nodes (extension I)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE, Events, Server, listening, running
from tests.storages import storage_section

ASKS = ["presence", "typing"]


@asynccontextmanager
async def opened(client: httpx2.AsyncClient) -> AsyncIterator[tuple[Events, str]]:
    """Open a stream, and yield it with its connectionId."""
    async with listening(client, ephemeral=ASKS) as stream:
        yield stream, stream.connection_id


async def show(client: httpx2.AsyncClient, stream: str, **shown: Any) -> int:
    return (await client.put(f"/events/{stream}", json=shown)).status_code


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    with trio.fail_after(DEADLINE):
        while not await condition():  # noqa: ASYNC110
            await trio.sleep(0.1)


async def status(client: httpx2.AsyncClient, user: str) -> str:
    answer = await client.get("/presence", params={"userIds": user})
    return str(answer.json()["presence"][0]["status"])


async def me(client: httpx2.AsyncClient) -> str:
    return str((await client.get("/me")).json()["user"]["id"])


async def play(here: Server, there: Server) -> None:
    """Let Ada, at one server, be seen and type; Bob looks from the other."""
    async with await here.sign_in() as ada, await there.sign_in("bob@example.org") as bob:
        [channel] = (await ada.get("/channels")).json()["channels"]
        place, ada_id = channel["id"], await me(ada)
        async with opened(ada) as (_, of_ada), opened(bob) as (hears, of_bob):
            assert await show(bob, of_bob, watch=[place], presenceOf=[ada_id]) == 204
            assert await show(ada, of_bob, isActive=True) == 404
            assert await show(ada, of_ada, isActive=True) == 204

            async def is_online() -> bool:
                return await status(bob, ada_id) == "online"

            await until(is_online)
            told = await hears.until("PRESENCE_UPDATE")
            assert told == {"userId": ada_id, "status": "online"}
            with trio.fail_after(DEADLINE):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(type_on, ada, place)
                    told = await hears.until("TYPING")
                    nursery.cancel_scope.cancel()
            assert told.keys() == {"placeId", "threadId", "userId", "until"}
            assert told["userId"] == ada_id
        assert (await ada.post(f"/places/{'0' * 32}/typing", json={"isTyping": True})).status_code == 404


async def type_on(client: httpx2.AsyncClient, place: str) -> None:
    """Type until cancelled: one may be lost."""
    while True:
        answer = await client.post(f"/places/{place}/typing", json={"isTyping": True})
        assert answer.status_code == 204
        await trio.sleep(0.5)


@pytest.mark.slow
async def test_who_is_there_and_types_is_told_within_a_server(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    async with running(tmp_path, storage=storage_section(tmp_path / "data")) as server:
        await play(server, server)


@pytest.mark.slow
async def test_who_is_there_and_types_is_told_from_node_to_node(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    storage = storage_section(tmp_path / "data")
    async with (
        running(tmp_path / "a", storage=storage) as one,
        running(tmp_path / "b", storage=storage) as other,
    ):
        await play(one, other)
