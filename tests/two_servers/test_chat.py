"""What one server acknowledged is what the other shows from then on."""

from __future__ import annotations

import base64
from typing import Any

import httpx2
import pytest
import trio

from tests.two_servers.nodes import Pair, fresh_email

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def channel_of(admin: httpx2.AsyncClient) -> str:
    """Make a channel and return its path."""
    answer = await admin.post("/channels", json={"name": fresh_email().partition("@")[0]})
    assert answer.status_code == 200, answer.text
    return f"/channels/{answer.json()['channel']['id']}"


async def said(client: httpx2.AsyncClient, channel: str, content: str, key: str = "") -> dict[str, Any]:
    headers = {"Idempotency-Key": key} if key else {}
    answer = await client.post(f"{channel}/messages", json={"content": content}, headers=headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["message"])


async def page(client: httpx2.AsyncClient, channel: str) -> list[dict[str, Any]]:
    answer = await client.get(f"{channel}/messages")
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


@pytest.mark.slow
async def test_every_message_is_on_the_other_servers_page_at_once(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    for number in range(10):
        here, there = (a, b) if number % 2 else (b, a)
        made = await said(here, channel, f"message {number}")
        assert (await page(there, channel))[-1]["id"] == made["id"]


async def test_an_edit_and_a_deletion_show_on_the_other_servers_page_at_once(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    message = await said(a, channel, "first")
    assert [one["content"] for one in await page(b, channel)] == ["first"]
    await a.put(f"/messages/{message['id']}", json={"content": "second"})
    assert [one["content"] for one in await page(b, channel)] == ["second"]
    await b.post(f"/messages/{message['id']}/reactions", json={"reaction": "+1"})
    assert list((await page(a, channel))[0]["reactions"]) == ["+1"]
    await b.delete(f"/messages/{message['id']}")
    assert await page(a, channel) == await page(b, channel) == []


async def test_a_new_name_shows_on_the_other_servers_pages_at_once(dev: Pair) -> None:
    admin, _ = await dev.signed_in()
    a, b = await dev.signed_in(fresh_email())
    channel = await channel_of(admin)
    await said(a, channel, "hello")
    for here, there in ((a, b), (b, a)):
        assert len(await page(there, channel)) == 1
        name = fresh_email().partition("@")[0]
        assert (await here.put("/users/me", json={"userName": name})).status_code == 200
        assert (await page(there, channel))[0]["author"]["userName"] == name
        assert (await there.get("/auth/me")).json()["user"]["userName"] == name


async def test_a_channel_deleted_at_one_server_is_gone_at_the_other(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    await said(a, channel, "soon gone")
    assert len(await page(b, channel)) == 1
    assert (await a.delete(channel)).status_code == 200
    assert (await b.get(f"{channel}/messages")).status_code == 404
    assert (await b.post(f"{channel}/messages", json={"content": "too late"})).status_code == 404


async def test_d07b_a_retry_at_the_other_server_answers_the_same_message(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    made = await said(a, channel, "once", "a key of the tests")
    again = await said(b, channel, "once", "a key of the tests")
    assert again["id"] == made["id"]
    assert len(await page(a, channel)) == 1
    headers = {"Idempotency-Key": "a key of the tests"}
    other = await b.post(f"{channel}/messages", json={"content": "something else"}, headers=headers)
    assert other.status_code == 400


async def test_d07b_retries_at_both_servers_at_once_make_one_message(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    ids: set[str] = set()

    async def post(client: httpx2.AsyncClient) -> None:
        ids.add((await said(client, channel, "once", "a key that is raced for"))["id"])

    async with trio.open_nursery() as nursery:
        for client in (a, b) * 5:
            nursery.start_soon(post, client)
    assert [one["id"] for one in await page(b, channel)] == list(ids)


async def test_d21_of_two_channels_of_one_name_made_at_both_servers_one_is_made(dev: Pair) -> None:
    a, b = await dev.signed_in()
    for _ in range(5):
        name = fresh_email()
        statuses: list[int] = []

        async def make(client: httpx2.AsyncClient, name: str, statuses: list[int]) -> None:
            statuses.append((await client.post("/channels", json={"name": name})).status_code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(make, a, name, statuses)
            nursery.start_soon(make, b, name.upper(), statuses)
        assert sorted(statuses) == [200, 400]


async def test_of_two_admins_who_leave_at_both_servers_at_once_one_stays(dev: Pair) -> None:
    admin, _ = await dev.signed_in()
    for _ in range(5):
        email = fresh_email()
        assert (await admin.post("/users/add", json={"email": email, "role": "admin"})).status_code == 200
        _, other_at_b = await dev.signed_in(email)
        mine = (await admin.get("/auth/me")).json()["user"]["id"]
        other = (await other_at_b.get("/auth/me")).json()["user"]["id"]
        statuses: list[int] = []

        async def remove(client: httpx2.AsyncClient, user: str, statuses: list[int]) -> None:
            statuses.append((await client.delete(f"/users/{user}")).status_code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(remove, admin, other, statuses)
            nursery.start_soon(remove, other_at_b, mine, statuses)
        # Whoever was removed first has no session left, so the second removal is refused.
        assert statuses.count(200) == 1, statuses
        if (await admin.get("/auth/me")).status_code == 200:
            continue
        # The first admin was removed: the other one makes them anew for the tests that follow.
        assert (
            await other_at_b.post("/users/add", json={"email": "admin@localhost", "role": "admin"})
        ).status_code == 200
        admin, _ = await dev.signed_in()
        assert (await admin.delete(f"/users/{other}")).status_code == 200


async def test_a_webhook_made_at_one_server_posts_at_the_other(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    body = {"name": "builds", "channelId": channel.removeprefix("/channels/")}
    webhook = (await a.post("/webhooks", json=body)).json()["webhook"]
    bot = dev.b.client(webhook["token"])
    path = f"/webhooks/{webhook['id']}/messages"
    posted = await bot.post(path, json={"content": "it builds"})
    assert posted.status_code == 200, posted.text
    assert [one["content"] for one in await page(a, channel)] == ["it builds"]
    assert (await b.delete(f"/webhooks/{webhook['id']}")).status_code == 200
    at_a = dev.a.client(webhook["token"])
    assert (await at_a.post(path, json={"content": "no more"})).status_code == 401


async def test_an_image_uploaded_at_one_server_is_read_at_the_other(dev: Pair) -> None:
    a, b = await dev.signed_in()
    channel = await channel_of(a)
    body = {"filename": "dot.png", "image": base64.b64encode(PIXEL).decode()}
    answer = await a.post(f"{channel}/messages/image", json=body)
    assert answer.status_code == 200, answer.text
    name = answer.json()["filename"]
    read = await b.get(f"{channel}/messages/image/{name}")
    assert (read.status_code, read.content) == (200, PIXEL)
    posted = await b.post(f"{channel}/messages", json={"content": "look", "images": [name]})
    assert posted.status_code == 200
    assert (await page(a, channel))[0]["images"] == [name]


async def test_the_servers_name_changed_at_one_is_told_at_the_other(dev: Pair) -> None:
    a, b = await dev.signed_in()
    name = fresh_email()
    assert (await a.put("/server/settings", json={"name": name})).status_code == 200
    assert (await b.get("/server/settings")).json()["name"] == name
