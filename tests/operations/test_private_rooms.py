"""An export takes private channels along with who sees what, and an import shows nobody more than that."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.chat import Chat, Draft
from teamchat.chat.channel_drafts import NewChannel, NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import OperatorError
from teamchat.model import Caller, User
from teamchat.model.pages import Page
from teamchat.operations.import_export.bringing_in import Wishes, bring_in
from teamchat.operations.import_export.exporting import export_to
from teamchat.operations.installation import Installation
from tests.chat.conftest import MemoryImages, World
from tests.operations.exchanging import fresh, records, sound

NAMES = ("Ann", "Ben", "Eva", "Sam")


@asynccontextmanager
async def world_of(installation: Installation) -> AsyncIterator[World]:
    async with installation.storage() as storage:
        images = MemoryImages()
        yield World(storage, Chat.build(storage, images, 1_000), images)


async def callers(world: World) -> list[Caller]:
    """Return the users of these names."""
    found = {
        name: Caller(User(id_, name, email, bool(is_admin)), "a session")
        for id_, name, email, is_admin in await world.run("select id, user_name, email, is_admin from users")
    }
    return [found[name] for name in NAMES]


async def say(world: World, who: Caller, room_id: str, text: str) -> None:
    await world.chat.messages.post(who, room_id, Draft(text))


async def filled(world: World) -> None:
    ann, ben, eva, sam = [await world.user(name, is_admin=name == "Ann") for name in NAMES]
    chat = world.chat
    secret = NewPrivateChannel("Secret", topic="psst", history_for="joiners", members=[eva.user.id])
    room = (await chat.channels.create(ben, secret)).id
    await say(world, ben, room, "before Ann")
    await chat.members.add(ben, room, [ann.user.id])
    await say(world, eva, room, "after Ann")
    group = (await chat.groups.open(ben, GroupOf([eva.user.id, ann.user.id])))[0].id
    await say(world, ann, group, "among three")
    notes = (await chat.groups.notes(sam))[0].id
    await say(world, sam, notes, "milk")
    few = (await chat.channels.create(ann, NewChannel("Few", is_default=False, post_policy="managers"))).id
    await chat.members.join(sam, few)
    await say(world, ann, few, "news")
    left = (await chat.channels.create(ann, NewChannel("Left"))).id
    await chat.members.leave(eva, left)
    opened = (await chat.channels.create(ben, NewPrivateChannel("Opened", members=[ann.user.id]))).id
    await say(world, ben, opened, "hidden")
    await chat.privacy.change(ann, opened, PrivacyChange(is_private=False, history="hide"))
    await say(world, ben, opened, "shown")
    closed = (await chat.channels.create(ben, NewPrivateChannel("Closed"))).id
    await chat.channels.archive(ben, closed, is_archived=True)


async def sights(world: World) -> dict[str, Any]:
    """Return what each user sees: every channel, who is in it, and what was said."""
    seen: dict[str, Any] = {}
    for caller in await callers(world):
        for channel in await world.chat.channels.list(caller):
            if channel.name == "General":  # It is merged with the other's.
                continue
            members = await world.chat.members.page(caller, channel.id, 200, None)
            page = (await world.chat.messages.page(caller, channel.id, Page(200))).messages
            seen[f"{caller.user.user_name}: {channel.name} {channel.id}"] = (
                channel,
                [one for one in members.members if one.role == "manager" or channel.is_default is False],
                [one.content for one in page],
            )
    return seen


@pytest.mark.slow
def test_everybody_sees_after_an_import_what_they_saw_before_and_nothing_more(tmp_path: Path) -> None:
    one, two = fresh(tmp_path / "one"), fresh(tmp_path / "two")

    async def there_and_back() -> tuple[dict[str, Any], dict[str, Any]]:
        async with world_of(one) as world:
            await filled(world)
            before = await sights(world)
        await export_to(one, tmp_path / "out")
        await bring_in(two, tmp_path / "out", Wishes())
        async with world_of(two) as world:
            after = await sights(world)
            await sound(world.storage)
        await bring_in(two, tmp_path / "out", Wishes())
        await export_to(two, tmp_path / "again")
        return before, after

    before, after = trio.run(there_and_back)
    texts = {name: said for name, (_, _, said) in before.items() if said}
    told = {name.rpartition(" ")[0]: said for name, said in texts.items()}
    assert told == {
        "Ann: Secret": ["after Ann"],
        "Ben: Secret": ["before Ann", "after Ann"],
        "Eva: Secret": ["before Ann", "after Ann"],
        **{f"{name}: Ann, Ben, Eva": ["among three"] for name in ("Ann", "Ben", "Eva")},
        "Sam: Sam": ["milk"],
        **{f"{name}: Few": ["news"] for name in NAMES},
        **{f"{name}: Opened": ["hidden", "shown"] for name in ("Ann", "Ben")},
        **{f"{name}: Opened": ["shown"] for name in ("Eva", "Sam")},
    }
    assert after == before
    written, again = (records(tmp_path / name)["channels.jsonl"] for name in ("out", "again"))
    assert set(again.splitlines()) >= {line for line in written.splitlines() if b'"General"' not in line}


@pytest.mark.slow
@pytest.mark.parametrize("goes_on_by", ["its name", "its id"])
def test_what_was_not_shown_there_is_shown_to_nobody_in_a_channel_that_is_here_already(
    tmp_path: Path, goes_on_by: str
) -> None:
    there, here = fresh(tmp_path / "there"), fresh(tmp_path / "here")

    async def imported() -> tuple[list[str], list[str]]:
        async with world_of(there) as world:
            ann = await world.user("Ann", is_admin=True)
            channel = (await world.chat.channels.create(ann, NewChannel("Opened"))).id
            await say(world, ann, channel, "public before")
        if goes_on_by == "its id":
            await export_to(there, tmp_path / "first")
            await bring_in(here, tmp_path / "first", Wishes())
        async with world_of(there) as world:
            await world.chat.privacy.change(ann, channel, PrivacyChange(is_private=True, members=[]))
            hidden = await world.chat.messages.post(ann, channel, Draft("hidden"))
            await world.chat.privacy.change(ann, channel, PrivacyChange(is_private=False, history="hide"))
            await world.chat.threads.reply(ann, hidden.id, Draft("a hidden reply"))
            await say(world, ann, channel, "shown")
        async with world_of(here) as world:
            sam = await world.user("Sam", is_admin=True)
            if goes_on_by == "its name":
                await world.chat.channels.create(sam, NewChannel("opened"))
        await export_to(there, tmp_path / "out")
        report = await bring_in(here, tmp_path / "out", Wishes())
        async with world_of(here) as world:
            await sound(world.storage)
            assert await world.run("select 1 from messages where content like '%hidden%'") == []
            [channel] = [one.id for one in await world.chat.channels.list(sam) if one.name != "General"]
            page = (await world.chat.messages.page(sam, channel, Page(200))).messages
            return [one.content for one in page], report

    said, told = trio.run(imported)
    assert said == (["public before", "shown"] if goes_on_by == "its id" else ["shown"])
    assert any("not everybody saw it there, and everybody would here" in line for line in told)


@pytest.mark.slow
def test_a_program_that_knows_no_private_channels_does_not_read_an_export_with_them(tmp_path: Path) -> None:
    installation = fresh(tmp_path / "one")
    trio.run(export_to, installation, tmp_path / "out")
    head = json.loads((tmp_path / "out" / "export.json").read_text())
    assert head["version"] == 2
    (tmp_path / "out" / "export.json").write_text(json.dumps(head | {"version": 3}))
    with pytest.raises(OperatorError, match="an export of another kind"):
        trio.run(bring_in, installation, tmp_path / "out", Wishes())


@pytest.mark.slow
@pytest.mark.parametrize(
    "odd",
    [
        {"members": [{"userId": "nobody"}]},
        {"members": [], "kind": "group"},
        {"kind": "notes", "members": []},
        {"members": [{"userId": "u1", "visibleFrom": "not one"}]},
        {"members": [{"userId": "u1", "role": "emperor"}], "postPolicy": "nobody"},
        {"topic": "a\0b", "description": "x" * 5_000},
    ],
)
def test_whatever_a_record_says_a_private_channel_is_nobodys_who_is_not_named(
    tmp_path: Path, odd: dict[str, Any]
) -> None:
    installation = fresh(tmp_path / "one")

    async def bring() -> list[str]:
        async with world_of(installation) as world:
            sam = await world.user("Sam")
        await export_to(installation, tmp_path / "out")
        user = {"id": "u1", "userName": "Una", "email": "una@example.org", "createdAt": 1}
        channel = {"id": "1" * 32, "name": "Odd", "createdAt": 1, "isPrivate": True} | odd
        message = {"id": "2" * 32, "channelId": "1" * 32, "content": "hello", "createdAt": 1}
        message |= {"author": {"id": "u1", "userName": "Una"}}
        for name, record in (("users", user), ("channels", channel), ("messages", message)):
            (tmp_path / "out" / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
        await bring_in(installation, tmp_path / "out", Wishes())
        async with world_of(installation) as world:
            await sound(world.storage)
            return [channel.name for channel in await world.chat.channels.list(sam)]

    assert "Odd" not in trio.run(bring)
