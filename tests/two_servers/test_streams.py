"""The streams of two servers tell the same, in the same order, and are counted together (D-34 to D-37)."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import Events, listening
from tests.two_servers.nodes import Pair, fresh_email
from tests.two_servers.test_chat import channel_of, said
from tests.two_servers.test_sessions import ended


async def until_message(events: Events, last: str) -> list[Any]:
    """Return the ids of the messages that are told up to the message `last`."""
    told = [""]
    while told[-1] != last:
        told.append((await events.until("NEW_MESSAGE"))["id"])
    return told[1:]


@pytest.mark.slow
async def test_d35_events_of_both_servers_come_in_the_same_order_at_both(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    async with listening(a) as at_a, listening(b) as at_b:

        async def post(client: httpx2.AsyncClient, name: str) -> None:
            for number in range(20):
                await said(client, channel, f"{name} {number}")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(post, a, "of a")
            nursery.start_soon(post, b, "of b")
        last = (await said(a, channel, "the last"))["id"]
        first = await until_message(at_a, last)
        assert await until_message(at_b, last) == first
        assert len(first) == len(set(first)) == 41


async def test_d34_a_stream_of_one_server_is_resumed_at_the_other(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    async with listening(a, last_event_id="") as events:
        seen = await said(b, channel, "seen")
        assert (await events.until("NEW_MESSAGE"))["id"] == seen["id"]
        position = events.last_id
    missed = [(await said(client, channel, "missed"))["id"] for client in (a, b, a, b)]
    async with listening(b, last_event_id=position) as events:
        assert [(await events.until("NEW_MESSAGE"))["id"] for _ in missed] == missed
        now = await said(a, channel, "now")
        assert (await events.until("NEW_MESSAGE"))["id"] == now["id"]


async def test_d35_a_direct_message_at_one_server_reaches_its_two_people_at_the_other(dev: Pair) -> None:
    a, _ = await dev.signed_in(fresh_email())
    _, other = await dev.signed_in(fresh_email())
    _, stranger = await dev.signed_in(fresh_email())
    target = (await other.get("/auth/me")).json()["user"]["id"]
    async with listening(other) as at_other, listening(stranger) as at_stranger:
        opened = (await a.post("/conversations", json={"targetUserId": target})).json()["conversation"]
        path = f"/conversations/{opened['id']}/messages"
        assert (await a.post(path, json={"content": "psst"})).status_code == 200
        assert (await at_other.until("NEW_DM_MESSAGE"))["content"] == "psst"
        admin, _ = await dev.signed_in()
        await channel_of(admin)
        kinds = [""]
        while kinds[-1] != "NEW_CHANNEL":
            kinds.append((await at_stranger.next())["type"])
        assert not {"NEW_CONVERSATION", "NEW_DM_MESSAGE"} & set(kinds)


async def test_d37_the_limit_of_streams_counts_those_of_both_servers(dev: Pair) -> None:
    email = fresh_email()
    a, b = await dev.signed_in(email)
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(listening(client)) for client in (a, b, b, a, b)]
        for oldest in streams[:2]:
            await ended(oldest)
        name = fresh_email()
        await a.put("/server/settings", json={"name": name})
        admin, _ = await dev.signed_in()
        await admin.put("/server/settings", json={"name": name})
        for newer in streams[2:]:
            while (await newer.until("UPDATE_SERVER_SETTINGS"))["name"] != name:
                pass
