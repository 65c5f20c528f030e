"""A stream says nothing of what is hidden, whether it was open all the time or resumes (X-5)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from teamchat.web.app import App
from tests.leaks.parameters import CHANNEL_NAME, ROOM
from tests.leaks.things import (
    SAID,
    THINGS,
    Asker,
    Hidden,
    Make,
    a_channel_that_is_being_removed,
    a_past_that_was_not_shown,
    a_session,
    a_thread_that_is_being_removed,
    an_archived_channel,
    fill,
)
from tests.leaks.world import World, open_world
from tests.web.client import Client
from tests.web.streaming import Exchange

BEING_REMOVED = (a_channel_that_is_being_removed, a_thread_that_is_being_removed)
_NOTHING_CAN_BE_DONE_IN = (
    a_session,
    an_archived_channel,
    a_past_that_was_not_shown,
    *BEING_REMOVED,
)
ROOMS = [one for one in THINGS if one not in _NOTHING_CAN_BE_DONE_IN]
_DEADLINE = 30


class Listener:
    """Reads one stream, frame by frame."""

    def __init__(self, site: App, token: str, last_event_id: str) -> None:
        # The site is asked as a server asks it.
        endpoint: Any = SimpleNamespace(open=site)
        query = f"token={token}&lastEventId={last_event_id}"
        self._exchange = Exchange(endpoint, query, http_version="1.1")
        self._exchange.scope |= {"http_version": "1.1", "raw_path": b"/events"}
        self._text = b""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Listener]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._exchange.run)
            self.status, self.headers = await self._exchange.start()
            yield self
            nursery.cancel_scope.cancel()

    async def until(self, mark: str) -> list[dict[str, Any]]:
        """Return what comes before the message with this text."""
        events: list[dict[str, Any]] = []
        with trio.fail_after(_DEADLINE):
            while True:
                while b"\n\n" not in self._text:
                    self._text += await self._exchange.body()
                frame, _, self._text = self._text.partition(b"\n\n")
                if b"data: " not in frame:
                    continue
                event = json.loads(frame.partition(b"data: ")[2])
                if event["payload"].get("content") == mark:
                    return events
                events.append(event)

    async def refusal(self) -> tuple[int, dict[str, str], bytes]:
        """Return the whole answer of a stream that was refused."""
        return self.status, self.headers, await self._exchange.body()


async def mark(world: World, text: str) -> None:
    """Say something that everybody hears."""
    admin = await world.person("admin")
    channels = (await admin.client.ok("GET", "/channels"))["channels"]
    general = next(one["id"] for one in channels if one["name"] == "General")
    await admin.client.ok("POST", f"/channels/{general}/messages", {"content": text})


async def do_everything(world: World, thing: Hidden) -> None:
    """Have the author do whatever there is an event for in what is hidden."""
    author, room = thing.reader, thing.ids[ROOM][0]
    base = f"/conversations/{room}" if room.startswith("dm:") else f"/channels/{room}"
    ids = await fill(author, base)
    first, second = ids["message"]
    await author.client.ok("PUT", f"/messages/{first}", {"content": f"{SAID}: changed"})
    await author.client.ok("PUT", f"/messages/{second}", {"content": f"{SAID}: changed"})
    await author.client.ok("DELETE", f"/messages/{first}/reactions", {"reaction": "👍"})
    if base.startswith("/channels/"):
        await author.client.ok("PUT", base, {"topic": SAID})
    if CHANNEL_NAME in thing.ids:
        await author.client.ok("PUT", base, {"name": f"{thing.ids[CHANNEL_NAME][0]}, again"})
        hook = (await author.client.ok("POST", "/webhooks", {"name": "Hook", "channelId": room}))["webhook"]
        bot = Client(world.site, hook["token"])
        posted = await bot.ok("POST", f"/webhooks/{hook['id']}/messages", {"content": SAID})
        await author.client.ok("DELETE", f"/messages/{posted['message']['id']}")
        await author.client.ok("DELETE", f"/webhooks/{hook['id']}")
    await author.client.ok("DELETE", f"/messages/{second}")
    await author.client.ok("DELETE", f"/messages/{first}")


@pytest.mark.slow
@pytest.mark.parametrize("make", ROOMS, ids=lambda make: make.__name__)
async def test_x5_an_open_stream_says_nothing_of_it(tmp_path: Path, make: Make) -> None:
    async with open_world(tmp_path) as world:
        thing = await make(world)
        for asker in signed_in(thing):
            async with Listener(world.site, asker.client.token or "", "").open() as stream:
                assert stream.status == 200
                await mark(world, "before")
                assert [one["type"] for one in await stream.until("before")] == ["CONNECTED"]
                await do_everything(world, thing)
                await mark(world, "after")
                assert await stream.until("after") == []


@pytest.mark.slow
@pytest.mark.parametrize("is_in_memory", [True, False], ids=["from memory", "from the log"])
@pytest.mark.parametrize("make", ROOMS, ids=lambda make: make.__name__)
async def test_x5_a_stream_that_resumes_says_nothing_of_it_not_even_of_before(
    tmp_path: Path, make: Make, is_in_memory: bool
) -> None:
    async with open_world(tmp_path) as world:
        for name in ("author", "correspondent", "stranger", "former"):
            await world.person(name)
        before = await world.position()
        thing = await make(world)
        await do_everything(world, thing)
        await mark(world, "the end")
        async with resumed_at(world, is_in_memory=is_in_memory) as site:
            for asker in signed_in(thing):
                async with Listener(site, asker.client.token or "", str(before)).open() as stream:
                    heard = await stream.until("the end")
                assert len(heard) > 5, "there are events of others"
                assert not [one for one in heard if tells_of(one, thing)], asker.name
            async with Listener(site, thing.reader.token, str(before)).open() as stream:
                told = [one["type"] for one in await stream.until("the end") if tells_of(one, thing)]
                assert len(told) > 10, "who sees it hears all of it"


@pytest.mark.parametrize("is_in_memory", [True, False], ids=["from memory", "from the log"])
@pytest.mark.parametrize("make", BEING_REMOVED, ids=lambda make: make.__name__)
async def test_x15_a_stream_that_resumes_says_nothing_of_what_was_said_where_it_is_being_removed(
    tmp_path: Path, make: Make, is_in_memory: bool
) -> None:
    async with open_world(tmp_path) as world:
        for name in ("author", "former", "stranger"):
            await world.person(name)
        before = await world.position()
        thing = await make(world)
        await mark(world, "the end")
        async with resumed_at(world, is_in_memory=is_in_memory) as site:
            for asker in signed_in(thing):
                async with Listener(site, asker.client.token or "", str(before)).open() as stream:
                    heard = await stream.until("the end")
                assert len(heard) > 5, "there are events of others"
                assert not [one for one in heard if SAID in json.dumps(one)], asker.name


async def test_a_stream_is_refused_to_who_was_removed_as_to_a_token_that_nobody_had(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        admin, removed = await world.person("admin"), await world.person("removed")
        await admin.client.ok("DELETE", f"/users/{removed.id}")
        refusals = []
        for token in (removed.token, "x" * len(removed.token)):
            async with Listener(world.site, token, "0").open() as stream:
                refusals.append(await stream.refusal())
        assert refusals[0] == refusals[1]
        assert refusals[0][0] == 401


def signed_in(thing: Hidden) -> list[Asker]:
    """Return who has a stream, and is to hear nothing in it."""
    no_streams = {"who is not signed in", "a removed user", "a webhook of elsewhere"}
    return [asker for asker in thing.askers if asker.name not in no_streams]


def tells_of(event: dict[str, Any], thing: Hidden) -> bool:
    """Whether an event holds anything of what is hidden.

    DELETE_CHANNEL does so by design (X-6): it tells who loses sight of a channel that it is gone.
    """
    told = json.dumps(event, ensure_ascii=False)
    if event["type"] == "DELETE_CHANNEL" and set(event["payload"]) <= {"id", "name", "reason"}:
        return False
    return SAID in told or any(id_ in told for id_ in thing.all_ids())


@asynccontextmanager
async def resumed_at(world: World, *, is_in_memory: bool) -> AsyncIterator[App]:
    """Yield a site at which streams resume from memory, or from the log."""
    if is_in_memory:
        yield world.site
        return
    async with world.site_without_memory() as site:
        yield site
