"""Messages are kept for a time and no longer, if the operator says so."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio

from teamchat.capabilities import Capabilities
from teamchat.chat import Draft, retention
from teamchat.chat.retention import Retention
from teamchat.errors import SettingsError
from teamchat.model import now_ms
from teamchat.model.ids import id_at
from teamchat.server import maintenance
from teamchat.server.maintenance import Sweeper
from teamchat.settings import ChatSettings, Settings, load
from tests.pages import sent_page
from tests.storages import sqlite_only

DAY = 24 * 3600 * 1000
HOUR = 3600 * 1000


async def written(world: Any, room_id: str, author_id: str, age: int, parent_id: str | None = None) -> str:
    """Put a message in the past, `age` in milliseconds, and return its id."""
    at = now_ms() - age
    message_id = id_at(at, f"{room_id} {age} {parent_id} {await world.count('messages')}")
    await world.run(
        """insert into messages (id, room_id, parent_id, author_id, content, created_at)
        values ($1, $2, $3, $4, 'long ago', $5)""",
        message_id,
        room_id,
        parent_id,
        author_id,
        at,
    )
    return message_id


async def ids(world: Any) -> list[str]:
    return [row[0] for row in await world.run("select id from messages order by id")]


async def test_what_is_older_goes_and_what_is_younger_stays(world, ada, channel) -> None:
    await written(world, channel, ada.user.id, 30 * DAY + HOUR)
    kept = await written(world, channel, ada.user.id, 30 * DAY - HOUR)
    fresh = await world.chat.messages.post(ada, channel, Draft("hello"))
    assert await Retention(world.storage, 30).sweep() == 1
    assert await ids(world) == [kept, fresh.id]
    assert await Retention(world.storage, 30).sweep() == 0


async def test_everybody_is_told_of_each_as_if_its_author_had_deleted_it(
    world, ada, bob, channel, direct
) -> None:
    said = await written(world, channel, ada.user.id, 31 * DAY)
    whispered = await written(world, direct, bob.user.id, 32 * DAY)
    await world.events()
    await Retention(world.storage, 30).sweep()
    participants = [ada.user.id, bob.user.id]
    told = {
        "id": whispered,
        "conversationId": direct,
        "participants": participants,
        "authorId": bob.user.id,
    }
    first, second = await world.events()
    assert (first[0], first[1] | {"participants": sorted(first[1]["participants"])}) == (
        "DELETE_DM_MESSAGE",
        told | {"participants": sorted(participants)},
    )
    assert sorted(first[2]) == sorted(participants)
    assert second == (
        "DELETE_MESSAGE",
        {"id": said, "channelId": channel, "authorId": ada.user.id},
        None,
    )


async def test_a_thread_goes_with_its_message_and_a_young_message_keeps_its_thread(
    world, ada, channel
) -> None:
    old = await written(world, channel, ada.user.id, 31 * DAY)
    await written(world, channel, ada.user.id, 31 * DAY - 1, old)
    await world.chat.threads.reply(ada, old, Draft("just now"))
    young = await written(world, channel, ada.user.id, 29 * DAY)
    reply = await world.chat.threads.reply(ada, young, Draft("me too"))
    await world.events()
    await Retention(world.storage, 30).sweep()
    assert await ids(world) == [young, reply.reply.id]
    assert [event[:2] for event in await world.events()] == [
        ("DELETE_MESSAGE", {"id": old, "channelId": channel, "authorId": ada.user.id})
    ]
    assert await world.count("threads") == 1


async def test_its_reactions_go_and_the_bytes_of_its_images(world, ada, channel) -> None:
    old = await written(world, channel, ada.user.id, 31 * DAY)
    await world.chat.reactions.add(ada, old, "👍")
    filename = await world.image(channel, thumbnail=True)
    world.images.kept |= {filename: b"image", f"thumb-{filename}": b"thumbnail", "another": b"kept"}
    await world.run("insert into message_images values ($1, 0, $2)", old, filename)
    await Retention(world.storage, 30).sweep()
    assert [await world.count(table) for table in ("reactions", "message_images", "images")] == [0, 0, 0]
    await world.chat.images.remove_doomed()
    assert world.images.kept == {"another": b"kept"}


async def test_a_conversation_forgets_when_it_was_last_used_and_stays(world, ada, bob, direct) -> None:
    await written(world, direct, bob.user.id, 31 * DAY)
    await world.run("update rooms set last_message_at = $1", now_ms() - 31 * DAY)
    await Retention(world.storage, 30).sweep()
    [listed] = await world.chat.conversations.list(ada)
    assert (listed.id, listed.last_message_at) == (direct, None)


async def test_a_newest_page_in_memory_shows_it_no_more(world, ada, channel) -> None:
    await written(world, channel, ada.user.id, 31 * DAY)
    [message] = (await sent_page(world.chat, ada, channel))["messages"]
    assert message["content"] == "long ago"
    await Retention(world.storage, 30).sweep()
    assert (await sent_page(world.chat, ada, channel))["messages"] == []


async def test_many_go_in_batches_and_others_write_in_between(
    world, ada, channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 5)
    for number in range(8):
        await written(world, channel, ada.user.id, 40 * DAY + number)
    await world.events()
    swept: list[int] = []

    async def sweep() -> None:
        swept.append(await Retention(world.storage, 30).sweep())

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sweep)
            while await world.count("messages") > 3:
                await trio.lowlevel.checkpoint()
            fresh = await world.chat.messages.post(ada, channel, Draft("in between"))
    assert swept == [8]
    kinds = [kind for kind, _, _ in await world.events()]
    assert kinds == ["DELETE_MESSAGE"] * 5 + ["NEW_MESSAGE"] + ["DELETE_MESSAGE"] * 3
    assert await ids(world) == [fresh.id]


async def test_two_at_once_tell_of_each_message_once(
    world, ada, channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "PAUSE_SECONDS", 0.001)
    old = [await written(world, channel, ada.user.id, 40 * DAY - number) for number in range(7)]
    await world.events()
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(Retention(world.storage, 30).sweep)
    assert [payload["id"] for _, payload, _ in await world.events()] == old


@sqlite_only("it asks SQLite how it would look for them")
async def test_the_oldest_are_found_by_an_index(world, ada, channel) -> None:
    plan = await world.run(
        "explain query plan " + retention._OLDEST.replace("$1", "'0'").replace("$2", "0").replace("$3", "1")
    )
    assert any("USING" in str(row) and "id<?" in str(row) for row in plan), plan
    assert not any("TEMP B-TREE" in str(row) for row in plan)


async def test_the_sweeper_keeps_all_unless_it_is_asked_and_then_begins_at_once(
    world, ada, channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await written(world, channel, ada.user.id, 400 * DAY)
    ran: list[list[Any]] = []

    async def repeat(_seconds: float, jobs: Any) -> None:
        ran.append(list(jobs))

    monkeypatch.setattr(maintenance, "_repeat", repeat)
    for days, expected in ((0, [old]), (365, [])):
        app: Any = type("App", (), {})()
        app.storage, app.chat = world.storage, world.chat
        app.capabilities = Capabilities()
        app.accounts = app.audit = type("Swept", (), {"sweep": None})()
        app.settings = Settings(chat=ChatSettings(retention_days=days))
        ran.clear()
        async with trio.open_nursery() as nursery:
            await nursery.start(Sweeper(app).run)
        assert len(ran) == (4 if days else 3)
        if days:
            [job] = [jobs[0] for jobs in ran if isinstance(jobs[0], partial)]  # tasks begin in any order
            await job()
        assert await ids(world) == expected


@pytest.mark.parametrize("milliseconds", [0, 1, 1_700_000_000_000, now_ms()], ids=["0", "1", "then", "now"])
def test_the_bound_of_ids_stands_between_what_was_made_before_and_after(milliseconds: int) -> None:
    bound = retention._id_before(milliseconds)
    assert len(bound) == 32
    assert bound <= id_at(milliseconds, "x")
    if milliseconds:
        assert id_at(milliseconds - 1, "x") < bound


def test_the_number_of_days_is_read_from_the_configuration() -> None:
    assert load(None, {}).chat.retention_days == 0
    assert load(None, {"TEAMCHAT_CHAT__RETENTIONDAYS": "30"}).chat.retention_days == 30
    for wrong in ("-1", "0.5", "a month", "40000"):
        with pytest.raises(
            SettingsError, match=r"chat\.retentionDays must be a whole number from 0 to 36500"
        ):
            load(None, {"TEAMCHAT_CHAT__RETENTIONDAYS": wrong})
