"""The main job on a real server: people talk, and see each other's messages arrive live."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
import trio

from teamchat.testing import listening
from tests.harness import running
from tests.storages import ON_SQLITE, look


@pytest.mark.slow
async def test_two_people_talk_in_a_channel_a_thread_and_a_conversation(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        ada, grace = await server.sign_in(), await server.sign_in("grace@example.org")
        async with ada, grace, listening(ada) as to_ada, listening(grace) as to_grace:
            grace_id = (await grace.get("/auth/me")).json()["user"]["id"]
            channel = (await ada.post("/channels", json={"name": "Saturday"})).json()["channel"]
            assert (await to_grace.until("NEW_CHANNEL"))["id"] == channel["id"]

            path = f"/channels/{channel['id']}/messages"
            posted = (await ada.post(path, json={"content": "hello"})).json()["message"]
            assert (await to_grace.until("NEW_MESSAGE"))["content"] == "hello"

            reply = (await grace.post(f"/messages/{posted['id']}/thread", json={"content": "hi"})).json()
            arrived = await to_ada.until("NEW_THREAD_REPLY")
            assert arrived["reply"]["content"] == "hi"
            assert arrived["threadMeta"] == reply["threadMeta"]

            opened = (await ada.post("/conversations", json={"targetUserId": grace_id})).json()
            assert opened["isNew"]
            conversation = opened["conversation"]["id"]
            assert (await to_grace.until("NEW_CONVERSATION"))["id"] == conversation
            await ada.post(f"/conversations/{conversation}/messages", json={"content": "between us"})
            assert (await to_grace.until("NEW_DM_MESSAGE"))["content"] == "between us"

            page = (await grace.get(path)).json()["messages"]
            assert [message["content"] for message in page] == ["hello"]
            assert page[0]["threadMeta"]["replyCount"] == 1
        assert await server.end() == 0


@pytest.mark.slow
async def test_a_stream_resumes_over_a_restart_without_a_gap(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        async with await server.sign_in() as ada, listening(ada, last_event_id="") as events:
            channel = (await ada.post("/channels", json={"name": "log"})).json()["channel"]["id"]
            await events.until("NEW_CHANNEL")
            seen = events.last_id
            for number in range(5):
                await ada.post(f"/channels/{channel}/messages", json={"content": str(number)})
        assert await server.end() == 0
    async with (
        running(tmp_path) as server,
        await server.sign_in() as ada,
        listening(ada, last_event_id=seen) as events,
    ):
        contents = [(await events.until("NEW_MESSAGE"))["content"] for _ in range(5)]
    assert contents == ["0", "1", "2", "3", "4"]


async def test_every_acknowledged_message_survives_kill_9_once(tmp_path: Path) -> None:
    acknowledged: list[str] = []

    async def post(client: httpx2.AsyncClient, path: str, writer: int) -> None:
        try:
            for number in range(10_000):
                answer = await client.post(path, json={"content": f"{writer}-{number}"})
                assert answer.status_code == 200
                acknowledged.append(answer.json()["message"]["id"])
        except httpx2.TransportError:
            pass  # the server is gone; what was not answered may or may not be there

    async def kill(process: trio.Process, enough: int) -> None:
        while len(acknowledged) < enough:
            await trio.lowlevel.checkpoint()
        process.kill()

    for enough in (40, 120, 300):
        async with running(tmp_path) as server, await server.sign_in() as ada:
            channel = (await ada.get("/channels")).json()["channels"][0]["id"]
            with trio.fail_after(60):
                async with trio.open_nursery() as nursery:
                    for writer in range(8):
                        nursery.start_soon(post, ada, f"/channels/{channel}/messages", writer)
                    nursery.start_soon(kill, server.process, enough)

    data = tmp_path / "data"
    if ON_SQLITE:
        assert look(data, "pragma integrity_check") == [("ok",)]
    stored = [found for (found,) in look(data, "select id from messages")]
    announced = look(data, "select count(*) from events where type = 'NEW_MESSAGE'")
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
    assert announced == [(len(stored),)]
