"""H-2: pinning messages, on the storage that the tests run on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import trio
from teamchat_pins import PINS, parts
from teamchat_pins.pins import Pins, PinsOptions
from teamchat_pins.tables import MOST_PINS

from teamchat import BadRequest, Capability, Forbidden, NotFound, Storage
from teamchat.application import Application
from teamchat.chat import Draft, MessageEdit
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.retention import Retention
from teamchat.model import Caller, Message
from teamchat.model.pages import Page
from teamchat.storage.log import logged_in
from teamchat.testing import CapabilityContract
from tests.storages import open_storage


class TestPins(CapabilityContract):
    def capability(self) -> Capability:
        return PINS

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await Pins(app).pin(caller, message.id)


@dataclass
class World:
    """A server with three users, and a channel."""

    app: Application
    pins: Pins
    ada: Caller
    bob: Caller
    eve: Caller
    channel: str

    async def post(self, text: str = "hello") -> Message:
        return await self.app.chat.messages.post(self.ada, self.channel, Draft(text))

    async def conversation(self) -> str:
        return (await self.app.chat.conversations.open(self.ada, self.bob.user.id)).conversation.id

    async def events(self) -> list[tuple[str, dict[str, Any], Any]]:
        """Return type, payload and audience of the events of pins."""
        async with self.app.storage.read() as tx:
            logged = await logged_in(tx, 0, 1000)
        return [
            (event.type, json.loads(event.payload), event.audience) for event in logged if "PIN" in event.type
        ]

    async def pinned(self) -> list[str]:
        return [message.id for message in await self.pins.of_channel(self.bob, self.channel)]


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[World]:
    async with TestPins().application(tmp_path) as app:

        async def user(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token)

        ada = await user("admin@localhost")
        for email in ("bob@example.org", "eve@example.org"):
            await app.accounts.users.add(ada, email)
        [channel] = await app.chat.channels.list(ada)
        bob, eve = await user("bob@example.org"), await user("eve@example.org")
        yield World(app, Pins(app), ada, bob, eve, channel.id)


def wire(value: Any) -> Any:
    """Return a value as a client reads it."""
    return json.loads(msgspec.json.encode(value))


async def test_a_pinned_message_shows_it_and_its_update_time_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post()
        assert "pinnedAt" not in wire(message)
        pinned = wire(await world.pins.pin(world.bob, message.id))
        assert pinned["pinnedBy"] == world.bob.user.id
        [shown] = wire((await world.app.chat.messages.page(world.eve, world.channel, Page(10))).messages)
        assert shown == wire(message) | pinned
        assert shown["updatedAt"] is None
        await world.pins.unpin(world.eve, message.id)
        assert wire((await world.app.chat.messages.page(world.eve, world.channel, Page(10))).messages) == [
            wire(message)
        ]


async def test_b6_in_an_archived_channel_nothing_is_pinned_and_pins_can_be_taken_down(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        pinned, other = await world.post(), await world.post()
        await world.pins.pin(world.bob, pinned.id)
        await world.app.chat.channels.archive(world.ada, world.channel, is_archived=True)
        with pytest.raises(Forbidden, match="archived"):
            await world.pins.pin(world.bob, other.id)
        assert await world.pinned() == [pinned.id]
        await world.pins.unpin(world.bob, pinned.id)
        assert await world.pinned() == []


async def test_with_pin_policy_managers_only_who_manages_a_channel_pins_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        pins = Pins(world.app, by_managers=True)
        message = await world.post()
        with pytest.raises(Forbidden, match="manages"):
            await pins.pin(world.bob, message.id)
        await pins.pin(world.ada, message.id)
        with pytest.raises(Forbidden, match="manages"):
            await pins.unpin(world.bob, message.id)
        await world.app.chat.members.set_role(world.ada, world.channel, world.bob.user.id, "manager")
        await pins.unpin(world.bob, message.id)
        assert await world.pinned() == []
        # Nobody manages a conversation: both pin there.
        draft, place = Draft("hello"), await world.conversation()
        said = await world.app.chat.conversations.post(world.ada, place, draft)
        await pins.pin(world.bob, said.id)
        assert [one.id for one in await pins.of_conversation(world.ada, place)] == [said.id]


@pytest.mark.parametrize(("policy", "number"), [("members", 0), ("managers", 1)])
async def test_a1_it_is_announced_who_pins(
    tmp_path: Path, policy: Literal["members", "managers"], number: int
) -> None:
    async with opened(tmp_path) as world:
        announced = parts(world.app, PinsOptions(pin_policy=policy)).limits
        assert announced == {"perPlace": 100, "pinPolicy": number}


async def test_everybody_who_sees_the_place_is_told_and_a_repeat_tells_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post()
        first = await world.pins.pin(world.ada, message.id)
        assert await world.pins.pin(world.bob, message.id) == first
        for _ in range(2):
            await world.pins.unpin(world.bob, message.id)
        (pinned, told, everybody), (unpinned, taken, also) = await world.events()
        assert (pinned, unpinned) == ("MESSAGE_PINNED", "MESSAGE_UNPINNED")
        assert everybody.room_id == also.room_id == world.channel
        expected = {"messageId": message.id, "placeId": world.channel}
        assert told == expected | {"by": world.ada.user.id, "at": first.pinned_at}
        assert taken == expected | {"by": world.bob.user.id, "at": taken["at"]}


async def test_pins_of_a_channel_come_newest_pin_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one, two, three = [await world.post(text) for text in "abc"]
        for message in (two, three, one):
            await world.pins.pin(world.ada, message.id)
        assert await world.pinned() == [one.id, three.id, two.id]
        await world.pins.unpin(world.ada, three.id)
        await world.pins.pin(world.ada, three.id)
        assert await world.pinned() == [three.id, one.id, two.id]


async def test_a_reply_can_be_pinned_and_is_shown_so_in_its_thread(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        parent = await world.post()
        reply = (await world.app.chat.threads.reply(world.bob, parent.id, Draft("yes"))).reply
        await world.pins.pin(world.ada, reply.id)
        [shown] = wire((await world.app.chat.threads.page(world.eve, parent.id, Page(10))).messages)
        assert shown["pinnedBy"] == world.ada.user.id
        assert await world.pinned() == [reply.id]


async def test_pins_of_a_conversation_are_its_participants_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        conversation = await world.conversation()
        message = await world.app.chat.conversations.post(world.ada, conversation, Draft("hi"))
        await world.pins.pin(world.bob, message.id)
        [(_, payload, audience)] = await world.events()
        assert payload["placeId"] == conversation
        assert set(audience) == {world.ada.user.id, world.bob.user.id}
        [shown] = (await world.app.chat.conversations.page(world.ada, conversation, Page(10))).messages
        assert wire(shown)["pinnedBy"] == world.bob.user.id
        assert [one.id for one in await world.pins.of_conversation(world.ada, conversation)] == [message.id]
        with pytest.raises(NotFound):
            await world.pins.pin(world.eve, message.id)
        with pytest.raises(NotFound):
            await world.pins.unpin(world.eve, message.id)
        with pytest.raises(Forbidden):
            await world.pins.of_conversation(world.eve, conversation)
        with pytest.raises(NotFound):
            await world.pins.of_channel(world.ada, conversation)
        with pytest.raises(NotFound):
            await world.pins.of_conversation(world.ada, world.channel)


async def test_an_edit_keeps_the_pin_and_its_event_carries_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post()
        pinned = await world.pins.pin(world.ada, message.id)
        await world.app.chat.messages.edit(world.ada, message.id, MessageEdit("changed"))
        async with world.app.storage.read() as tx:
            [update] = [event for event in await logged_in(tx, 0, 1000) if event.type == "UPDATE_MESSAGE"]
        assert json.loads(update.payload).items() >= wire(pinned).items()
        assert json.loads(update.payload)["content"] == "changed"


@pytest.mark.parametrize("way", ["deleted", "its thread deleted", "retention", "its channel deleted"])
async def test_a_pin_goes_with_its_message_and_no_event_of_its_own(tmp_path: Path, way: str) -> None:
    async with opened(tmp_path) as world:
        message = await world.post()
        reply = (await world.app.chat.threads.reply(world.bob, message.id, Draft("yes"))).reply
        await world.pins.pin(world.ada, reply.id)
        await world.pins.pin(world.ada, message.id)
        if way == "deleted":
            await world.app.chat.threads.delete(world.bob, message.id, reply.id)
            assert await world.pinned() == [message.id]
        elif way == "its thread deleted":
            await world.app.chat.messages.delete(world.ada, message.id)
            assert await world.pinned() == []
        elif way == "retention":
            tomorrow = -1  # as if that day had come
            await Retention(world.app.storage, tomorrow, world.app.capabilities).sweep()
            assert await world.pinned() == []
        else:
            await world.app.chat.channels.delete(world.ada, world.channel)
        async with world.app.storage.read() as tx:
            left = [one for (one,) in await tx.fetch("select message_id from pins")]
        assert left == ([message.id] if way == "deleted" else [])
        assert [kind for kind, *_ in await world.events()] == ["MESSAGE_PINNED"] * 2


async def test_x3_pins_of_before_one_joined_are_not_counted_for_who_does_not_see_them(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        draft = NewPrivateChannel("Hidden past", history_for="joiners")
        world.channel = (await world.app.chat.channels.create(world.ada, draft)).id
        for number in range(MOST_PINS):
            await world.pins.pin(world.ada, (await world.post(str(number))).id)
        await world.app.chat.members.add(world.ada, world.channel, [world.bob.user.id])
        message = await world.post("seen by both")
        with pytest.raises(BadRequest, match="100 pinned messages"):
            await world.pins.pin(world.ada, message.id)
        await world.pins.pin(world.bob, message.id)
        assert await world.pinned() == [message.id]
        assert len(await world.pins.of_channel(world.ada, world.channel)) == MOST_PINS + 1


async def test_a_place_has_a_hundred_pins_however_many_pin_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        messages = [await world.post(str(number)) for number in range(MOST_PINS + 5)]
        refused: list[str] = []

        async def pin(message: Message) -> None:
            try:
                await world.pins.pin(world.ada, message.id)
            except BadRequest as error:
                refused.append(error.sentence)

        for message in messages[: MOST_PINS - 5]:
            await pin(message)
        async with trio.open_nursery() as nursery:
            for message in messages[MOST_PINS - 5 :]:
                nursery.start_soon(pin, message)
        assert (len(await world.pinned()), len(refused)) == (MOST_PINS, 5)
        [sentence] = set(refused)
        assert "100 pinned messages here already" in sentence
        there = (await world.pinned())[0]
        await world.pins.pin(world.bob, there)  # it is pinned already, so nothing is refused
        conversation = await world.conversation()
        elsewhere = await world.app.chat.conversations.post(world.ada, conversation, Draft("hi"))
        await world.pins.pin(world.ada, elsewhere.id)
