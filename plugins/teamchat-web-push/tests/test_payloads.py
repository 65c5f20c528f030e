"""J-5, J-6: what a push says, and what it keeps to itself."""

from __future__ import annotations

import pytest

from teamchat.read_state.service import ReadStates
from tests.push_world import World


async def test_a_direct_message_is_pushed_to_each_device_of_the_other_and_says_what_it_is(
    world: World,
) -> None:
    phone, _ = await world.subscribe(world.bob)
    tablet, _ = await world.subscribe(world.bob)
    own, _ = await world.subscribe(world.ada)
    message = await world.direct("Are *you* [there](https://example.org)?")
    await world.go()
    for browser in (phone, tablet):
        [push] = browser.received
        assert push.payload["v"] == 1
        assert push.payload["kind"] == "direct"
        assert push.payload["messageId"] == message
        assert push.payload["placeId"].startswith("dm:")
        assert push.payload["title"] == "Admin"
        assert push.payload["body"] == "Are you there?"
        assert push.payload["badge"] == 1
        assert push.payload["url"].endswith(f"/#/messages/{message}")
        assert push.headers["ttl"] == "86400"
        assert push.headers["urgency"] == "high"
        assert len(push.headers["topic"]) == 32
        assert push.claims["sub"] == "mailto:admin@example.org"
    assert phone.received[0].headers["topic"] != tablet.received[0].headers["topic"]
    assert own.received == []
    assert await world.reasons() == [("sent", "direct"), ("sent", "direct")]


async def test_the_badges_of_many_are_those_that_each_of_them_reads(world: World) -> None:
    hidden = await world.private(world.bob)
    unseen = await world.post("who?", by=world.bob, channel=hidden)
    for text in ("@bob here", "@channel, too"):
        await world.reply(unseen, text)
    parent = await world.post("@cleo look", by=world.bob)
    await world.reply(parent, "@bob indeed")
    await world.direct("hello")
    read = await world.reply(await world.post("and this?", by=world.cleo), "@cleo yes")
    people = [world.ada, world.bob, world.cleo]
    notices = world.app.notices
    assert notices is not None

    async def badges() -> list[int]:
        async with world.app.storage.read() as tx:
            found = await notices.badges(tx, [one.user.id for one in people])
        told = [(await ReadStates(world.app).overview(one, None)).badge for one in people]
        assert list(found.values()) == told
        return told

    assert await badges() == [0, 3, 2]
    await world.app.chat.members.remove(world.ada, hidden, world.bob.user.id)
    await world.app.chat.messages.delete(world.ada, read)
    assert await badges() == [0, 2, 1]


@pytest.mark.parametrize(
    ("preview", "title", "body"),
    [
        ("full", "Admin · #General", "@bob the plan"),
        ("sender", "teamchat", "Admin mentioned you in #General"),
        ("none", "teamchat", "New message"),
    ],
)
async def test_a_push_shows_no_more_than_its_reader_wants(
    world: World, preview: str, title: str, body: str
) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.choose(world.bob, preview=preview)
    await world.post("@bob the plan")
    await world.go()
    assert (bob.payloads[0]["title"], bob.payloads[0]["body"]) == (title, body)


async def test_the_servers_maximum_counts_over_what_users_chose(world: World) -> None:
    world.most_shown = "none"
    world.restart()
    bob, _ = await world.subscribe(world.bob)
    await world.post("@bob the plan")
    await world.go()
    assert bob.payloads[0]["body"] == "New message"


async def test_a_device_is_told_in_its_own_language(world: World) -> None:
    bob, _ = await world.subscribe(world.bob, language="de")
    await world.choose(world.bob, preview="sender")
    await world.direct("hallo")
    await world.go()
    assert bob.payloads[0]["body"] == "Admin schrieb dir"


async def test_a_long_message_is_cut_and_fits_also_in_four_byte_characters(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.direct("😀" * 3000)
    await world.go()
    assert len(bob.payloads[0]["body"]) == 200


async def test_nothing_that_was_said_stands_in_the_tables(world: World) -> None:
    await world.subscribe(world.bob, deviceName="Phone")
    await world.direct("the secret plan")
    await world.hear()
    async with world.app.storage.read() as tx:
        for table in ("web_push_queue", "web_push_subscriptions", "web_push_keys"):
            assert "secret plan" not in str(await tx.fetch(f"select * from {table}"))
