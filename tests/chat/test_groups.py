"""Groups of a few people, and one's own notes (extension C)."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from teamchat.capabilities import Capabilities
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import ChannelChange
from teamchat.chat.groups import EMPTY_FOR_MS, GroupOf
from teamchat.chat.leaving import Departures
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.events import InRoom, is_internal
from teamchat.model import now_ms
from teamchat.model.ids import new_id
from teamchat.model.pages import Page
from teamchat.storage.log import decoded_audience


@pytest.fixture
async def people(world: Any, ada: Any, bob: Any, eve: Any) -> list[Any]:
    return [
        ada,
        bob,
        eve,
        *[await world.user(name) for name in ("Finn", "Gil", "Hal", "Ida", "Jo", "Kim", "Lu")],
    ]


async def group(world: Any, maker: Any, *others: Any, key: str | None = None) -> tuple[Any, bool]:
    found: tuple[Any, bool] = await world.chat.groups.open(
        maker, GroupOf([one.user.id for one in others]), key
    )
    return found


async def opened(world: Any, maker: Any, *others: Any) -> str:
    return str((await group(world, maker, *others))[0].id)


async def say(world: Any, who: Any, room_id: str, text: str) -> str:
    return str((await world.chat.messages.post(who, room_id, Draft(text))).id)


async def texts(world: Any, caller: Any, room_id: str) -> list[str]:
    return [one.content for one in (await world.chat.messages.page(caller, room_id, Page(50))).messages]


async def told(world: Any, *, after: int) -> list[tuple[str, Any]]:
    """Return the types and audiences of the events for clients."""
    async with world.storage.read() as tx:
        rows = await tx.fetch("select type, audience from events where seq > $1 order by seq", after)
    return [(kind, decoded_audience(audience)) for kind, audience in rows if not is_internal(kind)]


async def log_end(world: Any) -> int:
    return int((await world.storage.log_bounds())[1])


async def test_c1_the_same_people_have_one_group_whoever_asks_and_in_whatever_order(world, ada, bob, eve):
    made, is_new = await group(world, ada, bob, eve)
    assert is_new
    assert (made.kind, made.is_private, made.member_count, made.role) == ("group", True, 3, "member")
    for maker, others in ((ada, (eve, bob)), (bob, (ada, eve)), (eve, (bob, ada, bob, eve))):
        assert await group(world, maker, *others) == (await world.chat.channels.get(maker, made.id), False)


async def test_c1_two_who_ask_at_once_get_the_same_group(world, ada, bob, eve):
    found: list[tuple[Any, bool]] = []

    async def ask(maker: Any, *others: Any) -> None:
        found.append(await group(world, maker, *others))

    async with trio.open_nursery() as nursery:
        for maker, others in ((ada, (bob, eve)), (bob, (ada, eve)), (eve, (ada, bob))):
            nursery.start_soon(ask, maker, *others)
    assert len({made.id for made, _ in found}) == 1
    assert sorted(is_new for _, is_new in found) == [False, False, True]


async def test_c1_a_group_is_of_two_to_eight_others_who_are_there(world, people):
    ada, bob, eve, *others = people
    for few in ([], [bob], [bob, bob], [ada, bob]):
        with pytest.raises(BadRequest):
            await group(world, ada, *few)
    with pytest.raises(BadRequest):
        await group(world, ada, bob, eve, *others)
    await world.remove_user(eve)
    with pytest.raises(NotFound):
        await group(world, ada, bob, eve)
    for unknown in (new_id(), "nobody", "x" * 200):
        with pytest.raises(NotFound):
            await world.chat.groups.open(ada, GroupOf([bob.user.id, unknown]))
    assert await world.chat.channels.list(ada) == []


async def test_c1_larger_and_smaller_groups_of_the_same_people_are_others(world, ada, bob, eve, people):
    three = await opened(world, ada, bob, eve)
    four = await opened(world, ada, bob, eve, people[3])
    assert three != four
    assert await opened(world, bob, ada, eve) == three


async def test_d07b_a_group_that_is_asked_for_again_under_its_key_is_still_the_new_one(world, ada, bob, eve):
    first = await group(world, ada, bob, eve, key="once")
    assert await group(world, ada, bob, eve, key="once") == first
    assert await group(world, ada, bob, eve) == (first[0], False)
    with pytest.raises(BadRequest, match="another request"):
        await group(world, ada, bob, await world.user("Fay"), key="once")


async def test_d07b_who_has_left_a_group_is_told_nothing_of_it_under_its_key(world, ada, bob, eve):
    made, _ = await group(world, ada, bob, eve, key="once")
    await world.chat.members.leave(ada, made.id)
    with pytest.raises(NotFound):
        await group(world, ada, bob, eve, key="once")


async def test_c2_a_group_is_called_after_who_is_in_it_as_they_are_called_now(world, ada, bob, eve):
    made, _ = await group(world, eve, bob, ada)
    assert made.name == "Ada, Bob, Eve"
    await world.run("update users set user_name = 'alma' where id = $1", eve.user.id)
    assert [one.name for one in await world.chat.channels.list(bob)] == ["Ada, alma, Bob"]
    await world.run("update users set user_name = $2 where id = $1", eve.user.id, "e" * 90)
    assert len((await world.chat.channels.get(bob, made.id)).name) == 80


async def test_c2_everybody_in_it_sets_the_topic_and_nothing_else_can_be_changed(world, ada, bob, eve):
    room = await opened(world, ada, bob, eve)
    assert (await world.chat.channels.change(bob, room, ChannelChange(topic="Lunch"))).topic == "Lunch"
    for change in (
        ChannelChange(name="Ours"),
        ChannelChange(topic="Tea", description="At four"),
        ChannelChange(post_policy="managers"),
        ChannelChange(is_private=False),
    ):
        with pytest.raises(BadRequest):
            await world.chat.channels.change(ada, room, change)
    assert (await world.chat.channels.get(eve, room)).topic == "Lunch"


async def test_c3_who_is_added_sees_what_is_said_from_then_on(world, people):
    ada, bob, eve, finn, *_ = people
    room = await opened(world, ada, bob, eve)
    await say(world, ada, room, "among three")
    end = await log_end(world)
    assert (await world.chat.groups.add(eve, room, [finn.user.id])).member_count == 4
    await say(world, ada, room, "among four")
    assert await texts(world, finn, room) == ["among four"]
    assert await texts(world, bob, room) == ["among three", "among four"]
    kinds = [kind for kind, _ in await told(world, after=end)]
    assert kinds == ["NEW_CHANNEL", "CHANNEL_MEMBERS_ADDED", "NEW_MESSAGE"]


@pytest.mark.parametrize("way", ["groups", "members"])
async def test_c3_a_group_has_nine_people_at_most_by_either_address(world, people, way):
    ada, bob, eve, *others = people
    room = await opened(world, ada, bob, eve)
    add = getattr(world.chat, way).add
    with pytest.raises(BadRequest):
        await add(ada, room, [one.user.id for one in others])
    with pytest.raises(NotFound):
        await add(ada, room, [others[0].user.id, new_id()])
    assert (await world.chat.channels.get(ada, room)).member_count == 3
    await add(ada, room, [one.user.id for one in others[:6]])
    await add(ada, room, [one.user.id for one in others[:6]])
    assert (await world.chat.channels.get(ada, room)).member_count == 9
    with pytest.raises(BadRequest):
        await add(ada, room, [others[6].user.id])


async def test_c4_who_leaves_sees_no_more_of_it_and_the_last_one_stays(world, ada, bob, eve):
    room = await opened(world, ada, bob, eve)
    end = await log_end(world)
    await world.chat.members.leave(bob, room)
    [(gone, to_bob), (left, to_others)] = await told(world, after=end)
    assert (gone, to_bob, left) == ("DELETE_CHANNEL", (bob.user.id,), "CHANNEL_MEMBER_REMOVED")
    assert isinstance(to_others, InRoom)
    with pytest.raises(NotFound):
        await world.chat.channels.get(bob, room)
    await world.chat.members.remove(eve, room, eve.user.id)
    for leave in (world.chat.members.leave(ada, room), world.chat.members.remove(ada, room, ada.user.id)):
        with pytest.raises(BadRequest):
            await leave
    assert (await world.chat.channels.get(ada, room)).name == "Ada"


async def test_c4_of_two_groups_of_the_same_people_the_one_active_last_is_given(world, people):
    ada, bob, eve, finn, *_ = people
    small = await opened(world, ada, bob, eve)
    large = await opened(world, ada, bob, eve, finn)
    await world.chat.members.leave(finn, large)
    assert await opened(world, bob, ada, eve) == large
    await say(world, ada, small, "here")
    assert await opened(world, bob, ada, eve) == small


async def test_c4_a_group_whose_people_were_all_removed_goes_after_thirty_days(world, people):
    ada, bob, eve, finn, *_ = people
    doomed, other = await opened(world, bob, eve, finn), await opened(world, ada, bob, eve)
    await say(world, bob, doomed, "soon gone")
    for one in (bob, eve, finn):
        async with world.storage.write() as tx:
            await Departures(Capabilities()).user_gone(tx, one.user.id)
    await world.chat.groups.remove_empty()
    assert await world.count("messages") == 1
    await world.run(
        "update rooms set archived_at = $1 where archived_at is not null", now_ms() - EMPTY_FOR_MS - 1
    )
    await world.chat.groups.remove_empty()
    assert await world.count("messages") == 0
    assert [one.id for one in await world.chat.channels.list(ada)] == [other]


async def test_c5_a_group_becomes_a_private_channel_that_all_in_it_manage(world, people):
    ada, bob, eve, finn, *_ = people
    room = await opened(world, ada, bob, eve)
    await say(world, ada, room, "in the group")
    await world.chat.groups.add(ada, room, [finn.user.id])
    end = await log_end(world)
    made = await world.chat.groups.convert(bob, room, " Project  X ")
    assert (made.name, made.is_private, made.role) == ("Project X", True, "manager")
    assert made.kind not in ("group", "notes")
    [(kind, audience)] = await told(world, after=end)
    assert (kind, audience.is_private) == ("UPDATE_CHANNEL", True)
    page = await world.chat.members.page(eve, room, 50, None)
    assert {one.role for one in page.members} == {"manager"}
    # What was said among fewer stays among them; who comes now is shown it all.
    assert await texts(world, finn, room) == []
    gil = people[4]
    await world.chat.members.add(eve, room, [gil.user.id])
    assert await texts(world, gil, room) == ["in the group"]
    with pytest.raises(NotFound):
        await world.chat.groups.convert(bob, room, "Again")


async def test_c5_what_was_a_group_becomes_public_without_what_was_said(world, ada, bob, eve):
    room = await opened(world, ada, bob, eve)
    await say(world, ada, room, "among us")
    await world.chat.groups.convert(ada, room, "Open")
    with pytest.raises(BadRequest, match="hide"):
        await world.chat.privacy.change(ada, room, PrivacyChange(is_private=False, history="show"))
    await world.chat.privacy.change(ada, room, PrivacyChange(is_private=False, history="hide"))
    stranger = await world.user("Sam")
    assert await texts(world, stranger, room) == []
    assert await texts(world, eve, room) == ["among us"]


async def test_c6_everybody_has_one_place_for_notes_and_nobody_else_sees_it(world, ada, bob):
    notes, is_new = await world.chat.groups.notes(bob)
    assert (notes.kind, notes.member_count, notes.name, is_new) == ("notes", 1, "Bob", True)
    assert await world.chat.groups.notes(bob) == (notes, False)
    assert (await world.chat.groups.notes(ada))[0].id != notes.id
    await say(world, bob, notes.id, "milk")
    assert await texts(world, bob, notes.id) == ["milk"]
    with pytest.raises(NotFound):
        await world.chat.channels.get(ada, notes.id)
    for add in (
        world.chat.members.add(bob, notes.id, [ada.user.id]),
        world.chat.members.check_add(bob, notes.id),
    ):
        with pytest.raises(Forbidden):
            await add
    for asked in (
        world.chat.groups.add(bob, notes.id, [ada.user.id]),
        world.chat.groups.convert(bob, notes.id, "Ours"),
    ):
        with pytest.raises(NotFound):
            await asked
    with pytest.raises(BadRequest):
        await world.chat.members.leave(bob, notes.id)


async def test_c6_two_devices_that_ask_for_notes_at_once_get_the_same(world, ada):
    found: list[tuple[Any, bool]] = []

    async def ask() -> None:
        found.append(await world.chat.groups.notes(ada))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(ask)
    assert len({notes.id for notes, _ in found}) == 1


@pytest.mark.parametrize("kind", ["group", "notes"])
async def test_c8_nobody_manages_a_group_or_notes(world, ada, bob, eve, kind):
    """Ada is an admin, and in it."""
    room = (
        await opened(world, ada, bob, eve)
        if kind == "group"
        else str((await world.chat.groups.notes(ada))[0].id)
    )
    for refused in (
        world.chat.channels.delete(ada, room),
        world.chat.channels.archive(ada, room, is_archived=True),
        world.chat.privacy.change(ada, room, PrivacyChange(is_private=False, history="hide")),
        world.chat.members.set_role(ada, room, ada.user.id, "manager"),
        world.chat.members.remove(ada, room, bob.user.id),
        world.chat.webhooks.create(ada, "Bot", room),
        world.chat.administration.enter(ada, room, "to look"),
    ):
        with pytest.raises(Forbidden):
            await refused
    with pytest.raises(NotFound):
        await world.chat.administration.delete(ada, room)
    other = await world.user("Root", is_admin=True)
    for unseen in (
        world.chat.channels.delete(other, room),
        world.chat.administration.enter(other, room, "to look"),
        world.chat.administration.delete(other, room),
    ):
        with pytest.raises(NotFound):
            await unseen
    assert (await world.chat.administration.page(other, 50, None)).channels == []


async def test_c8_in_a_group_the_author_alone_deletes_a_message(world, ada, bob, eve):
    room = await opened(world, ada, bob, eve)
    said = await say(world, bob, room, "mine")
    with pytest.raises(Forbidden):
        await world.chat.messages.delete(ada, said)
    await world.chat.messages.delete(bob, said)
    assert await texts(world, ada, room) == []


async def test_c1_a_group_that_was_found_is_answered_again_though_it_is_another_set_by_now(world, people):
    ada, bob, eve, finn, *_ = people
    made = await opened(world, bob, ada, eve)
    for _ in range(2):
        again, is_new = await group(world, ada, bob, eve, key="a key")
        assert (again.id, is_new) == (made, False)
        await world.chat.groups.add(ada, made, [finn.user.id])
    with pytest.raises(BadRequest):
        await group(world, ada, bob, finn, key="a key")
    await world.chat.members.leave(ada, made)
    with pytest.raises(NotFound):
        await group(world, ada, bob, eve, key="a key")
