"""What was said before a channel was made public stays its members' (B-8): in events, and for filters."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from teamchat import Posting
from teamchat.chat import Draft, MessageEdit
from teamchat.chat.channel_drafts import NewChannel, NewPrivateChannel
from teamchat.chat.privacy import PrivacyChange
from teamchat.events import LoggedEvent, RoomChanged, is_internal
from teamchat.model import Caller
from teamchat.storage.log import logged_in
from teamchat.stream.rooms import Rooms
from tests.chat.conftest import World


@pytest.fixture
async def opened(world: World, ada: Caller) -> tuple[str, str]:
    """A channel that is public by now, and a message of before that."""
    channel = (await world.chat.channels.create(ada, NewPrivateChannel("Opened"))).id
    hidden = (await world.chat.messages.post(ada, channel, Draft("hidden"))).id
    await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=False, history="hide"))
    return channel, hidden


async def logged(world: World, after: int) -> Sequence[LoggedEvent]:
    async with world.storage.read() as tx:
        return [one for one in await logged_in(tx, after, 1_000) if not is_internal(one.type)]


async def act(world: World, ada: Caller, message: str) -> None:
    """Do to a message all that others are told of."""
    reply = (await world.chat.threads.reply(ada, message, Draft("a reply"))).reply
    await world.chat.threads.edit(ada, message, reply.id, MessageEdit("a changed reply"))
    await world.chat.reactions.add(ada, message, "👍")
    await world.chat.reactions.remove(ada, message, "👍")
    await world.chat.messages.edit(ada, message, MessageEdit("changed"))
    await world.chat.messages.delete(ada, message)


async def test_events_about_it_are_no_business_of_who_sends_public_ones_elsewhere(
    world: World, ada: Caller, opened: tuple[str, str]
) -> None:
    channel, hidden = opened
    shown = (await world.chat.messages.post(ada, channel, Draft("shown"))).id
    for message, is_private in ((hidden, True), (shown, False)):
        before = await world.storage.position()
        await act(world, ada, message)
        events = await logged(world, before)
        assert len(events) == 6
        assert {one.is_private for one in events} == {is_private}


async def test_nobody_else_is_told_of_it_once_the_channel_is_gone(
    world: World, ada: Caller, bob: Caller, opened: tuple[str, str]
) -> None:
    channel, hidden = opened
    before = await world.storage.position()
    await act(world, ada, hidden)
    events = await logged(world, before)
    await world.chat.channels.delete(ada, channel)
    async with world.storage.read() as tx:
        rooms = await Rooms.read(tx)
    assert not [one.type for one in events if rooms.sees(bob.user.id, one.audience)]


async def test_who_never_saw_a_channel_hears_of_its_end_alone(world: World, ada: Caller, bob: Caller) -> None:
    before = await world.storage.position()
    channel = (await world.chat.channels.create(ada, NewPrivateChannel("Opened"))).id
    await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=False, history="hide"))
    await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=True))
    await world.chat.channels.delete(ada, channel)
    async with world.storage.read() as tx:
        rooms = await Rooms.read(tx)
    told = [one.type for one in await logged(world, before) if rooms.sees(bob.user.id, one.audience)]
    assert told == ["DELETE_CHANNEL"], "whose client has it from when it was public drops it"


async def test_filters_are_told_that_what_hangs_on_it_is_private(
    world: World, ada: Caller, opened: tuple[str, str]
) -> None:
    channel, hidden = opened
    asked: list[Posting] = []

    class Remembering:
        name = "remembering"

        async def filter(self, posting: Posting) -> str:
            asked.append(posting)
            return posting.content

    world.chat.filters.use([Remembering()])
    reply = (await world.chat.threads.reply(ada, hidden, Draft("a reply"))).reply
    await world.chat.threads.edit(ada, hidden, reply.id, MessageEdit("a changed reply"))
    await world.chat.messages.edit(ada, reply.id, MessageEdit("changed again"))
    await world.chat.messages.edit(ada, hidden, MessageEdit("changed"))
    await world.chat.messages.post(ada, channel, Draft("shown"))
    assert [one.is_private for one in asked] == [True, True, True, True, False]


@pytest.mark.parametrize("is_default", [False, True])
async def test_who_stays_in_a_channel_that_becomes_private_sees_it_at_every_position_of_the_log(
    world: World, ada: Caller, bob: Caller, *, is_default: bool
) -> None:
    """A stream may come back between any two events: what was said before must be told it still."""
    channel = (await world.chat.channels.create(ada, NewChannel("Closing", is_default=is_default))).id
    async with world.storage.read() as tx:
        rooms = await Rooms.read(tx)
    before = await world.storage.position()
    await world.chat.messages.post(ada, channel, Draft("said in public"))
    await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=True, members=[bob.user.id]))
    async with world.storage.read() as tx:
        events = await logged_in(tx, before, 1_000)
    [said] = [one for one in events if one.type == "NEW_MESSAGE"]
    for event in events:
        if event.type == RoomChanged.type:
            rooms.change(msgspec.json.decode(event.payload, type=RoomChanged))
        assert rooms.sees(bob.user.id, said.audience), f"not after {event.payload}"
