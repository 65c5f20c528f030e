"""A client that knows the core alone shows the private rooms it is in, and loses them when it must (X-6).

It speaks plain HTTP and reads the stream, acts on the types of events of the interface's part 6, and passes
over all others and all fields that it does not know.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from teamchat.testing import Server, listening
from teamchat.testing.streams import Events
from tests.harness import running


@dataclass
class CoreClient:
    """What a core client shows: channels by their ids, and what is said in each."""

    http: httpx2.AsyncClient
    stream: Events
    id: str
    channels: dict[str, str] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)

    async def load(self) -> None:
        """Read all, as when its page is opened."""
        found = (await self.http.get("/channels")).json()["channels"]
        self.channels = {one["id"]: one["name"] for one in found}
        for id_ in self.channels:
            page = (await self.http.get(f"/channels/{id_}/messages")).json()["messages"]
            self.said[id_] = [one["content"] for one in page]

    async def follow(self, general: str) -> None:
        """Act on events until one's own message in a channel comes back."""
        answer = await self.post(general, "here")
        marker = answer.json()["message"]["id"]
        while True:
            event = await self.stream.next()
            kind, payload = event["type"], event["payload"]
            self.heard.append(str(event))
            if kind in ("NEW_CHANNEL", "UPDATE_CHANNEL"):
                self.channels[payload["id"]] = payload["name"]
            elif kind == "DELETE_CHANNEL":
                self.channels.pop(payload["id"], None)
                self.said.pop(payload["id"], None)
            elif kind == "NEW_MESSAGE":
                self.said.setdefault(payload["channelId"], []).append(payload["content"])
                if payload["id"] == marker:
                    return

    async def post(self, channel: str, text: str) -> httpx2.Response:
        return await self.http.post(f"/channels/{channel}/messages", json={"content": text})

    async def shows_what_it_would_after_loading_anew(self) -> None:
        found = (await self.http.get("/channels")).json()["channels"]
        assert {one["id"] for one in found} == self.channels.keys()


@asynccontextmanager
async def core_client(server: Server, email: str) -> AsyncIterator[CoreClient]:
    async with await server.sign_in(email) as http, listening(http) as stream:
        client = CoreClient(http, stream, (await http.get("/auth/me")).json()["user"]["id"])
        await client.load()
        yield client


class World:
    """Ada has a client that knows everything, Ben one that knows the core; Sam's too, who is in nothing."""

    def __init__(self, ada: httpx2.AsyncClient, ben: CoreClient, sam: CoreClient, general: str) -> None:
        self.ada, self.ben, self.sam, self.general = ada, ben, sam, general

    async def does(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        """Do something as Ada, and have the clients follow it."""
        answer = await self.ada.request(method, path, json=body)
        assert answer.status_code == 200, answer.text
        await self.settle()
        done: dict[str, Any] = answer.json()
        return done

    async def settle(self) -> None:
        for client in (self.ben, self.sam):
            await client.follow(self.general)
            await client.shows_what_it_would_after_loading_anew()

    async def private(self, name: str, **more: Any) -> str:
        made = await self.does("POST", "/private-channels", name=name, **more)
        return str(made["channel"]["id"])


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(running(tmp_path))
        ada = await stack.enter_async_context(await server.sign_in())
        [general] = (await ada.get("/channels")).json()["channels"]
        ben = await stack.enter_async_context(core_client(server, "ben@example.org"))
        sam = await stack.enter_async_context(core_client(server, "sam@example.org"))
        yield World(ada, ben, sam, general["id"])


@pytest.mark.slow
async def test_a_private_channel_is_a_channel_while_one_is_in_it(world: World) -> None:
    ben, sam = world.ben, world.sam
    secret = await world.private("Plan B", members=[ben.id])
    assert ben.channels[secret] == "Plan B"
    await world.does("POST", f"/channels/{secret}/messages", content="psst")
    assert (await ben.post(secret, "what?")).status_code == 200
    await world.settle()
    assert ben.said[secret] == ["psst", "what?"]
    await world.does("PUT", f"/channels/{secret}", name="Plan C")
    assert ben.channels[secret] == "Plan C"

    await world.does("DELETE", f"/channels/{secret}/members/{ben.id}")
    assert secret not in ben.channels
    await world.does("POST", f"/channels/{secret}/messages", content="without Ben")
    assert secret not in ben.said
    for answer in (
        await ben.http.get(f"/channels/{secret}/messages"),
        await ben.post(secret, "let me in"),
        await ben.http.put(f"/channels/{secret}", json={"name": "Mine"}),
    ):
        assert answer.status_code == 404

    await world.does("POST", f"/channels/{secret}/members", userIds=[ben.id])
    assert ben.channels[secret] == "Plan C"
    await ben.load()
    assert ben.said[secret] == ["psst", "what?", "without Ben"]
    await world.does("DELETE", f"/channels/{secret}")
    assert list(ben.channels) == [world.general]
    assert secret not in "".join(sam.heard), "who was never in it has heard nothing of it"


@pytest.mark.slow
async def test_what_becomes_private_is_gone_and_what_becomes_public_is_there(world: World) -> None:
    ben, sam = world.ben, world.sam
    made = await world.does("POST", "/channels", name="Budget")
    budget = made["channel"]["id"]
    await world.does("POST", f"/channels/{budget}/messages", content="10,000")
    assert ben.said[budget] == sam.said[budget] == ["10,000"]
    await world.does("PUT", f"/channels/{budget}/privacy", isPrivate=True, members=[ben.id])
    assert budget in ben.channels
    assert budget not in sam.channels
    await world.does("POST", f"/channels/{budget}/messages", content="20,000")
    assert ben.said[budget] == ["10,000", "20,000"]
    assert (await sam.http.get(f"/channels/{budget}/messages")).status_code == 404
    assert "20,000" not in "".join(sam.heard)
    await world.does("PUT", f"/channels/{budget}/privacy", isPrivate=False, history="hide")
    assert ben.channels == sam.channels
    await sam.load()
    assert sam.said[budget] == []


async def test_an_archived_channel_is_shown_and_refuses_what_is_said(world: World) -> None:
    secret = await world.private("Over", members=[world.ben.id])
    await world.does("POST", f"/channels/{secret}/archive")
    refused = await world.ben.post(secret, "one more thing")
    assert (refused.status_code, refused.json()) == (403, {"error": "The channel is archived."})
    assert world.ben.channels[secret] == "Over"


@pytest.mark.slow
async def test_groups_and_notes_are_channels_named_after_who_is_in_them(world: World) -> None:
    ben, sam = world.ben, world.sam
    opened = await world.does("POST", "/groups", userIds=[ben.id, sam.id])
    group = opened["channel"]["id"]
    assert ben.channels[group] == sam.channels[group] == "Ada, ben, sam"
    assert (await ben.post(group, "hello both")).status_code == 200
    await world.settle()
    assert sam.said[group] == ["hello both"]
    # Sam's other device knows groups, and leaves.
    assert (await sam.http.post(f"/channels/{group}/leave")).status_code == 200
    await world.settle()
    assert group not in sam.channels
    assert group in ben.channels

    opened_notes = await sam.http.put("/me/notes")
    await world.settle()
    assert sam.channels[opened_notes.json()["channel"]["id"]] == "sam"
    assert len(ben.channels) == 2
