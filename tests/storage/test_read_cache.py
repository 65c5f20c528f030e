"""What is kept in memory, and what makes it be forgotten."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from teamchat import events
from teamchat.events import Event, Payload
from teamchat.interfaces import Storage
from teamchat.storage import cache
from teamchat.storage.cache import ReadCache, touched_by
from tests.storages import open_storage

KINDS = sorted(
    {
        one.type
        for _, one in inspect.getmembers(events, inspect.isclass)
        if issubclass(one, Payload) and hasattr(one, "type")
    }
    - {"CONNECTED", "RESYNC"}
)


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with open_storage(tmp_path) as storage:
        yield storage


async def append(storage: Storage, *those: Event) -> None:
    async with storage.write() as tx:
        for event in those:
            await tx.append(event)


async def filled(storage: Storage, *keys: str, size: int = 1, most: int = 1000) -> ReadCache:
    """Return a memory in which each key is tagged by its own name."""
    memory = ReadCache(storage, most)
    for key in keys:
        memory.keep(key, f"value of {key}", (key,), position=await memory.catch_up(), size=size)
    return memory


async def test_what_nothing_touched_is_kept(storage: Storage) -> None:
    memory = await filled(storage, "room:a", "room:b")
    await append(storage, events.DeleteMessage(id="m", channel_id="b").to())
    await memory.catch_up()
    assert memory.get("room:a") == "value of room:a"
    assert memory.get("room:b") is None


async def test_what_another_process_wrote_touches_too(storage: Storage, tmp_path: Path) -> None:
    memory = await filled(storage, "session:s")
    async with open_storage(tmp_path) as other:
        await append(other, events.SessionsEnded(["s"]).to())
    await memory.catch_up()
    assert memory.get("session:s") is None


async def test_an_unknown_event_touches_everything(storage: Storage) -> None:
    memory = await filled(storage, "room:a", "user:u")
    await append(storage, Event("OF_A_LATER_VERSION", "[]"))
    await memory.catch_up()
    assert memory.get("room:a") is memory.get("user:u") is None


@pytest.mark.parametrize("kind", ["typing.started", "search:INDEXED", "Pinned", "menu-changed"])
async def test_an_event_of_a_plugins_own_type_touches_nothing(storage: Storage, kind: str) -> None:
    memory = await filled(storage, "room:a", "user:u")
    await append(storage, Event(kind, "[]"))
    await memory.catch_up()
    assert memory.get("room:a") == "value of room:a"
    assert memory.get("user:u") == "value of user:u"


def test_no_type_of_teamchats_own_could_be_taken_for_a_plugins() -> None:
    assert all(kind == kind.upper() and kind.replace("_", "").isalnum() for kind in KINDS)


async def test_what_was_read_before_an_event_is_not_kept_after_it(storage: Storage) -> None:
    memory = await filled(storage)
    position = await memory.catch_up()
    await append(storage, events.DeleteMessage(id="m", channel_id="a").to())
    await memory.catch_up()
    memory.keep("page", "old", ("room:a",), position=position, size=1)
    assert memory.get("page") is None


async def test_a_log_that_was_trimmed_in_between_forgets_everything(storage: Storage) -> None:
    memory = await filled(storage, "room:a")
    await append(storage, *[events.DeleteMessage(id="m", channel_id="b").to()] * 3)
    async with storage.write() as tx:
        await tx.fetch("delete from events where seq <= 2")
    await memory.catch_up()
    assert memory.get("room:a") is None


async def test_being_far_behind_forgets_everything(storage: Storage) -> None:
    memory = await filled(storage, "room:a")
    await append(storage, *[events.DeleteMessage(id="m", channel_id="b").to()] * 1001)
    await memory.catch_up()
    assert memory.get("room:a") is None


async def test_the_oldest_go_when_there_is_no_room(storage: Storage) -> None:
    memory = await filled(storage, "room:a", "room:b", "room:c", size=10, most=25)
    assert memory.get("room:a") is None
    assert memory.get("room:b") == "value of room:b"
    assert memory.get("room:c") == "value of room:c"


async def test_a_key_that_is_kept_again_takes_room_once(storage: Storage) -> None:
    memory = await filled(storage, *["room:a"] * 5, "room:b", size=10, most=25)
    assert memory.get("room:a") == "value of room:a"


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_is_known(kind: str) -> None:
    payload = '{"id": "i", "channelId": "c", "userId": "u", "sessionIds": ["s"]}'
    assert touched_by(kind, payload) is not None


def test_what_shows_in_a_channels_page_touches_it() -> None:
    about = '{"id": "i", "channelId": "c"}'
    for kind in KINDS:
        tags = touched_by(kind, about)
        assert tags is not None
        shows = "DM" not in kind and ("MESSAGE" in kind or "THREAD" in kind)
        assert (cache.room("c") in tags) == shows, kind
