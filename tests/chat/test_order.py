"""Messages stand in the order of their commits, whatever clocks servers have (D-07, D-08)."""

from __future__ import annotations

import pytest

from teamchat.chat import Draft
from teamchat.model import ids
from teamchat.model.pages import Page

HOUR = 3600 * 10**9


@pytest.fixture
def server_with_clock(monkeypatch):
    """Be another server from now on, whose clock is so far from this one's."""
    time_ns = ids.time.time_ns

    def be(nanoseconds):
        monkeypatch.setattr(ids, "_last", 0)
        monkeypatch.setattr(ids.time, "time_ns", lambda: time_ns() + nanoseconds)

    return be


class Place:
    """A list of messages, one of three kinds."""

    def __init__(self, world, caller, kind, id_):
        chat = world.chat
        part = {"channel": chat.messages, "conversation": chat.conversations, "thread": chat.threads}[kind]
        self.caller, self.id, self.read = caller, id_, part.page
        self.write = part.reply if kind == "thread" else part.post

    async def post(self, text):
        await self.write(self.caller, self.id, Draft(text))

    async def page(self):
        page = await self.read(self.caller, self.id, Page(50))
        return [message.content for message in page.messages]


@pytest.fixture(params=["channel", "conversation", "thread"])
async def place(request, world, ada, channel, direct):
    where = {"channel": channel, "conversation": direct}.get(request.param)
    if where is None:
        where = (await world.chat.messages.post(ada, channel, Draft("parent"))).id
    return Place(world, ada, request.param, where)


@pytest.mark.parametrize("behind", [1, HOUR, 23 * HOUR])
async def test_d08_what_a_server_with_a_slower_clock_posts_stands_last(place, server_with_clock, behind):
    await place.post("first")
    server_with_clock(-behind)
    await place.post("second")
    await place.post("third")
    server_with_clock(0)
    await place.post("fourth")
    assert await place.page() == ["first", "second", "third", "fourth"]


async def test_d08_what_a_webhook_posts_by_a_slower_clock_stands_last(world, ada, channel, server_with_clock):
    webhook = await world.chat.webhooks.create(ada, "Bot", channel)
    await world.chat.messages.post(ada, channel, Draft("first"))
    server_with_clock(-HOUR)
    await world.chat.webhooks.post(webhook.id, webhook.token, Draft("second"))
    page = (await world.chat.messages.page(ada, channel, Page(50))).messages
    assert [message.content for message in page] == ["first", "second"]


async def test_a_message_from_the_far_future_does_not_take_those_that_follow_along(place, server_with_clock):
    server_with_clock(1000 * HOUR)
    await place.post("brought in")
    server_with_clock(0)
    await place.post("today")
    assert await place.page() == ["today", "brought in"]
