"""Pages that are cut anywhere, and what they say of the rest (decision D-08, extension H-1)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.kept_pages import FAR
from teamchat.chat.pages import MessagePage
from teamchat.errors import BadRequest, NotFound
from teamchat.model.ids import new_id
from teamchat.model.pages import Page
from tests.pages import sent_page

TEXT = Draft("hello")


def cut(ids: Sequence[str], page: Page) -> tuple[list[str], bool, bool]:
    """Cut a page out of what is there, in the plainest way."""
    if page.around is not None:
        before = [one for one in ids if one < page.around]
        after = [one for one in ids if one > page.around]
        itself = [page.around] if page.around in ids else []
        most_before = page.limit // 2
        most_after = page.limit - most_before - 1
        told = [*(before[-most_before:] if most_before else []), *itself, *after[:most_after]]
    elif page.after is not None:
        told = [one for one in ids if one > page.after][: page.limit]
    else:
        told = [one for one in ids if page.before is None or one < page.before][-page.limit :]
    first, last = _ends(told, page)
    return told, any(one < first for one in ids), any(one > last for one in ids)


def _ends(told: Sequence[str], page: Page) -> tuple[str, str]:
    """The first and the last of a page; of one with nothing in it, where it was cut."""
    if told:
        return told[0], told[-1]
    if page.after is not None:
        return page.after + "g", page.after
    if page.before is not None:
        return page.before, page.before[:-1]
    return page.around or "", page.around or ""


def said(page: MessagePage) -> tuple[list[str], bool, bool]:
    return [one.id for one in page.messages], page.has_before, page.has_after


async def test_h1_pages_of_all_three_lists_are_cut_anywhere(world, ada, bob, channel, direct) -> None:
    at_random = random.Random("H-1")
    parent = await world.chat.messages.post(bob, channel, Draft("parent"))
    chat: Any = world.chat
    lists = (
        (lambda page: chat.messages.page(ada, channel, page), lambda: chat.messages.post(bob, channel, TEXT)),
        (
            lambda page: chat.conversations.page(bob, direct, page),
            lambda: chat.conversations.post(bob, direct, TEXT),
        ),
        (
            lambda page: chat.threads.page(ada, parent.id, page),
            lambda: chat.threads.reply(bob, parent.id, TEXT),
        ),
    )
    for read, write in lists:
        written = [new_id()]
        for _ in range(12):
            made = await write()
            written.append(getattr(made, "reply", made).id)
        gone = at_random.sample(written[1:], 4)
        for one in gone:
            await chat.messages.delete(bob, one)
        written.append(new_id())
        first = [parent.id] if read is lists[0][0] else []
        there = [*first, *(one for one in written[1:-1] if one not in gone)]
        for limit in range(1, 15):
            asked = [Page(limit)]
            for position in written:
                asked += [
                    Page(limit, before=position),
                    Page(limit, after=position),
                    Page(limit, around=position),
                ]
            for page in asked:
                assert said(await read(page)) == cut(there, page), page


async def test_h1_at_most_one_position_is_given(world, bob, channel) -> None:
    one = new_id()
    for page, words in (
        (Page(before=one, after=one), "before and after"),
        (Page(around=one, after=one), "after and around"),
        (Page(before=one, after=one, around=one), "before and after and around"),
    ):
        with pytest.raises(BadRequest, match=f"{words} can't be given together"):
            await world.chat.messages.page(bob, channel, page)
    for name in ("before", "after", "around"):
        with pytest.raises(BadRequest, match=f"{name} is not the id of a message"):
            await world.chat.messages.page(bob, channel, Page(**{name: "here"}))


async def test_h1_nothing_of_before_ones_bound_is_there_or_counted(world, ada, bob) -> None:
    secret = (await world.chat.channels.create(ada, NewPrivateChannel("Secret", history_for="joiners"))).id
    hidden = await world.chat.messages.post(ada, secret, Draft("before"))
    await world.chat.members.add(ada, secret, [bob.user.id])
    shown = await world.chat.messages.post(ada, secret, Draft("after"))
    for page in (Page(1), Page(5, around=hidden.id), Page(5, after=hidden.id), Page(1, around=shown.id)):
        found = await world.chat.messages.page(bob, secret, page)
        assert said(found) == ([shown.id], False, False), page
    with pytest.raises(NotFound):
        await world.chat.messages.one(bob, hidden.id)
    assert (await world.chat.messages.one(bob, shown.id)).message == shown


async def test_h1_a_message_is_read_by_its_id_with_its_place(world, ada, bob, channel, direct) -> None:
    chat: Any = world.chat
    posted = await chat.messages.post(bob, channel, Draft("hello"))
    replied = (await chat.threads.reply(bob, posted.id, Draft("there"))).reply
    said_to = await chat.conversations.post(bob, direct, Draft("to you"))
    found = await chat.messages.one(ada, replied.id)
    assert (found.message, found.place.id, found.place.kind) == (replied, channel, "channel")
    assert (found.place.name, found.place.is_private) == ("General talk", False)
    found = await chat.messages.one(ada, said_to.id)
    assert (found.place.id, found.place.kind, found.place.name) == (direct, "direct", None)
    assert found.place.is_private
    eve = await world.user("eve")
    for missing in (said_to.id, new_id(), "nothing"):
        with pytest.raises(NotFound):
            await chat.messages.one(eve, missing)


async def test_x7_what_happens_after_as_of_is_not_in_the_page_and_what_happened_before_is(
    world, bob, channel
) -> None:
    first = await world.chat.messages.post(bob, channel, Draft("first"))
    page = await world.chat.messages.page(bob, channel, Page())
    second = await world.chat.messages.post(bob, channel, Draft("second"))
    async with world.storage.read() as tx:
        later = await tx.fetch("select payload from events where seq > $1 order by seq", page.as_of)
    assert [first.id in payload or second.id in payload for (payload,) in later] == [True]
    assert second.id in later[0][0]


async def test_x7_a_page_in_memory_names_a_position_that_is_not_far_behind(world, ada, bob, channel, direct):
    await world.chat.messages.post(bob, channel, TEXT)
    first = await sent_page(world.chat, ada, channel)
    positions = set()
    for _ in range(FAR * 2 + 1):
        await world.chat.conversations.post(bob, direct, TEXT)
        page = await sent_page(world.chat, ada, channel)
        assert page["messages"] == first["messages"]
        assert 0 <= await world.storage.position() - int(page["asOf"]) <= FAR
        positions.add(page["asOf"])
    assert len(positions) == 2, "and readers have its bytes in common between"
