"""A private room is there for its members; for all others nothing of it exists (extension rules X-2, X-3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from teamchat.chat import Draft, membership
from teamchat.errors import NotFound, Problem
from teamchat.events import InRoom, is_internal
from teamchat.ids import new_id
from teamchat.storage.log import decoded_audience

NOBODYS = new_id()


@pytest.fixture
async def secret(world, ada) -> Mapping[str, str]:
    """A private channel of ada's with a message, a reply and an image in it."""
    channel = await world.chat.channels.create(ada, "Secret")
    async with world.storage.write() as tx:
        await membership.change(tx, channel.id, joined=[ada.user.id], is_private=True)
    image = await world.image(channel.id)
    message = await world.chat.messages.post(ada, channel.id, Draft("hidden", images=[image]))
    replied = await world.chat.threads.reply(ada, message.id, Draft("a reply"))
    return {"channel": channel.id, "message": message.id, "reply": replied.reply.id, "image": image}


async def encoded(chat: Any, caller: Any, channel_id: str) -> bytes:
    return await chat.messages.encoded_page(caller, channel_id, 50, None, msgspec.json.encode)


ASKED: Mapping[str, Callable[[Any, Any, Mapping[str, str]], Awaitable[object]]] = {
    "the page": lambda chat, who, ids: chat.messages.page(who, ids["channel"], 50, None),
    "the page in memory": lambda chat, who, ids: encoded(chat, who, ids["channel"]),
    "an earlier page": lambda chat, who, ids: chat.messages.page(who, ids["channel"], 50, ids["reply"]),
    "a post": lambda chat, who, ids: chat.messages.post(who, ids["channel"], Draft("me too")),
    "an edit": lambda chat, who, ids: chat.messages.edit(who, ids["message"], Draft("mine")),
    "a deletion": lambda chat, who, ids: chat.messages.delete(who, ids["message"]),
    "the thread": lambda chat, who, ids: chat.threads.page(who, ids["message"], 50, None),
    "a reply": lambda chat, who, ids: chat.threads.reply(who, ids["message"], Draft("me too")),
    "an edit of a reply": lambda chat, who, ids: chat.threads.edit(
        who, ids["message"], ids["reply"], Draft("mine")
    ),
    "a deletion of a reply": lambda chat, who, ids: chat.threads.delete(who, ids["message"], ids["reply"]),
    "an image": lambda chat, who, ids: chat.images.open_in_channel(
        who, ids["channel"], ids["image"], thumbnail=False
    ),
    "an upload": lambda chat, who, ids: chat.images.upload_to_channel(who, ids["channel"], "a.png", "", None),
    "an upload to the thread": lambda chat, who, ids: chat.images.upload_to_thread(
        who, ids["message"], "a.png", "", None
    ),
    "a name": lambda chat, who, ids: chat.channels.rename(who, ids["channel"], "Mine"),
    "the end of it": lambda chat, who, ids: chat.channels.delete(who, ids["channel"]),
    "a reaction": lambda chat, who, ids: chat.reactions.add(who, ids["message"], "👍"),
    "a reaction taken back": lambda chat, who, ids: chat.reactions.remove(who, ids["reply"], "👍"),
}


async def answer(asked: Awaitable[object]) -> tuple[type[Problem], str]:
    with pytest.raises(Problem) as raised:
        await asked
    return type(raised.value), str(raised.value)


@pytest.mark.parametrize("asks", ASKED.values(), ids=ASKED)
async def test_who_is_no_member_is_answered_as_if_there_were_nothing(world, ada, bob, secret, asks):
    await encoded(world.chat, ada, secret["channel"])  # It is in memory now.
    told = await answer(asks(world.chat, bob, secret))
    assert told == await answer(asks(world.chat, bob, dict.fromkeys(secret, NOBODYS)))
    assert told[0] is NotFound


async def test_a_private_channel_is_on_its_members_lists_alone(world, ada, bob, secret):
    assert [one.id for one in await world.chat.channels.list(ada)] == [secret["channel"]]
    assert await world.chat.channels.list(bob) == []


async def test_what_happens_in_a_private_channel_is_addressed_to_it(world, ada, secret):
    await world.chat.messages.edit(ada, secret["message"], Draft("changed"))
    await world.chat.reactions.add(ada, secret["message"], "👍")
    await world.chat.reactions.remove(ada, secret["message"], "👍")
    await world.chat.threads.edit(ada, secret["message"], secret["reply"], Draft("changed"))
    await world.chat.threads.delete(ada, secret["message"], secret["reply"])
    await world.chat.channels.rename(ada, secret["channel"], "More secret")
    hook = await world.chat.webhooks.create(ada, "Bot", secret["channel"])
    await world.chat.webhooks.post(hook.id, hook.token, Draft("from outside"))
    await world.chat.webhooks.delete(ada, hook.id)
    await world.chat.messages.delete(ada, secret["message"])
    async with world.storage.read() as tx:
        rows = await tx.fetch("select type, audience from events order by seq")
    told = {kind: decoded_audience(audience) for kind, audience in rows if not is_internal(kind)}
    del told["NEW_CHANNEL"]  # It was public then.
    assert len(told) == 11
    assert set(told.values()) == {InRoom(secret["channel"], 1, is_private=True)}


async def test_who_is_let_in_sees_it_and_who_is_out_does_not(world, ada, bob, secret):
    async with world.storage.write() as tx:
        await membership.change(tx, secret["channel"], joined=[bob.user.id])
    assert await encoded(world.chat, bob, secret["channel"]) == await encoded(
        world.chat, ada, secret["channel"]
    )
    async with world.storage.write() as tx:
        await membership.change(tx, secret["channel"], left=[bob.user.id])
    assert (await answer(encoded(world.chat, bob, secret["channel"])))[0] is NotFound
    async with world.storage.write() as tx:
        await membership.change(tx, secret["channel"], is_private=False)
    assert b"hidden" in await encoded(world.chat, bob, secret["channel"])
