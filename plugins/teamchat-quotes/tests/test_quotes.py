"""H-4: messages that quote others, on the storage that the tests run on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from teamchat_quotes import QUOTES
from teamchat_quotes.exported import PortableQuote, QuotesExported

from teamchat import BadRequest, Capability, NotFound, Storage, Transaction
from teamchat.application import Application
from teamchat.chat import Draft, MessageEdit, deletion
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.privacy import PrivacyChange
from teamchat.chat.retention import Retention
from teamchat.model import Caller, Message
from teamchat.model.pages import Page
from teamchat.storage.log import logged_in
from teamchat.testing import CapabilityContract, exports
from tests.storages import open_storage

SECRET = "what nobody shall read"
NOBODYS = "0192f0a0b1c27d3e8f4a5b6c7d8e9f00"


class TestQuotes(CapabilityContract):
    def capability(self) -> Capability:
        return QUOTES

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        quoted = await app.chat.messages.post(caller, message.channel_id, Draft("said before"))
        await app.chat.messages.edit(
            caller, message.id, _drafted(app, MessageEdit, message.content, quoted.id)
        )


@dataclass
class World:
    """A server with three users, and a channel."""

    app: Application
    ada: Caller
    bob: Caller
    eve: Caller
    channel: str

    async def post(
        self,
        text: str = "hello",
        quoted: str | None = None,
        *,
        by: Caller | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        draft = _drafted(self.app, Draft, text, quoted)
        return wire(await self.app.chat.messages.post(by or self.ada, self.channel, draft, key))

    async def edit(self, message: dict[str, Any], text: str | None = None, **fields: Any) -> dict[str, Any]:
        given = fields if text is None else {"content": text, **fields}
        edit = self.app.capabilities.drafts.extended(MessageEdit)(**given)
        return wire(await self.app.chat.messages.edit(self.ada, message["id"], edit))

    async def reply(self, parent: dict[str, Any], text: str, quoted: str | None = None) -> dict[str, Any]:
        draft = _drafted(self.app, Draft, text, quoted)
        return wire((await self.app.chat.threads.reply(self.ada, parent["id"], draft)).reply)

    async def page(self, caller: Caller | None = None) -> dict[str, dict[str, Any]]:
        found = await self.app.chat.messages.page(caller or self.bob, self.channel, Page(50))
        return {one["id"]: one for one in wire(found.messages)}

    async def payloads(self, about: str) -> list[dict[str, Any]]:
        """Return the message in each event of the log that is about one."""
        async with self.app.storage.read() as tx:
            told = [json.loads(event.payload) for event in await logged_in(tx, 0, 1000)]
        said = [payload.get("reply", payload) for payload in told]
        return [one for one in said if one.get("id") == about and "content" in one]

    async def log(self) -> str:
        async with self.app.storage.read() as tx:
            return "".join(event.payload for event in await logged_in(tx, 0, 1000))


def _drafted(app: Application, kind: Any, text: str | None, quoted: str | None) -> Any:
    fields = ({} if text is None else {"content": text}) | (
        {} if quoted is None else {"quoted_message_id": quoted}
    )
    return app.capabilities.drafts.extended(kind)(**fields)


def wire(value: Any) -> Any:
    """Return a value as a client reads it."""
    return json.loads(msgspec.json.encode(value))


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[World]:
    async with TestQuotes().application(tmp_path) as app:

        async def user(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token)

        ada = await user("admin@localhost")
        for email in ("bob@example.org", "eve@example.org"):
            await app.accounts.users.add(ada, email)
        [channel] = await app.chat.channels.list(ada)
        yield World(app, ada, await user("bob@example.org"), await user("eve@example.org"), channel.id)


async def test_a_message_carries_what_it_quotes_without_the_quote_in_that(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first = await world.post("one")
        assert "quotedMessageId" not in first
        second = await world.post("two", first["id"])
        third = await world.post("three", second["id"])
        assert (second["quotedMessageId"], second["quoted"]) == (first["id"], first)
        plain = {name: value for name, value in second.items() if not name.startswith("quoted")}
        assert (third["quotedMessageId"], third["quoted"]) == (second["id"], plain)
        assert await world.page() == {one["id"]: one for one in (first, second, third)}
        assert await world.payloads(third["id"]) == [third]


async def test_what_is_stored_is_the_id_alone_so_an_edit_shows_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        first = await world.post("as it was")
        second = await world.post("two", first["id"])
        await world.app.chat.messages.encoded_page(
            world.bob, world.channel, Page(50), lambda page: msgspec.json.encode({"messages": page.messages})
        )
        await world.edit(first, "as it is")
        shown = (await world.page())[second["id"]]
        assert shown["quoted"]["content"] == "as it is"
        encoded = await world.app.chat.messages.encoded_page(
            world.bob, world.channel, Page(50), lambda page: msgspec.json.encode({"messages": page.messages})
        )
        kept = json.loads(encoded.plain)
        assert kept["messages"][-1] == shown, "the page that is kept in memory is the old one"
        async with world.app.storage.read() as tx:
            assert [tuple(row) for row in await tx.fetch("select message_id, quoted_id from quotes")] == [
                (second["id"], first["id"])
            ]


@pytest.mark.parametrize("way", ["deleted", "retention"])
async def test_x15_what_is_deleted_is_gone_where_it_stands_as_quoted(tmp_path: Path, way: str) -> None:
    async with opened(tmp_path) as world:
        first = await world.post(SECRET)
        if way == "retention":
            first = await _made_old(world, first)
        second = await world.post("two", first["id"])
        await world.edit(second, "two, edited")
        await world.reply(second, "in a thread", first["id"])
        if way == "deleted":
            await world.app.chat.messages.delete(world.ada, first["id"])
        else:
            await Retention(world.app.storage, 1, world.app.capabilities).sweep()
        shown = (await world.page())[second["id"]]
        assert shown["quotedMessageId"] == first["id"]
        assert "quoted" not in shown
        assert SECRET not in await world.log()
        told = await world.payloads(second["id"])
        assert [one["content"] for one in told] == ["", "two, edited"], "the first is gone with the edit"
        assert not [one for one in told if "quoted" in one]
        with pytest.raises(NotFound):
            await world.app.chat.messages.one(world.ada, first["id"])


@pytest.mark.parametrize("most", [deletion.PART, 0], ids=["in one transaction", "and removed behind"])
async def test_x15_a_reply_that_goes_with_its_thread_is_gone_as_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(deletion, "PART", most)
    async with opened(tmp_path) as world:
        parent = await world.post("parent")
        reply = await world.reply(parent, SECRET)
        second = await world.post("two", reply["id"])
        assert second["quoted"]["threadId"] == parent["id"]
        await world.app.chat.messages.delete(world.ada, parent["id"])
        assert "quoted" not in (await world.page())[second["id"]]
        assert SECRET not in await world.log()


async def test_x15_what_was_edited_away_is_gone_as_quoted_and_the_message_stays_in_the_log(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        first = await world.post(SECRET)
        second = await world.post("two", first["id"])
        await world.edit(first, "other words")
        assert SECRET not in await world.log()
        [told] = await world.payloads(second["id"])
        assert told == {name: value for name, value in second.items() if name != "quoted"}


async def test_what_is_said_elsewhere_is_told_by_its_id_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        conversation = (await world.app.chat.conversations.open(world.ada, world.bob.user.id)).conversation.id
        said = await world.app.chat.conversations.post(world.ada, conversation, Draft(SECRET))
        here = await world.post("look", said.id, by=world.bob)
        assert here["quotedMessageId"] == said.id
        assert "quoted" not in here
        assert (await world.page(world.ada))[here["id"]] == here, (
            "nor to who sees both: pages are the same for all"
        )
        assert SECRET not in json.dumps(await world.payloads(here["id"]))
        assert (await world.app.chat.messages.one(world.bob, said.id)).message.content == SECRET
        with pytest.raises(NotFound):
            await world.app.chat.messages.one(world.eve, said.id)
        there = _drafted(world.app, Draft, "again", said.id)
        both = wire(await world.app.chat.conversations.post(world.bob, conversation, there))
        assert both["quoted"]["content"] == SECRET


async def test_x3_what_the_author_does_not_see_is_refused_as_what_is_not_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        conversation = (await world.app.chat.conversations.open(world.ada, world.bob.user.id)).conversation.id
        said = await world.app.chat.conversations.post(world.ada, conversation, Draft(SECRET))
        refused = []
        for quoted in (said.id, NOBODYS, "", "dm:no", "\0"):
            with pytest.raises(BadRequest) as error:
                await world.post("look", quoted, by=world.eve)
            refused.append(str(error.value.sentence))
        assert refused == ["quotedMessageId is not the id of a message."] * 5
        assert not await world.page()


async def test_who_joined_later_is_shown_nothing_of_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        draft = NewPrivateChannel("Hidden past", history_for="joiners")
        world.channel = (await world.app.chat.channels.create(world.ada, draft)).id
        before = await world.post(SECRET)
        among_us = await world.post("of before too", before["id"])
        await world.app.chat.members.add(world.ada, world.channel, [world.bob.user.id])
        after = await world.post("after", before["id"])
        assert after["quotedMessageId"] == before["id"]
        assert "quoted" not in after
        assert (await world.page(world.bob)) == {after["id"]: after}
        assert (await world.page(world.ada))[after["id"]] == after
        assert (await world.page(world.ada))[among_us["id"]]["quoted"] == before
        late = await world.reply(before, "in the old thread", after["id"])
        assert late["quoted"]["id"] == after["id"], "who sees the old thread sees what is newer"


@pytest.mark.parametrize(("history", "is_shown"), [("show", True), ("hide", False)])
async def test_of_a_channel_that_became_public_everybody_is_shown_what_they_see(
    tmp_path: Path, history: str, *, is_shown: bool
) -> None:
    async with opened(tmp_path) as world:
        draft = NewPrivateChannel("Soon for all")
        world.channel = (await world.app.chat.channels.create(world.ada, draft)).id
        before = await world.post(SECRET)
        change = PrivacyChange(is_private=False, history=history)
        await world.app.chat.privacy.change(world.ada, world.channel, change)
        after = await world.post("after", before["id"])
        assert ("quoted" in after) == is_shown
        assert ((await world.page(world.eve))[after["id"]]) == after


async def test_a_quote_stands_alone_and_an_edit_takes_or_changes_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one, two = await world.post("one"), await world.post("two")
        with pytest.raises(BadRequest):
            await world.post("")
        alone = await world.post("", one["id"])
        assert (alone["content"], alone["quoted"]) == ("", one)
        assert (await world.edit(alone, ""))["quoted"] == one
        assert (await world.edit(alone, "", quoted_message_id=two["id"]))["quoted"] == two
        with pytest.raises(BadRequest):
            await world.edit(alone, "", quoted_message_id=None)
        with pytest.raises(BadRequest, match="itself"):
            await world.edit(alone, "", quoted_message_id=alone["id"])
        taken = await world.edit(alone, "by itself", quoted_message_id=None)
        assert "quotedMessageId" not in taken
        assert (await world.page())[alone["id"]] == taken


async def test_an_edit_may_name_what_is_quoted_already_though_it_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one = await world.post("one")
        two = await world.post("two", one["id"])
        await world.app.chat.messages.delete(world.ada, one["id"])
        edited = await world.edit(two, "two, edited", quoted_message_id=one["id"])
        assert edited["quotedMessageId"] == one["id"]


async def test_d07b_a_retry_is_answered_with_the_quote(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one = await world.post("one")
        first = await world.post("two", one["id"], key="a key")
        assert await world.post("two", one["id"], key="a key") == first
        assert len(await world.page()) == 2


async def test_a_message_that_goes_takes_its_quote_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one = await world.post("one")
        two = await world.post("two", one["id"])
        await world.app.chat.messages.delete(world.ada, two["id"])
        async with world.app.storage.read() as tx:
            assert not await tx.fetch("select 1 from quotes")


async def test_an_import_takes_quotes_of_what_came_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one = await world.post("one")
        two, three = await world.post("two", one["id"]), await world.post("three", one["id"])
        exported = await _exported(world)
        assert [one.message_id for one in exported] == [two["id"], three["id"]]
        async with world.app.storage.write() as tx:
            await tx.fetch("delete from quotes")
        missing = msgspec.structs.replace(exported[1], quoted_message_id=NOBODYS)
        found = await _taken(world, [exported[0], missing])
        assert (found.created, len(found.omitted)) == (1, 1)
        assert (await world.page())[two["id"]]["quoted"] == one
        assert (await _taken(world, [exported[0]])).found == 1


async def test_an_import_keeps_that_something_was_quoted_which_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one = await world.post("one")
        two = await world.post("two", one["id"])
        await world.app.chat.messages.delete(world.ada, one["id"])
        [exported] = await _exported(world)
        assert exported.quoted_channel_id is None
        async with world.app.storage.write() as tx:
            await tx.fetch("delete from quotes")
        assert (await _taken(world, [exported])).created == 1
        assert (await world.page())[two["id"]]["quotedMessageId"] == one["id"]


async def test_a_quote_that_was_taken_away_since_does_not_come_back_by_an_import(tmp_path: Path) -> None:
    async with opened(tmp_path / "one") as world:
        message = await world.post("about it", (await world.post(SECRET))["id"])
        await exports.export(world.app, tmp_path / "out")
        await world.edit(message, "about nothing", quoted_message_id=None)
        await exports.bring_in(world.app, tmp_path / "out")
        assert "quotedMessageId" not in (await world.page())[message["id"]]


async def _made_old(world: World, message: dict[str, Any]) -> dict[str, Any]:
    """Have a message be one of 1970."""
    old = "0" * 24 + message["id"][24:]
    async with world.app.storage.write() as tx:
        await tx.fetch("update messages set id = $2, created_at = 0 where id = $1", message["id"], old)
        await tx.fetch("update events set text_message = $2 where text_message = $1", message["id"], old)
    return {**message, "id": old, "createdAt": 0}


class Found:
    """`teamchat.Imported` of an export of this very installation, in which one room is known."""

    def __init__(self, room_id: str) -> None:
        self._room_id = room_id
        self.created = self.found = 0
        self.omitted: list[tuple[str, str]] = []

    def user(self, user_id: str) -> str | None:
        return user_id

    def room(self, room_id: str) -> str | None:
        return room_id if room_id == self._room_id else None

    async def message(self, tx: Transaction, message_id: str, room_id: str) -> str | None:
        sql = "select 1 from messages where id = $1 and room_id = $2"
        return message_id if await tx.fetch(sql, message_id, self.room(room_id) or "") else None

    def was_edited(self, message_id: str) -> bool:
        return False

    def create(self, count: int = 1) -> None:
        self.created += count

    def find(self, count: int = 1) -> None:
        self.found += count

    def omit(self, where: str, why: str) -> None:
        self.omitted.append((where, why))


async def _exported(world: World) -> list[PortableQuote]:
    found: list[PortableQuote] = []
    async with world.app.storage.read() as tx:
        async for records in QuotesExported().write(tx):
            found += records
    return found


async def _taken(world: World, records: Sequence[PortableQuote]) -> Found:
    found = Found(world.channel)
    async with world.app.storage.write() as tx:
        await QuotesExported().take(tx, records, found)
    return found
