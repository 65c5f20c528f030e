"""Who is there, and who types, is told whichever worker somebody is at (extension I)."""

from __future__ import annotations

import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from teamchat.testing import ADMIN, Events, listening
from tests import presence_scenes as scenes
from tests.presence_scenes import ASKS
from tests.workers.several import Several, several
from tests.workers.test_workers import storage, token_of

__all__ = ["storage"]
ADA, BOB, CLEO = "ada@example.org", "bob@example.org", "cleo@example.org"


class At:
    """Clients and streams at a worker of one's choice, for as long as the stack lasts."""

    def __init__(self, stack: AsyncExitStack, server: Several) -> None:
        self._stack, self._server = stack, server

    async def client(self, worker: int, signed_in: httpx2.AsyncClient) -> httpx2.AsyncClient:
        return await self._stack.enter_async_context(self._server.client_at(worker, token_of(signed_in)))

    async def stream(self, worker: int, client: httpx2.AsyncClient) -> Events:
        with self._server.only(worker):
            return await self._stack.enter_async_context(listening(client, ephemeral=ASKS))


@pytest.mark.slow
async def test_i2_who_comes_hides_and_is_shut_out_at_one_worker_is_shown_so_at_all(
    tmp_path: Path, storage: dict[str, Any]
) -> None:
    async with several(tmp_path, storage=storage) as server, AsyncExitStack() as stack:
        one, other = server.workers()
        at = At(stack, server)
        admin, ada, bob = [
            await stack.enter_async_context(await server.sign_in(email)) for email in (ADMIN, ADA, BOB)
        ]
        lookers = [await at.client(other, ada), await at.client(one, ada)]
        told, of_bob = await at.stream(other, ada), await at.stream(one, bob)
        here, elsewhere = await at.client(one, bob), await at.client(other, bob)
        user = await scenes.comes_and_hides(lookers, told, here, elsewhere, of_bob)
        await scenes.is_shut_out(admin, lookers, told, user)


@pytest.mark.slow
async def test_i3_typing_at_one_worker_is_told_to_who_watches_and_sees_the_place_at_another(
    tmp_path: Path, storage: dict[str, Any]
) -> None:
    async with several(tmp_path, storage=storage) as server, AsyncExitStack() as stack:
        one, other = server.workers()
        at = At(stack, server)
        people = [await stack.enter_async_context(await server.sign_in(email)) for email in (ADA, BOB, CLEO)]
        here = [await at.client(one, person) for person in people]
        streams = [await at.stream(other, person) for person in people]
        await scenes.types(*here, dict(zip(("ada", "bob", "cleo"), streams, strict=True)))


@pytest.mark.slow
async def test_who_was_at_a_worker_that_is_killed_and_comes_back_at_another_was_never_gone(
    tmp_path: Path, storage: dict[str, Any]
) -> None:
    async with several(tmp_path, storage=storage) as server, AsyncExitStack() as stack:
        one, other = server.workers()
        at = At(stack, server)
        ada, bob = [await stack.enter_async_context(await server.sign_in(email)) for email in (ADA, BOB)]
        looker, user = await at.client(other, ada), await scenes.own_id(bob)
        of_bob = await at.stream(one, bob)
        await scenes.is_active(await at.client(one, bob), of_bob, [looker], user)
        os.kill(one, signal.SIGKILL)
        await server.replaced(one, {other})
        assert (await scenes.shown(looker, user))["status"] == "online"
        back = await at.stream(other, bob)
        assert await scenes.show(await at.client(other, bob), back, isActive=True) == 204
        assert (await scenes.shown(looker, user))["status"] == "online"
