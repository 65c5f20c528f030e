"""What plugins may change or refuse before a message is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from teamchat import BadRequest, Forbidden, NotFound, Posting, Unauthorized, Unavailable
from teamchat.chat import Draft, MessageEdit, filters
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.model import Caller
from teamchat.model.pages import Page
from tests.chat.conftest import MAX_LENGTH, World

Judge = Callable[[Posting], Awaitable[str]]


class Filter:
    """A filter that does what it is given, and remembers what it was asked."""

    def __init__(self, judge: Judge, name: str = "test") -> None:
        self.name = name
        self.asked: list[Posting] = []
        self._judge = judge

    async def filter(self, posting: Posting) -> str:
        self.asked.append(posting)
        return await self._judge(posting)


async def shouting(posting: Posting) -> str:
    return posting.content.upper()


async def dotted(posting: Posting) -> str:
    return posting.content + "."


async def refusing(_: Posting) -> str:
    raise BadRequest("No such words here.")


async def test_what_a_filter_makes_of_a_message_is_what_everyone_gets(
    world: World, ada: Caller, channel: str
) -> None:
    world.chat.filters.use([Filter(shouting)])
    posted = await world.chat.messages.post(ada, channel, Draft("hello"))
    assert posted.content == "HELLO"
    assert [
        message.content for message in (await world.chat.messages.page(ada, channel, Page(50))).messages
    ] == ["HELLO"]
    assert [payload["content"] for kind, payload, _ in await world.events() if kind == "NEW_MESSAGE"] == [
        "HELLO"
    ]


async def test_every_way_to_write_passes_the_filters(
    world: World, ada: Caller, channel: str, direct: str
) -> None:
    parent = await world.chat.messages.post(ada, channel, Draft("parent"))
    reply = (await world.chat.threads.reply(ada, parent.id, Draft("reply"))).reply
    private = await world.chat.conversations.post(ada, direct, Draft("direct"))
    hook = await world.chat.webhooks.create(ada, "bot", channel)
    assert hook.token is not None
    asked = Filter(shouting)
    world.chat.filters.use([asked])

    chat, draft, me = world.chat, Draft("x"), ada.user.id
    await chat.messages.post(ada, channel, draft)
    await chat.messages.edit(ada, parent.id, draft)
    await chat.threads.reply(ada, parent.id, draft)
    await chat.threads.edit(ada, parent.id, reply.id, draft)
    await chat.conversations.post(ada, direct, draft)
    await chat.conversations.edit(ada, direct, private.id, draft)
    await chat.webhooks.post(hook.id, hook.token, draft)
    assert asked.asked == [
        Posting("x", (), me, room_id=channel),
        Posting("x", (), me, message_id=parent.id),
        Posting("x", (), me, parent_id=parent.id),
        Posting("x", (), me, message_id=reply.id),
        Posting("x", (), me, room_id=direct, room_kind="direct", is_private=True),
        Posting("x", (), me, message_id=private.id, room_kind="direct", is_private=True),
        Posting("x", (), f"webhook:{hook.id}"),
    ]


async def test_a_filter_gets_the_kind_of_room_a_message_is_said_in_and_whether_it_is_private(
    world: World, ada: Caller, bob: Caller, eve: Caller, channel: str, direct: str
) -> None:
    chat, draft, asked = world.chat, Draft("x"), Filter(shouting)
    private = (await chat.channels.create(ada, NewPrivateChannel("Secret"))).id
    hook = await chat.webhooks.create(ada, "bot", private)
    group = (await chat.groups.open(ada, GroupOf([bob.user.id, eve.user.id])))[0].id
    notes = (await chat.groups.notes(ada))[0].id
    posted = await chat.messages.post(ada, group, draft)
    chat.filters.use([asked])
    for room in (channel, private, group, notes):
        await chat.messages.post(ada, room, draft)
    await chat.conversations.post(ada, direct, draft)
    await chat.webhooks.post(hook.id, hook.token or "", draft)
    await chat.threads.reply(ada, posted.id, draft)
    await chat.messages.edit(ada, posted.id, draft)
    assert [(one.room_kind, one.is_private) for one in asked.asked] == [
        ("channel", False),
        ("channel", True),
        ("group", True),
        ("notes", True),
        ("direct", True),
        ("channel", True),
        ("group", True),
        ("group", True),
    ]


async def test_filters_are_asked_in_order_and_each_sees_what_the_one_before_made(
    world: World, ada: Caller, channel: str
) -> None:
    second = Filter(shouting)
    world.chat.filters.use([Filter(dotted), second])
    assert (await world.chat.messages.post(ada, channel, Draft("a"))).content == "A."
    assert second.asked[0].content == "a."


async def test_a_refused_message_leaves_no_trace_and_says_why(
    world: World, ada: Caller, channel: str
) -> None:
    world.chat.filters.use([Filter(refusing)])
    with pytest.raises(BadRequest, match="No such words here"):
        await world.chat.messages.post(ada, channel, Draft("hello"))
    assert (await world.chat.messages.page(ada, channel, Page(50))).messages == []
    assert "NEW_MESSAGE" not in [kind for kind, _, _ in await world.events()]


async def test_what_is_refused_anyway_never_reaches_a_filter(
    world: World, ada: Caller, bob: Caller, channel: str
) -> None:
    asked = Filter(shouting)
    world.chat.filters.use([asked])
    message = await world.chat.messages.post(ada, channel, Draft("mine"))
    asked.asked.clear()
    with pytest.raises(NotFound):
        await world.chat.messages.post(ada, "nowhere", Draft("hello"))
    with pytest.raises(BadRequest):
        await world.chat.messages.post(ada, channel, Draft("x" * (MAX_LENGTH + 1)))
    with pytest.raises(Forbidden):
        await world.chat.messages.edit(bob, message.id, Draft("yours"))
    with pytest.raises(Unauthorized):
        await world.chat.webhooks.post("any", "wrong", Draft("hello"))
    assert asked.asked == []


@pytest.mark.parametrize("made", ["", " ", "x" * (MAX_LENGTH + 1), "\x00"])
async def test_what_a_filter_makes_is_held_to_the_rules(
    world: World, ada: Caller, channel: str, made: str
) -> None:
    async def spoiling(_: Posting) -> str:
        return made

    world.chat.filters.use([Filter(spoiling)])
    with pytest.raises(BadRequest):
        await world.chat.messages.post(ada, channel, Draft("hello"))


async def test_a_filter_that_fails_stops_the_message_and_is_named(
    world: World, ada: Caller, channel: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(_: Posting) -> str:
        raise ValueError("a secret word")

    world.chat.filters.use([Filter(failing, "the broken one")], lambda each: f"plugin of {each.name}")
    with pytest.raises(Unavailable):
        await world.chat.messages.post(ada, channel, Draft("hello"))
    assert (await world.chat.messages.page(ada, channel, Page(50))).messages == []
    [fields] = [
        record.__dict__["teamchat_fields"] for record in caplog.records if record.name == filters.__name__
    ]
    assert fields == {"filter": "the broken one", "plugin": "plugin of the broken one"}


async def test_a_filter_that_returns_no_text_has_failed(
    world: World, ada: Caller, channel: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(_: Posting) -> Any:
        return 5

    world.chat.filters.use([Filter(failing, "the broken one")])
    with pytest.raises(Unavailable):
        await world.chat.messages.post(ada, channel, Draft("hello"))
    assert [
        record.__dict__["teamchat_fields"]["filter"]
        for record in caplog.records
        if record.name == filters.__name__
    ] == ["the broken one"]


async def test_a_filter_that_hangs_is_not_waited_for_for_ever(
    world: World,
    ada: Caller,
    channel: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def hanging(_: Posting) -> str:
        await trio.sleep_forever()
        return ""

    monkeypatch.setattr(filters, "FILTER_SECONDS", 0.05)
    world.chat.filters.use([Filter(hanging)], lambda _: "slow (teamchat-slow 1.0)")
    with pytest.raises(Unavailable):
        await world.chat.messages.post(ada, channel, Draft("hello"))
    [fields] = [
        record.__dict__["teamchat_fields"] for record in caplog.records if record.name == filters.__name__
    ]
    assert fields["plugin"] == "slow (teamchat-slow 1.0)"
    assert (await world.chat.messages.page(ada, channel, Page(50))).messages == []


async def test_a_repeated_request_gets_the_message_again_though_filters_make_something_else_of_it_now(
    world: World, ada: Caller, channel: str
) -> None:
    world.chat.filters.use([Filter(shouting)])
    first = await world.chat.messages.post(ada, channel, Draft("hello"), "key")
    for filters_now in ([Filter(dotted)], []):
        world.chat.filters.use(filters_now)
        assert await world.chat.messages.post(ada, channel, Draft("hello"), "key") == first
    assert len((await world.chat.messages.page(ada, channel, Page(50))).messages) == 1


async def test_d42_an_edit_of_images_alone_shows_the_filters_the_content_that_stays(
    world: World, ada: Caller, channel: str
) -> None:
    message = await world.chat.messages.post(ada, channel, Draft("hello"))
    image = await world.image(channel)

    async def as_it_is(posting: Posting) -> str:
        return posting.content

    asked = Filter(as_it_is)
    world.chat.filters.use([asked])
    kept = await world.chat.messages.edit(ada, message.id, MessageEdit(images=[image]))
    assert kept.content == "hello"
    assert [(one.content, one.images) for one in asked.asked] == [("hello", (image,))]
    world.chat.filters.use([Filter(shouting)])
    assert (await world.chat.messages.edit(ada, message.id, MessageEdit(images=[]))).content == "HELLO"
