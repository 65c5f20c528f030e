"""Who resumes across a deletion or an edit gets the event without what was said (X-15)."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio

from teamchat import events
from teamchat.events import Event
from teamchat.interfaces import Storage
from teamchat.model import Author, Caller, Message, ThreadMeta, UserName
from teamchat.settings import EventsSettings
from teamchat.storage.log import Blanking, blank
from teamchat.stream.missed import Missed
from teamchat.stream.recent import Recent
from tests.stream.test_missed import Watched, remembering
from tests.stream.wire import Client, World, big, caller, running, said

SECRET = "what nobody shall read"


def message(number: str, content: str = SECRET, place: str = "c") -> Message:
    return Message(number, place, Author("a", "Ada"), content, 1, None, {"👍": ["b"]}, images=["1.png"])


def posted(number: str, content: str = SECRET, place: str = "c") -> Event:
    return events.NewMessage.about(message(number, content, place)).to()


def replied(number: str, content: str = SECRET) -> Event:
    meta = ThreadMeta(1, 1, UserName("a", "Ada"), ["a"])
    return events.NewThreadReply("1", "c", message(number, content), meta, "a").to()


async def delete(world: World, *numbers: str, place: str = "c") -> None:
    async with world.storage.write() as tx:
        await blank(tx, place, numbers or None)
        await tx.append(events.DeleteMessage(numbers[0], place).to() if numbers else said("channel"))


async def edit(world: World, number: str, content: str) -> None:
    async with world.storage.write() as tx:
        await blank(tx, "c", [number])
        await tx.append(events.UpdateMessage.about(message(number, content)).to())


async def contents(client: Client, count: int) -> list[str | None]:
    """Return what the next events say, None for those that are no messages."""
    return [content_of(await client.next()) for _ in range(count)]


def content_of(event: dict[str, Any]) -> str | None:
    payload = event["payload"]
    content: str | None = payload.get("reply", payload).get("content")
    return content


# From memory, from pages of the log, and from pages that were read before.
@pytest.mark.parametrize("most_events", [0, 10_000])
@pytest.mark.parametrize("was_read_before", [False, True])
async def test_who_resumes_across_a_deletion_or_an_edit_gets_no_text(
    storage: Storage, way: str, most_events: int, was_read_before: bool
) -> None:
    async with remembering(storage, way, most_events) as world:
        await world.write(
            posted("1"), replied("2"), posted("3"), posted("4", "stays"), posted("5", place="d")
        )
        await world.write(*[said(number) for number in range(64)])
        await world.at_end()
        if was_read_before:
            await contents(await world.connected(last_event_id="0"), 69)
        await delete(world, "1", "2")
        await edit(world, "3", "new")
        await delete(world, place="d")
        await world.at_end()
        client = await world.connected(caller("other"), "0")
        assert await contents(client, 5) == ["", "", "", "stays", ""]
        assert set(await contents(client, 64)) == {None}
        assert await contents(client, 3) == [None, "new", None]
        assert SECRET.encode() not in client.raw
        assert client.last_id == str(world.hub.position)


async def test_a_blanked_event_keeps_all_but_what_was_said(world: World) -> None:
    await world.write(posted("1"), replied("2"))
    await world.at_end()
    whole = await world.connected(last_event_id="0")
    before = [await whole.next() for _ in range(2)]
    await delete(world, "1", "2")
    await world.at_end()
    client = await world.connected(last_event_id="0")
    after = [await client.next() for _ in range(2)]
    before[0]["payload"] |= {"content": "", "reactions": {}}
    before[1]["payload"]["reply"] |= {"content": "", "reactions": {}}
    del before[0]["payload"]["images"], before[1]["payload"]["reply"]["images"]
    assert after == before


async def test_a_page_that_is_being_read_during_a_deletion_is_blanked_too(storage: Storage, way: str) -> None:
    """It was read before the deletion was committed, and is kept for those who come later."""
    watched = Reading(storage)
    async with running(storage, way, seen_by_hub=watched, recent=Recent(0)) as world:
        await world.write(posted("1"), *[said(number) for number in range(100)])
        await world.at_end()
        watched.holds = True
        early = await world.opened(last_event_id="0")
        await watched.has_read.wait()
        await delete(world, "1")
        await world.at_end()
        watched.let_go.set()
        assert (await early.next())["type"] == "CONNECTED"
        assert await contents(early, 1) == [""]
        late = await world.connected(caller("late"), "0")
        assert await contents(late, 1) == [""]


class Reading(Watched):
    """A storage whose reads can be held after they have read."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self.holds = False
        self.has_read = trio.Event()
        self.let_go = trio.Event()

    def read(self) -> Any:
        return _Held(self, super().read())


class _Held:
    def __init__(self, storage: Reading, inner: Any) -> None:
        self._storage = storage
        self._inner = inner

    async def __aenter__(self) -> Any:
        return await self._inner.__aenter__()

    async def __aexit__(self, *raised: Any) -> Any:
        if self._storage.holds:
            self._storage.holds = False
            self._storage.has_read.set()
            await self._storage.let_go.wait()
        return await self._inner.__aexit__(*raised)


async def test_an_edit_that_a_page_was_read_ahead_of_keeps_its_text(world: World) -> None:
    """A page may hold what this hub hears of later: an edit blanks what came before it alone."""
    await world.write(posted("1"))
    await edit(world, "1", "new")
    await world.write(*[said(number) for number in range(100)])
    ahead = Missed(world.storage, Recent())
    page = await ahead._page(0)
    assert page.reaches == 64
    ahead.blank(Blanking("c", frozenset({"1"})), before=2)
    assert b'"content":"new"' in page.frames[1].plain


async def test_every_process_forgets_what_another_one_deleted(storage: Storage, way: str) -> None:
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(running(storage, way)) for _ in range(2)]
        await here.write(posted("1"), replied("2"))
        for world in (here, there):
            await world.at_end()
            await contents(await world.connected(last_event_id="0"), 2)
        await delete(here, "1", "2")
        for world in (here, there):
            await world.at_end()
            assert await contents(await world.connected(last_event_id="0"), 2) == ["", ""]


async def test_what_is_held_in_memory_is_counted_right_after_blanking(world: World) -> None:
    recent = world.hub.recent
    await world.write(posted("1", SECRET * 1100), posted("2", SECRET * 1100), posted("3", place="d"))
    await world.at_end()
    full = recent._bytes
    await delete(world, "1")
    await delete(world, place="d")
    await world.at_end()
    assert recent._bytes < full - 2 * len(SECRET) * 1000
    assert list(recent._of_message) == ["2"]
    recent.forget_before(world.hub.position + 1)
    assert (recent._bytes, recent._of_message) == (0, {})


async def test_pages_that_are_kept_are_counted_right_after_blanking(storage: Storage, way: str) -> None:
    async with remembering(storage, way, 0) as world:
        await world.write(*[posted(str(number), SECRET * 100) for number in range(100)])
        await world.at_end()
        await contents(await world.connected(last_event_id="0"), 100)
        await delete(world, "1", "2")
        await delete(world)
        await world.at_end()
        missed = world.hub.missed
        assert missed._pages
        assert missed._kept == sum(page.size for page in missed._pages.values())


async def test_clients_hear_nothing_of_the_blanking_itself(world: World) -> None:
    client = await world.connected(last_event_id="")
    await world.write(posted("1"))
    assert await contents(client, 1) == [SECRET]
    await delete(world, "1")
    assert (await client.next())["type"] == "DELETE_MESSAGE"


def new_account(log_start: int) -> Caller:
    known = caller("new")
    return Caller(known.user, known.session_id, log_start=log_start)


@pytest.mark.parametrize("most_events", [0, 10_000])
async def test_nobody_resumes_from_before_their_account(storage: Storage, way: str, most_events: int) -> None:
    async with remembering(storage, way, most_events) as world:
        await world.write(*[said(number) for number in range(1, 6)])
        await world.at_end()
        for last_event_id in ("0", "1", "3"):
            client = await world.connected(new_account(3), last_event_id)
            assert await client.ids(2) == ["4", "5"], "what came since is theirs, without a gap"
        client = await world.connected(new_account(3), "4")
        assert await client.ids(1) == ["5"]
        assert json.dumps(await (await world.connected(caller("old"), "0")).ids(5)) == json.dumps(
            list("12345")
        )


async def test_an_account_that_is_newer_than_what_this_hub_knows_waits_for_it(
    storage: Storage, way: str
) -> None:
    watched = Watched(storage)
    async with running(storage, way, EventsSettings(), seen_by_hub=watched) as world:
        watched.is_slow = True
        await world.write(said(1), said(2))
        client = await world.connected(new_account(2), "0")
        await world.write(said(3))
        watched.gate.set()
        assert await client.ids(1) == ["3"]


async def test_what_waits_for_a_slow_client_says_nothing_that_was_deleted_or_edited_since(
    world: World,
) -> None:
    slow = await world.connected()
    for number in range(30):
        await world.write(said(number), big(8000))
    await world.write(posted("10"), posted("11"), posted("12", "stays"))
    await world.at_end()
    assert slow.stream.size > 0, "the client took everything at once"
    await delete(world, "10")
    await edit(world, "11", "is another")
    await world.at_end()
    await slow.types(60)
    assert await contents(slow, 5) == ["", "", "stays", None, "is another"]
