"""A server whose database goes away and comes back: alive all the time, and ready in between not."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE
from tests.harness import running
from tests.postgres import Postgres


@pytest.mark.slow
async def test_a_server_is_not_ready_while_its_database_is_away(tmp_path: Path) -> None:
    own = Postgres()
    database = {"backend": "postgres", "url": own.url(), "connectSeconds": 1, "acquireSeconds": 1}
    try:
        async with running(tmp_path, storage=database) as server, server.client() as client:
            assert (await client.get("/ready")).text == "OK"
            await trio.to_thread.run_sync(own.stop)
            refusal = await _until(client, 503)
            assert refusal.json() == {"error": "The storage does not answer."}
            assert (await client.get("/health")).status_code == 200
            await trio.to_thread.run_sync(own.start)
            assert (await _until(client, 200)).text == "OK"
            assert await server.end() == 0
    finally:
        own.remove()


async def _until(client: httpx2.AsyncClient, status: int) -> httpx2.Response:
    with trio.fail_after(DEADLINE):
        while True:
            answer = await client.get("/ready")
            if answer.status_code == status:
                return answer
            assert answer.status_code in {200, 503}
            await trio.sleep(0.05)
