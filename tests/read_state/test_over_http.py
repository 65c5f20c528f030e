"""Read states on a real server: what is asked for by HTTP, and what another device hears."""

from __future__ import annotations

from pathlib import Path

import httpx2
import trio

from teamchat.testing import Events, listening
from tests.harness import running


async def places(client: httpx2.AsyncClient, **query: str) -> dict[str, object]:
    answer = await client.get("/me/places", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_what_one_device_reads_another_hears_and_nobody_else(tmp_path: Path) -> None:
    async with (
        running(tmp_path) as server,
        await server.sign_in() as ada,
        await server.sign_in("bob@example.org") as bob,
    ):
        announced = (await bob.get("/capabilities")).json()["capabilities"]["read-state"]
        assert announced == {"version": 1, "countedUpTo": 1000}
        [channel] = (await ada.get("/channels")).json()["channels"]
        path = f"/channels/{channel['id']}/messages"
        message = (await ada.post(path, json={"content": "hello"})).json()["message"]["id"]
        before = await places(bob)
        [state] = before["places"]  # type: ignore[misc]
        assert state == {
            "placeId": channel["id"],
            "kind": "channel",
            "position": state["position"],
            "generation": 0,
            "isMarkedUnread": False,
            "unreadCount": 1,
            "mentionCount": 0,
            "lastMessageId": message,
            "level": "default",
            "isMuted": False,
            "mutedUntil": None,
        }
        assert (before["left"], before["badge"]) == ([], 0)
        assert before["threads"] == {"unreadThreads": 0, "mentionCount": 0}
        async with (
            listening(bob, last_event_id=str(before["asOf"]), ephemeral=["read"]) as asks,
            listening(bob, last_event_id=str(before["asOf"])) as silent,
            listening(ada, last_event_id=str(before["asOf"]), ephemeral=["read"]) as other,
        ):
            answer = await bob.put(f"/me/places/{channel['id']}/read", json={"position": message})
            read = state | {"position": message, "unreadCount": 0}
            assert answer.json() == {"state": read, "changed": True}
            heard = await asks.next()
            assert heard == {"type": "READ_STATE", "payload": read | {"asOf": before["asOf"]}}
            await ada.delete(f"/messages/{message}")
            for stream in (asks, silent, other):
                gone = await stream.next()
                assert gone["type"] == "DELETE_MESSAGE"
                assert gone["payload"]["authorId"] != ""
        changed = await places(bob, since=str(before["mark"]))
        assert changed["places"] == [read | {"lastMessageId": None}]
        assert (await bob.get("/me/places", params={"since": "yesterday"})).status_code == 400
        body = {"position": message, "generation": -1}
        assert (await bob.put(f"/me/places/{channel['id']}/read", json=body)).status_code == 400
        assert (await bob.put("/me/read", json={"positions": {channel["id"]: message}})).json() == {
            "changed": 0
        }
        marked = await bob.put(f"/me/places/{channel['id']}/unread", json={"from": message})
        assert marked.json()["state"]["isMarkedUnread"]


async def test_a_stream_of_joined_places_hears_that_one_is_in_a_place_no_more(tmp_path: Path) -> None:
    async with (
        running(tmp_path) as server,
        await server.sign_in() as ada,
        await server.sign_in("bob@example.org") as bob,
    ):
        [channel] = (await ada.get("/channels")).json()["channels"]
        path, token = f"/channels/{channel['id']}", bob.headers["Authorization"].removeprefix("Bearer ")
        async with await trio.open_tcp_stream(bob.base_url.host, bob.base_url.port or 80) as stream:
            heard = Events(stream, f"/events?token={token}&scope=joined")
            await heard.open()
            assert (await ada.put(path, json={"isDefault": False})).status_code == 200
            assert (await heard.until("UPDATE_CHANNEL"))["isDefault"] is False
            assert [one["placeId"] for one in (await places(bob))["places"]] == []  # type: ignore[attr-defined]
            assert (await ada.put(path, json={"topic": "not for bob"})).status_code == 200
            assert (await bob.put("/users/me", json={"userName": "Bob"})).status_code == 200
            assert (await heard.next())["type"] == "UPDATE_USER"
