"""Two teamchat servers, in processes of their own, on one database."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from teamchat.testing import listening
from tests.harness import running
from tests.postgres import Postgres

SECRET = "a secret of the tests that is long enough for the signature"


async def test_what_is_posted_at_one_server_arrives_at_the_other(
    tmp_path: Path, server: Postgres, database: str
) -> None:
    settings = {
        "storage": {"backend": "postgres", "url": server.url(database)},
        "auth": {"jwtSecret": SECRET},
    }
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    async with running(tmp_path / "one", **settings) as one, running(tmp_path / "other", **settings) as other:
        async with await one.sign_in() as here, other.client(token_of(here)) as there:
            [channel] = (await there.get("/channels")).json()["channels"]
            async with listening(there) as events:
                posted = await here.post(f"/channels/{channel['id']}/messages", json={"content": "hello"})
                assert posted.status_code == 200, posted.text
                page = await there.get(f"/channels/{channel['id']}/messages")
                assert [message["content"] for message in page.json()["messages"]] == ["hello"]
                assert (await events.until("NEW_MESSAGE"))["content"] == "hello"
            assert (await here.post("/auth/logout")).status_code in {200, 204}
            assert (await there.get("/channels")).status_code == 401
        assert await one.end() == 0
        assert await other.end() == 0


@pytest.mark.slow
async def test_a_server_outlives_its_database(tmp_path: Path) -> None:
    own = Postgres()
    database = {"backend": "postgres", "url": own.url(), "connectSeconds": 1}
    try:
        async with running(tmp_path, storage=database) as server, await server.sign_in() as client:
            [channel] = (await client.get("/channels")).json()["channels"]
            address = f"/channels/{channel['id']}/messages"
            async with listening(client) as events:
                await trio.to_thread.run_sync(own.stop)
                for answer in (
                    await client.post(address, json={"content": "lost"}),
                    await client.get(address),
                ):
                    assert answer.status_code == 503, answer.text
                    assert "Nothing was changed" in answer.json()["error"]
                await trio.to_thread.run_sync(own.start)
                assert (await client.post(address, json={"content": "kept"})).status_code == 200
                assert (await events.until("NEW_MESSAGE"))["content"] == "kept"
            messages = (await client.get(address)).json()["messages"]
            assert [message["content"] for message in messages] == ["kept"]
            assert await server.end() == 0
    finally:
        own.remove()


def token_of(client) -> str:
    return client.headers["Authorization"].removeprefix("Bearer ")
