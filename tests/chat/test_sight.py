"""A private room is there for its members; for all others nothing of it exists (extension rules X-2, X-3)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing, suppress
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from teamchat.chat import Draft, channel_rows, images_table, membership, sight
from teamchat.errors import BadRequest, NotFound, Problem
from teamchat.events import InRoom, is_internal
from teamchat.model.ids import new_id
from teamchat.model.pages import Page
from teamchat.storage.log import decoded_audience
from teamchat.storage.sqlite import DATABASE_NAME
from tests.pages import sent_page
from tests.storages import sqlite_only

NOBODYS = new_id()


@pytest.fixture
async def secret(world, ada) -> Mapping[str, str]:
    """A private channel of ada's with a message, a reply and an image in it."""
    channel = await world.chat.channels.create(ada, "Secret")
    async with world.storage.write() as tx:
        await membership.change(tx, channel.id, is_private=True)
    image = await world.image(channel.id)
    message = await world.chat.messages.post(ada, channel.id, Draft("hidden", images=[image]))
    replied = await world.chat.threads.reply(ada, message.id, Draft("a reply"))
    return {"channel": channel.id, "message": message.id, "reply": replied.reply.id, "image": image}


ASKED: Mapping[str, Callable[[Any, Any, Mapping[str, str]], Awaitable[object]]] = {
    "the page": lambda chat, who, ids: chat.messages.page(who, ids["channel"], Page(50)),
    "the page in memory": lambda chat, who, ids: sent_page(chat, who, ids["channel"]),
    "an earlier page": lambda chat, who, ids: chat.messages.page(who, ids["channel"], Page(50, ids["reply"])),
    "a post": lambda chat, who, ids: chat.messages.post(who, ids["channel"], Draft("me too")),
    "an edit": lambda chat, who, ids: chat.messages.edit(who, ids["message"], Draft("mine")),
    "a deletion": lambda chat, who, ids: chat.messages.delete(who, ids["message"]),
    "the thread": lambda chat, who, ids: chat.threads.page(who, ids["message"], Page(50)),
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
    "a name": lambda chat, who, ids: chat.channels.change(who, ids["channel"], "Mine"),
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
    await sent_page(world.chat, ada, secret["channel"])  # It is in memory now.
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
    await world.chat.channels.change(ada, secret["channel"], "More secret")
    hook = await world.chat.webhooks.create(ada, "Bot", secret["channel"])
    await world.chat.webhooks.post(hook.id, hook.token, Draft("from outside"))
    await world.chat.webhooks.delete(ada, hook.id)
    await world.chat.messages.delete(ada, secret["message"])
    async with world.storage.read() as tx:
        rows = await tx.fetch("select type, audience from events order by seq")
    told = {kind: decoded_audience(audience) for kind, audience in rows if not is_internal(kind)}
    del told["NEW_CHANNEL"]  # It was public then.
    assert len(told) == 11
    assert {replace(audience, message="") for audience in told.values()} == {
        InRoom(secret["channel"], 2, is_private=True)
    }


async def test_who_is_let_in_sees_it_and_who_is_out_does_not(world, ada, bob, secret):
    async with world.storage.write() as tx:
        await membership.change(tx, secret["channel"], joined=[bob.user.id])
    assert await sent_page(world.chat, bob, secret["channel"]) == await sent_page(
        world.chat, ada, secret["channel"]
    )
    async with world.storage.write() as tx:
        await membership.change(tx, secret["channel"], left=[bob.user.id])
    assert (await answer(sent_page(world.chat, bob, secret["channel"])))[0] is NotFound
    async with world.storage.write() as tx:
        await membership.change(tx, secret["channel"], is_private=False)
    assert "hidden" in str(await sent_page(world.chat, bob, secret["channel"]))


async def test_x3_a_hidden_name_may_be_given_again_and_no_refusal_tells_of_it(world, ada, secret):
    again = await world.chat.channels.create(ada, "SECRET")
    other = await world.chat.channels.create(ada, "Other")
    assert (await world.chat.channels.change(ada, other.id, "Public")).name == "Public"
    await world.chat.channels.change(ada, secret["channel"], "Public")
    with pytest.raises(BadRequest):
        await world.chat.channels.change(ada, other.id, again.name)


async def test_x3_a_channel_that_becomes_public_has_a_name_that_no_other_has(world, ada, secret):
    await world.chat.channels.create(ada, "Secret")
    async with world.storage.write() as tx:
        with pytest.raises(BadRequest):
            await membership.change(tx, secret["channel"], is_private=False)
    await world.chat.channels.change(ada, secret["channel"], "Another")
    async with world.storage.write() as tx:
        await membership.change(tx, secret["channel"], is_private=False)
    with pytest.raises(BadRequest):
        await world.chat.channels.create(ada, "another")


async def test_a_private_channel_is_deleted_with_its_members(world, ada, secret):
    await world.chat.channels.delete(ada, secret["channel"])
    assert await world.count("memberships") == 0
    assert await world.chat.channels.list(ada) == []


@sqlite_only("only SQLite counts the steps of a statement")
async def test_x3_what_is_not_seen_takes_as_many_steps_as_what_is_not_there(
    tmp_path, world, ada, bob, secret
):
    open_to_all = await world.chat.channels.create(ada, "Open")
    looked_up = {
        "channel": lambda tx, id_: sight.channel(tx, bob, id_),
        "message": lambda tx, id_: sight.message(tx, bob, id_),
        "reply": lambda tx, id_: sight.message(tx, bob, id_),
        "image": lambda tx, id_: images_table.find_image(tx, open_to_all.id, id_),
    }
    with closing(apsw.Connection(str(tmp_path / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READONLY)) as database:
        for kind, find in looked_up.items():
            asked = []
            for id_ in (secret[kind], nobodys(secret[kind])):
                async with world.storage.read() as tx:
                    spy = Spy(tx)
                    with suppress(NotFound):
                        assert await find(spy, id_) is None
                asked.append([steps(database, *one) for one in spy.statements])
            assert asked[0] == asked[1], kind
            assert sum(asked[0]) > 10, kind


class Spy:
    """A transaction that keeps what it is asked."""

    def __init__(self, tx: Any) -> None:
        self._tx = tx
        self.statements: list[tuple[str, ...]] = []

    async def fetch(self, sql: str, *params: str) -> Any:
        self.statements.append((sql, *params))
        return await self._tx.fetch(sql, *params)


def nobodys(id_: str) -> str:
    """Return an id that nobody had, next to one that somebody has."""
    stem, dot, extension = id_.partition(".")
    return stem[:-8] + f"{int(stem[-8:], 16) + 1:08x}" + dot + extension


def steps(database: apsw.Connection, sql: str, *params: str) -> int:
    """Return how many steps of its machine SQLite takes for a statement that finds nothing."""
    counted: list[int] = []

    def done(event: Mapping[str, Any]) -> None:
        counted.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    with closing(database.cursor()) as cursor:
        database.trace_v2(apsw.SQLITE_TRACE_PROFILE, done)
        assert list(cursor.execute(sql.replace("$", "?"), params)) == []
    database.trace_v2(0, None)
    return counted[-1]


@sqlite_only("it looks into SQLite's query plans")
async def test_x3_the_list_of_channels_costs_nothing_for_what_is_hidden(world, ada, bob, secret) -> None:
    public = await world.chat.channels.create(ada, "Open")
    assert [one.id for one in await world.chat.channels.list(bob)] == [public.id]
    async with world.storage.read() as tx:
        for which in ("", channel_rows._MINE):
            sql = f"explain query plan {channel_rows._ALL}{which} order by r.id"
            plan = [row[3] for row in await tx.fetch(sql, bob.user.id)]
            assert any(step.startswith("SEARCH r ") for step in plan)
            scanned = [step for step in plan if re.match(r"SCAN (r|rooms|memberships|departures)\b", step)]
            assert not scanned, plan
