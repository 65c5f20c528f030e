"""H-8: drafts that follow from device to device, on the storage that the tests run on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import trio
from msgspec import UNSET
from msgspec.structs import replace
from teamchat_drafts import DRAFTS
from teamchat_drafts.drafts import MOST_DRAFTS, DraftBody, Drafts
from teamchat_drafts.stored import Draft as Kept
from teamchat_drafts.tables import TOMBSTONE_MS, Tombstones

from teamchat import BadRequest, Capability, Gone, NotFound, PreconditionFailed, Storage
from teamchat.application import Application
from teamchat.chat import Draft, MessageEdit
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.retention import Retention
from teamchat.model import Caller, Message
from teamchat.storage.log import logged_in
from teamchat.testing import CapabilityContract
from teamchat.web import Condition
from teamchat.web.app import create_app
from tests.storages import open_storage
from tests.web.client import Client

NEW = Condition(None)


class TestDrafts(CapabilityContract):
    def capability(self) -> Capability:
        return DRAFTS

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        replying = DraftBody(message.channel_id, "on second thought …", thread_id=message.id)
        quoting = DraftBody(message.channel_id, "as was said", quoted_message_id=message.id)
        for body in (replying, quoting):
            await Drafts(app).save(caller, str(uuid4()), body, NEW)

    def drafts(self, app: Application, caller: Caller) -> Sequence[Draft]:
        return [app.capabilities.drafts.extended(Draft)("done", draft_id=str(uuid4()))]  # type: ignore[call-arg]


@dataclass
class World:
    """A server with two users, and a channel."""

    app: Application
    drafts: Drafts
    ada: Caller
    bob: Caller
    channel: str

    async def save(
        self, text: str = "not yet", *, id_: str | None = None, version: int | None = None, **fields: Any
    ) -> Kept:
        body = DraftBody(fields.pop("place_id", self.channel), text, **fields)
        return await self.drafts.save(self.ada, id_ or str(uuid4()), body, Condition(version))

    async def send(self, text: str, draft_id: str, caller: Caller | None = None) -> Message:
        draft = self.app.capabilities.drafts.extended(Draft)(text, draft_id=draft_id)  # type: ignore[call-arg]
        return await self.app.chat.messages.post(caller or self.ada, self.channel, draft)

    async def texts(self, caller: Caller | None = None) -> list[str]:
        return [one.content for one in (await self.drafts.all(caller or self.ada))[0]]

    async def events(self) -> list[tuple[dict[str, Any], Any]]:
        async with self.app.storage.read() as tx:
            logged = await logged_in(tx, 0, 1000)
        return [(json.loads(one.payload), one.audience) for one in logged if one.type == "DRAFT_CHANGED"]

    async def rows(self) -> int:
        async with self.app.storage.read() as tx:
            [(count,)] = await tx.fetch("select count(*) from drafts")
        return int(count)


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[World]:
    async with TestDrafts().application(tmp_path) as app:
        yield await _world(app)


async def _world(app: Application) -> World:
    async def user(email: str) -> Caller:
        _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
        return await app.accounts.authenticate(signed_in.access_token)

    ada = await user("admin@localhost")
    await app.accounts.users.add(ada, "bob@example.org")
    [channel] = await app.chat.channels.list(ada)
    return World(app, Drafts(app), ada, await user("bob@example.org"), channel.id)


async def test_a_draft_is_read_on_another_device_and_by_nobody_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        saved = await world.save("half a thought")
        assert (saved.version, saved.place_id) == (1, world.channel)
        assert (await world.drafts.all(world.ada))[0] == [saved]
        assert await world.drafts.one(world.ada, saved.id) == saved
        assert await world.texts(world.bob) == []
        with pytest.raises(NotFound):
            await world.drafts.one(world.bob, saved.id)
        # The ids are each user's own.
        body = DraftBody(world.channel, "bob's")
        await world.drafts.save(world.bob, saved.id, body, NEW)
        assert await world.texts() == ["half a thought"]


async def test_nothing_is_overwritten_unseen(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first = await world.save("one")
        second = await world.save("two", id_=first.id, version=1)
        assert second.version == 2
        for stale in (None, 1, 3):
            with pytest.raises(PreconditionFailed):
                await world.save("three", id_=first.id, version=stale)
        with pytest.raises(PreconditionFailed):
            await world.save("three", version=1)  # There is none with this id.
        with pytest.raises(PreconditionFailed):
            await world.drafts.delete(world.ada, first.id, Condition(1))
        with pytest.raises(BadRequest, match="If-Match"):
            await world.drafts.save(world.ada, first.id, DraftBody(world.channel, "three"), None)
        assert await world.texts() == ["two"]


async def test_of_two_devices_that_save_at_once_one_is_refused_and_keeps_its_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first = await world.save("both have this")
        refused = []

        async def save(text: str) -> None:
            try:
                await world.save(text, id_=first.id, version=1)
            except PreconditionFailed:
                refused.append(text)
                await world.save(text)

        async with trio.open_nursery() as nursery:
            for text in ("from the phone", "from the desk"):
                nursery.start_soon(save, text)
        assert len(refused) == 1
        assert sorted(await world.texts()) == ["from the desk", "from the phone"]


async def test_what_was_sent_does_not_come_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        saved = await world.save("hello")
        await world.send("hello", saved.id)
        never_saved = str(uuid4())
        await world.send("at once", never_saved)
        assert await world.texts() == []
        for id_ in (saved.id, never_saved):
            for version in (None, 1, 2):
                with pytest.raises(Gone):
                    await world.save("from a sleeping tab", id_=id_, version=version)
            with pytest.raises(NotFound):
                await world.drafts.one(world.ada, id_)
        told = [payload for payload, _ in await world.events()]
        assert told == [
            {"id": saved.id, "version": 1, "deleted": False},
            {"id": saved.id, "version": 2, "deleted": True},
            {"id": never_saved, "version": 1, "deleted": True},
        ]
        assert {audience for _, audience in await world.events()} == {(world.ada.user.id,)}


async def test_sending_and_saving_at_once_leave_no_draft(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        for number in range(10):
            saved = await world.save(str(number))

            async def save(id_: str = saved.id) -> None:
                with suppress(Gone):
                    await world.save("later", id_=id_, version=1)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(save)
                nursery.start_soon(world.send, "sent", saved.id)
        assert await world.texts() == []


async def test_a_message_that_is_refused_leaves_its_draft(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        saved = await world.save("hello")
        with pytest.raises(BadRequest):
            await world.send(" ", saved.id)
        with pytest.raises(BadRequest, match="UUID"):
            await world.send("hello", "no id")
        assert await world.texts() == ["hello"]


async def test_an_edit_ends_no_draft_and_nobody_ends_another_ones(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message, saved = await world.send("hello", str(uuid4())), await world.save("kept")
        extended = world.app.capabilities.drafts.extended
        edit = extended(MessageEdit)("changed", draft_id=saved.id)  # type: ignore[call-arg]
        await world.app.chat.messages.edit(world.ada, message.id, edit)
        draft = extended(Draft)("bob's", draft_id=saved.id)  # type: ignore[call-arg]
        await world.app.chat.messages.post(world.bob, world.channel, draft)
        assert await world.texts() == ["kept"]


async def test_k1_a_token_ends_no_draft_of_a_place_that_it_does_not_reach(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        other = await world.app.chat.channels.create(world.ada, NewPrivateChannel("Elsewhere"))
        far, near = await world.save("far", place_id=other.id), await world.save("near")
        token = replace(world.ada, places=frozenset({world.channel}))
        for draft_id in (far.id, near.id):
            await world.send("sent", draft_id, token)
        await world.drafts.delete(token, far.id, None)
        with pytest.raises(Gone):
            await world.drafts.save(token, far.id, DraftBody(world.channel, "moved"), Condition(1))
        assert await world.texts() == ["far"]
        assert [payload["id"] for payload, _ in await world.events() if payload["deleted"]] == [near.id]


async def test_deleting_is_told_once_and_leaves_a_tombstone_for_thirty_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as world:
        saved, kept = await world.save("never mind"), await world.save("kept")
        for _ in range(2):
            await world.drafts.delete(world.ada, saved.id, None)
        assert len([payload for payload, _ in await world.events() if payload["deleted"]]) == 1
        sweeper = Tombstones(world.app.storage)
        await sweeper.sweep()
        with pytest.raises(Gone):
            await world.save("back", id_=saved.id, version=None)
        monkeypatch.setattr("teamchat_drafts.tables.TOMBSTONE_MS", -1)
        await sweeper.sweep()
        assert await world.rows() == 1
        assert (await world.drafts.one(world.ada, kept.id)).content == "kept"
        assert TOMBSTONE_MS == 30 * 24 * 3600 * 1000


async def test_all_of_a_draft_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.send("a thread", str(uuid4()))
        entity = {"type": "user", "offset": 0, "length": 4, "id": world.bob.user.id}
        client = Client(await _site(world), await _token(world))
        path = f"/me/drafts/{uuid4()}"
        body = {
            "placeId": world.channel,
            "threadId": message.id,
            "content": "@bob ",
            "entities": [entity],
            "files": ["a1"],
            "quotedMessageId": message.id,
        }
        saved = await client.call("PUT", path, body, headers=[("If-None-Match", "*")])
        assert saved.status == 200
        assert saved.json()["draft"].items() >= body.items()
        assert (await client.call("GET", path)).json() == saved.json()
        bare = {"placeId": world.channel, "content": "", "threadId": None}
        emptied = await client.call("PUT", path, bare, headers=[("If-Match", '"1"')])
        assert set(emptied.json()["draft"]) == {"id", "placeId", "content", "version", "updatedAt"}
        for headers, status in (
            ([], 400),
            ([("If-Match", "2")], 400),
            ([("If-Match", "*")], 400),
            ([("If-Match", '"2"'), ("If-None-Match", "*")], 400),
            ([("If-Match", '"9"')], 412),
            ([("If-None-Match", "*")], 412),
        ):
            assert (await client.call("PUT", path, bare, headers=headers)).status == status
        listed = (await client.call("GET", "/me/drafts")).json()
        assert [one["version"] for one in listed["drafts"]] == [2]
        assert int(listed["asOf"]) > 0
        assert (await client.call("DELETE", path)).json() == {"success": True}
        assert (await client.call("PUT", path, bare, headers=[("If-Match", '"2"')])).status == 410


async def test_what_a_draft_names_must_be_seen(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        hidden = (await world.app.chat.channels.create(world.bob, NewPrivateChannel("Hidden"))).id
        said = await world.app.chat.messages.post(world.bob, hidden, Draft("secret"))
        nobody = "f" * 32
        for fields in (
            {"place_id": hidden},
            {"thread_id": said.id},
            {"place_id": nobody},
            {"thread_id": nobody},
        ):
            with pytest.raises(NotFound):
                await world.save(**fields)
        for quoted in (said.id, nobody):
            with pytest.raises(BadRequest, match="quotedMessageId"):
                await world.save(quoted_message_id=quoted)
        conversation = (await world.app.chat.conversations.open(world.ada, world.bob.user.id)).conversation.id
        await world.save("in private", place_id=conversation)
        assert await world.texts() == ["in private"]


@pytest.mark.parametrize("way", ["unseen", "its channel deleted", "its thread deleted"])
async def test_x3_a_draft_out_of_sight_is_as_one_of_a_place_that_is_gone(tmp_path: Path, way: str) -> None:
    async with opened(tmp_path) as world:
        chat, saved = world.app.chat, []
        place = (await chat.channels.create(world.bob, NewPrivateChannel("Hidden"))).id
        await chat.members.add(world.bob, place, [world.ada.user.id])
        said = await chat.messages.post(world.bob, place, Draft("secret"))
        quoting = await world.save("quoting", quoted_message_id=said.id)
        for _ in range(2):
            saved.append((await world.save("hidden", place_id=place, thread_id=said.id)).id)
        told = len(await world.events())
        if way == "its thread deleted":
            await chat.messages.delete(world.bob, said.id)
        elif way == "its channel deleted":
            await chat.channels.delete(world.ada, place)
        else:
            await chat.members.remove(world.bob, place, world.ada.user.id)
        assert await world.texts() == ["quoting"]
        assert (await world.drafts.one(world.ada, quoting.id)).quoted_message_id is UNSET
        for condition in (None, 1, 2):
            with pytest.raises(Gone):
                await world.save("again", id_=saved[0], version=condition)
        with pytest.raises(NotFound):
            await world.drafts.one(world.ada, saved[0])
        await world.drafts.delete(world.ada, saved[1], Condition(7))
        assert [one for one, _ in await world.events()][told:] == [
            {"id": saved[1], "version": 2, "deleted": True}
        ]


async def test_sight_that_is_regained_brings_drafts_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        chat = world.app.chat
        place = (await chat.channels.create(world.bob, NewPrivateChannel("Hidden"))).id
        await chat.members.add(world.bob, place, [world.ada.user.id])
        saved = await world.save("hidden", place_id=place)
        await chat.members.remove(world.bob, place, world.ada.user.id)
        assert await world.texts() == []
        await chat.members.add(world.bob, place, [world.ada.user.id])
        assert await world.texts() == ["hidden"]
        assert (await world.save("seen", id_=saved.id, version=1, place_id=place)).version == 2


async def test_retention_takes_what_a_draft_quotes(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        said = await world.send("old", str(uuid4()))
        saved = await world.save("quoting", quoted_message_id=said.id)
        await Retention(world.app.storage, -1, world.app.capabilities).sweep()
        read = await world.drafts.one(world.ada, saved.id)
        assert (read.content, read.version) == ("quoting", 1)
        async with world.app.storage.read() as tx:
            assert await tx.fetch("select quoted_id from drafts where id = $1", saved.id) == [(None,)]


async def test_a_user_who_is_removed_leaves_no_draft(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.drafts.save(world.bob, str(uuid4()), DraftBody(world.channel, "bob's"), NEW)
        await world.app.accounts.users.remove(world.ada, world.bob.user.id)
        assert await world.rows() == 0


async def test_a_user_has_so_many_drafts_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("teamchat_drafts.drafts.MOST_DRAFTS", 3)
    async with opened(tmp_path) as world:
        saved = [await world.save(str(number)) for number in range(3)]
        with pytest.raises(BadRequest, match="drafts already"):
            await world.save("one too many")
        await world.save("again", id_=saved[0].id, version=1)
        await world.drafts.delete(world.ada, saved[1].id, None)
        await world.save("the last")
        assert sorted(await world.texts()) == ["2", "again", "the last"]
        assert MOST_DRAFTS == 500


async def _token(world: World) -> str:
    _, signed_in = await world.app.accounts.sign_in("admin@localhost", "192.0.2.1", "another device")
    return str(signed_in.access_token)


async def _site(world: World) -> Any:
    return create_app(world.app, TestDrafts().routes(world.app))
