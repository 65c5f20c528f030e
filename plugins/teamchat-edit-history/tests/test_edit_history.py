"""H-6: what messages said before they were edited, on the storage that the tests run on."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace
from teamchat_edit_history import EDIT_HISTORY
from teamchat_edit_history.history import History, Revision
from teamchat_edit_history.keeping import Keeping

from teamchat import Capability, Forbidden, NotFound, Storage
from teamchat.application import Application
from teamchat.chat import Draft, MessageEdit
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.retention import Retention
from teamchat.mentions import MENTIONS
from teamchat.model import Caller, Message
from teamchat.read_state import READ_STATE
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.threads.offer import THREADS
from teamchat.settings import Settings
from teamchat.storage.log import logged_in
from teamchat.testing import CapabilityContract, exports
from tests.storages import open_storage


class TestEditHistory(CapabilityContract):
    def capability(self) -> Capability:
        return EDIT_HISTORY

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await app.chat.messages.edit(caller, message.id, MessageEdit("What is on tonight?"))


class WithMentions(TestEditHistory):
    __test__ = False
    kept_for = "author"

    def settings(self) -> Settings:
        settings = Settings()
        return replace(settings, chat=replace(settings.chat, edit_history=self.kept_for))

    def beside(self) -> Sequence[Capability]:
        return [READ_STATE, THREADS, LEVELS, MENTIONS]


class ForEveryone(WithMentions):
    __test__ = False
    kept_for = "everyone"


class ForNobody(WithMentions):
    __test__ = False
    kept_for = "nobody"


@dataclass
class World:
    """A server with an admin, two users, and a private channel of which one of these is the manager."""

    app: Application
    history: History
    admin: Caller
    ada: Caller
    bob: Caller
    channel: str

    async def post(self, text: str = "one", channel: str = "") -> Message:
        return await self.app.chat.messages.post(self.bob, channel or self.channel, Draft(text))

    async def edit(self, message: Message, text: str) -> Message:
        return await self.app.chat.messages.edit(self.bob, message.id, MessageEdit(text))

    async def texts(self, message: Message, caller: Caller | None = None) -> list[str]:
        return [one.content for one in await self.history.read(caller or self.bob, message.id)]

    async def rows(self) -> int:
        async with self.app.storage.read() as tx:
            [(count,)] = await tx.fetch("select count(*) from edit_history")
        return int(count)


@asynccontextmanager
async def opened(tmp_path: Path, contract: type[WithMentions] = WithMentions) -> AsyncIterator[World]:
    async with contract().application(tmp_path) as app:

        async def user(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token)

        admin = await user("admin@localhost")
        for email in ("ada@example.org", "bob@example.org"):
            await app.accounts.users.add(admin, email)
        ada, bob = await user("ada@example.org"), await user("bob@example.org")
        channel = (await app.chat.channels.create(ada, NewPrivateChannel("Ours"))).id
        await app.chat.members.add(ada, channel, [bob.user.id, admin.user.id])
        yield World(app, History(app), admin, ada, bob, channel)


async def test_the_present_text_is_the_first_and_each_has_its_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first = await world.post("one")
        assert await world.history.read(world.bob, first.id) == [Revision("one", [], first.created_at)]
        second = await world.edit(first, "two")
        third = await world.edit(first, "three")
        found = await world.history.read(world.bob, first.id)
        times = (third.updated_at, second.updated_at, first.created_at)
        assert [(one.content, one.at) for one in found] == list(
            zip(("three", "two", "one"), times, strict=True)
        )


async def test_an_edit_that_changes_no_text_is_no_revision(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("one")
        await world.edit(message, "one")
        assert await world.history.read(world.bob, message.id) == [Revision("one", [], message.created_at)]
        edited = await world.edit(message, "two")
        [present, before] = await world.history.read(world.bob, message.id)
        assert (present.at, before.at) == (edited.updated_at, message.created_at)


async def test_each_text_has_the_entities_that_it_had(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("hello @ada")
        await world.edit(message, "oh, @ada and @bob")
        present, before = await world.history.read(world.ada, message.id)
        assert [one.id for one in present.entities] == [world.ada.user.id, world.bob.user.id]
        assert [(one["id"], one["offset"]) for one in before.entities] == [(world.ada.user.id, 6)]


async def test_the_author_and_managers_of_the_channel_read_it_and_nobody_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("my password")
        await world.edit(message, "hello")
        for caller in (world.bob, world.ada):
            assert await world.texts(message, caller) == ["hello", "my password"]
        with pytest.raises(Forbidden):  # An admin who is a member, and no manager.
            await world.texts(message, world.admin)
        await world.app.chat.members.remove(world.ada, world.channel, world.admin.user.id)
        for ask in (world.history.read, world.history.drop):
            with pytest.raises(NotFound):
                await ask(world.admin, message.id)


async def test_everyone_who_sees_the_message_reads_it_where_the_owner_wants_so(tmp_path: Path) -> None:
    async with opened(tmp_path, ForEveryone) as world:
        message = await world.post("one")
        await world.edit(message, "two")
        assert await world.texts(message, world.admin) == ["two", "one"]


async def test_nothing_is_kept_for_nobody_and_what_was_kept_is_removed(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("one")
        await world.edit(message, "two")
        settings = world.app.settings
        closed = dataclasses.replace(
            world.app, settings=replace(settings, chat=replace(settings.chat, edit_history="nobody"))
        )
        await Keeping(world.app).sweep()
        assert [one.content for one in await History(closed).read(world.bob, message.id)] == ["two"]
        with pytest.raises(Forbidden):
            await History(closed).read(world.ada, message.id)
        assert await world.texts(message) == ["two", "one"]
        await Keeping(closed).sweep()
        assert await world.rows() == 0
    async with opened(tmp_path / "another", ForNobody) as world:
        await world.edit(await world.post("one"), "two")
        assert await world.rows() == 0


async def test_the_author_alone_drops_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("one")
        await world.edit(message, "two")
        third = await world.edit(message, "three")
        for caller in (world.ada, world.admin):
            with pytest.raises(Forbidden):
                await world.history.drop(caller, message.id)
        for _ in range(2):
            await world.history.drop(world.bob, message.id)
        [present] = await world.history.read(world.bob, message.id)
        assert (present.content, present.at) == ("three", third.updated_at)
        async with world.app.storage.read() as tx:
            rows = await tx.fetch("select content from edit_history")
        assert {content for (content,) in rows} == {None}
        await world.edit(message, "four")
        assert await world.texts(message) == ["four", "three"]


async def test_what_was_dropped_does_not_come_back_by_an_import(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("my password")
        for text in ("hello", "hello all"):
            await world.edit(message, text)
        await exports.export(world.app, tmp_path / "before")
        await world.history.drop(world.bob, message.id)
        await world.edit(message, "hello everybody")
        await exports.bring_in(world.app, tmp_path / "before")
        assert await world.texts(message) == ["hello everybody", "hello all"]


async def test_fifty_texts_are_kept_the_present_one_among_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("0")
        for number in range(1, 53):
            await world.edit(message, str(number))
        assert await world.texts(message) == [str(number) for number in range(52, 2, -1)]
        assert await world.rows() == 49


@pytest.mark.parametrize("way", ["deleted", "retention", "its channel deleted"])
async def test_it_goes_with_its_message(tmp_path: Path, way: str) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("one")
        await world.edit(message, "two")
        if way == "deleted":
            await world.app.chat.messages.delete(world.admin, message.id)
        elif way == "retention":
            await Retention(world.app.storage, -1, world.app.capabilities).sweep()
        else:
            await world.app.chat.channels.delete(world.admin, world.channel)
        assert await world.rows() == 0
        with pytest.raises(NotFound):
            await world.texts(message)


async def test_what_somebody_edited_away_goes_with_their_account(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("my password")
        await world.edit(message, "hello")
        await world.app.accounts.users.remove(world.admin, world.bob.user.id)
        assert await world.texts(message, world.ada) == ["hello"]


async def test_direct_messages_and_replies_have_one_that_their_author_reads(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        chat = world.app.chat
        conversation = (await chat.conversations.open(world.bob, world.ada.user.id)).conversation.id
        direct = await chat.conversations.post(world.bob, conversation, Draft("one"))
        await chat.conversations.edit(world.bob, conversation, direct.id, MessageEdit("two"))
        assert await world.texts(direct) == ["two", "one"]
        with pytest.raises(Forbidden):
            await world.texts(direct, world.ada)
        with pytest.raises(NotFound):
            await world.texts(direct, world.admin)
        reply = (await chat.threads.reply(world.bob, (await world.post()).id, Draft("three"))).reply
        await world.edit(reply, "four")
        assert await world.texts(reply, world.ada) == ["four", "three"]


async def test_edits_at_once_lose_no_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("0")
        async with trio.open_nursery() as nursery:
            for number in range(1, 9):
                nursery.start_soon(world.edit, message, str(number))
        assert sorted(await world.texts(message)) == [str(number) for number in range(9)]


async def test_x15_no_event_has_what_was_edited_away(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post("my password")
        await world.edit(message, "hello")
        await world.history.drop(world.bob, message.id)
        async with world.app.storage.read() as tx:
            logged = [json.loads(one.payload) for one in await logged_in(tx, 0, 1000)]
        assert "my password" not in str(logged)
