"""Who is in a channel, who manages it, and who is told (extensions B-1 to B-6, B-9 to B-12)."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from teamchat.chat import Draft
from teamchat.chat.channel_drafts import ChannelChange, NewChannel, NewPrivateChannel
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.events import InRoom, is_internal
from teamchat.model.ids import new_id
from teamchat.model.pages import Page
from teamchat.storage.log import decoded_audience
from teamchat.stream.rooms import Rooms
from tests.pages import sent_page


async def private(world: Any, maker: Any, *members: Any, **fields: Any) -> str:
    draft = NewPrivateChannel("Secret", members=[one.user.id for one in members], **fields)
    return str((await world.chat.channels.create(maker, draft)).id)


async def ids(world: Any, caller: Any, channel_id: str) -> set[str]:
    return {one.user_id for one in (await world.chat.members.page(caller, channel_id, 200, None)).members}


async def managers(world: Any, caller: Any, channel_id: str) -> set[str]:
    page = await world.chat.members.page(caller, channel_id, 200, None)
    return {one.user_id for one in page.members if one.role == "manager"}


async def texts(world: Any, caller: Any, channel_id: str) -> list[str]:
    return [one.content for one in (await world.chat.messages.page(caller, channel_id, Page(50))).messages]


async def told(world: Any, *, after: int = 0) -> list[tuple[str, Any]]:
    """Return the types and audiences of the events for clients."""
    async with world.storage.read() as tx:
        rows = await tx.fetch("select type, audience from events where seq > $1 order by seq", after)
    return [(kind, decoded_audience(audience)) for kind, audience in rows if not is_internal(kind)]


async def log_end(world: Any) -> int:
    return int((await world.storage.log_bounds())[1])


async def test_b1_everybody_is_a_member_of_a_default_channel_until_they_leave(world, ada, bob, channel):
    everybody = {ada.user.id, bob.user.id}
    assert await ids(world, bob, channel) == everybody
    await world.chat.members.leave(bob, channel)
    assert await ids(world, ada, channel) == {ada.user.id}
    left = await world.chat.channels.get(bob, channel)
    assert (left.is_member, left.member_count) == (False, 1)
    assert await world.chat.channels.list(bob, joined=True) == []
    assert await texts(world, bob, channel) == []
    for _ in range(2):
        assert (await world.chat.members.join(bob, channel)).is_member
    assert await ids(world, ada, channel) == everybody


async def test_b1_nobody_is_in_a_new_channel_that_is_not_default_but_who_made_it(world, ada, bob):
    made = await world.chat.channels.create(ada, NewChannel("Few", is_default=False))
    assert (made.role, made.member_count) == ("manager", 1)
    assert (await world.chat.channels.get(bob, made.id)).is_member is False
    await world.chat.members.leave(bob, made.id)
    assert await ids(world, bob, made.id) == {ada.user.id}


async def test_b10_of_a_default_channel_the_user_alone_is_told_and_of_another_its_members(world, ada, bob):
    default = (await world.chat.channels.create(ada, "Default")).id
    few = (await world.chat.channels.create(ada, NewChannel("Few", is_default=False))).id
    end = await log_end(world)
    await world.chat.members.leave(bob, default)
    await world.chat.members.join(bob, default)
    await world.chat.members.join(bob, few)
    await world.chat.members.leave(bob, few)
    (_, left), (_, joined), (_, others), (_, own), (_, removed) = found = await told(world, after=end)
    assert [kind for kind, _ in found] == ["CHANNEL_MEMBER_REMOVED", "CHANNEL_MEMBERS_ADDED"] * 1 + [
        "CHANNEL_MEMBERS_ADDED",
        *["CHANNEL_MEMBER_REMOVED"] * 2,
    ]
    assert left.users == joined.users == own.users == (bob.user.id,)
    assert (others.is_private, removed.is_private) == (True, True), "its members alone"


async def test_b2_a_private_channel_is_its_members(world, ada, bob, eve):
    secret = await private(world, bob, eve)
    assert [one.name for one in await world.chat.channels.list(eve)] == ["Secret"]
    assert await world.chat.channels.list(ada) == []
    for asked in (
        world.chat.channels.get(ada, secret),
        world.chat.members.page(ada, secret, 50, None),
        world.chat.members.join(ada, secret),
        world.chat.members.leave(ada, secret),
        world.chat.members.add(ada, secret, [ada.user.id]),
        world.chat.members.remove(ada, secret, eve.user.id),
        world.chat.members.set_role(ada, secret, eve.user.id, "manager"),
        world.chat.channels.archive(ada, secret, is_archived=True),
        world.chat.privacy.change(ada, secret, PrivacyChange(is_private=False, history="show")),
    ):
        with pytest.raises(NotFound):
            await asked


async def test_b10_who_is_removed_is_told_that_it_is_gone_and_the_others_that_they_are(world, ada, bob, eve):
    secret = await private(world, ada, bob, eve)
    end = await log_end(world)
    await world.chat.members.remove(ada, secret, bob.user.id)
    (first, lost), (second, left) = await told(world, after=end)
    assert (first, lost) == ("DELETE_CHANNEL", (bob.user.id,))
    assert (second, left) == ("CHANNEL_MEMBER_REMOVED", InRoom(secret, 3, is_private=True))
    await world.chat.members.remove(ada, secret, bob.user.id)
    assert len(await told(world, after=end)) == 2, "who is not there is not missed"


async def test_an_unknown_user_is_404_and_nobody_is_added(world, ada, bob):
    secret = await private(world, ada)
    for unknown in (new_id(), "nobody"):
        with pytest.raises(NotFound):
            await world.chat.members.add(ada, secret, [bob.user.id, unknown])
    assert await ids(world, ada, secret) == {ada.user.id}
    added = await world.chat.members.add(ada, secret, [bob.user.id, ada.user.id, bob.user.id])
    assert (added.added, added.already_members) == ([bob.user.id], [ada.user.id])
    for wrong in ([], [new_id() for _ in range(201)]):
        with pytest.raises(BadRequest):
            await world.chat.members.add(ada, secret, wrong)


async def test_members_are_paged_by_a_cursor_that_outlives_what_it_points_at(world, ada, bob, eve):
    secret = await private(world, ada, bob, eve)
    everybody = sorted(one.user.id for one in (ada, bob, eve))
    first = await world.chat.members.page(ada, secret, 1, None)
    assert first.count == 3
    second = await world.chat.members.page(ada, secret, 1, first.next)
    [shown] = second.members
    leaver = next(one for one in (ada, bob, eve) if one.user.id == shown.user_id)
    await world.chat.members.leave(leaver, secret)
    stays = bob if leaver is ada else ada
    third = await world.chat.members.page(stays, secret, 5, second.next)
    assert [one.user_id for page in (first, second, third) for one in page.members] == everybody
    assert third.next is None
    with pytest.raises(BadRequest):
        await world.chat.members.page(stays, secret, 1, "elsewhere")


async def test_who_may_add_and_remove(world, ada, bob, eve):
    secret = await private(world, bob, eve)
    zoe = await world.user("Zoe")
    with pytest.raises(Forbidden):
        await world.chat.members.remove(eve, secret, bob.user.id)
    assert (await world.chat.members.add(eve, secret, [zoe.user.id])).added
    await world.chat.members.remove(bob, secret, zoe.user.id)
    await world.chat.channels.change(bob, secret, ChannelChange(invite_policy="managers"))
    with pytest.raises(Forbidden):
        await world.chat.members.add(eve, secret, [zoe.user.id])
    await world.chat.members.set_role(bob, secret, eve.user.id, "manager")
    assert (await world.chat.members.add(eve, secret, [zoe.user.id])).added
    for asked in (
        world.chat.members.remove(eve, secret, bob.user.id),
        world.chat.members.set_role(eve, secret, bob.user.id, "member"),
    ):
        with pytest.raises(Forbidden):
            await asked


async def test_b3_the_last_manager_stays_or_the_longest_member_follows(world, ada, bob, eve):
    secret = await private(world, bob, eve)
    with pytest.raises(BadRequest):
        await world.chat.members.set_role(bob, secret, bob.user.id, "member")
    await world.chat.members.add(bob, secret, [ada.user.id])
    end = await log_end(world)
    await world.chat.members.leave(bob, secret)
    assert await managers(world, eve, secret) == {eve.user.id}
    assert [kind for kind, _ in await told(world, after=end)] == [
        *("DELETE_CHANNEL", "CHANNEL_MEMBER_REMOVED", "CHANNEL_MEMBER_UPDATED")
    ]


async def test_b3_two_last_managers_who_leave_at_once_leave_one_behind(world, ada, bob, eve):
    secret = await private(world, ada, bob, eve)
    await world.chat.members.set_role(ada, secret, bob.user.id, "manager")
    async with trio.open_nursery() as nursery:
        for one in (ada, bob):
            nursery.start_soon(world.chat.members.leave, one, secret)
    assert await managers(world, eve, secret) == {eve.user.id}


async def test_b3_of_two_managers_who_lower_themselves_at_once_one_stays(world, ada, bob):
    secret = await private(world, ada, bob)
    await world.chat.members.set_role(ada, secret, bob.user.id, "manager")
    refused = []

    async def lower(one: Any) -> None:
        try:
            await world.chat.members.set_role(one, secret, one.user.id, "member")
        except BadRequest:
            refused.append(one)

    async with trio.open_nursery() as nursery:
        for one in (ada, bob):
            nursery.start_soon(lower, one)
    assert len(refused) == 1
    assert await managers(world, ada, secret) == {refused[0].user.id}


async def test_b5_a_private_channel_without_members_is_archived_and_keeps_everything(world, ada, bob):
    secret = await private(world, bob)
    await world.chat.messages.post(bob, secret, Draft("hidden"))
    await world.chat.members.leave(bob, secret)
    assert await world.chat.channels.list(bob) == []
    listed = (await world.chat.administration.page(ada, 50, None)).channels
    [(archived, count)] = [(one.is_archived, one.member_count) for one in listed if one.id == secret]
    assert (archived, count) == (True, 0)
    entered = await world.chat.administration.enter(ada, secret, "nobody is left")
    assert (entered.role, entered.is_archived) == ("manager", True)
    assert await texts(world, ada, secret) == ["hidden"]


async def test_b6_an_archived_channel_is_read_and_what_one_may_delete_is_deleted(world, ada, bob, channel):
    message = await world.chat.messages.post(bob, channel, Draft("old"))
    hook = await world.chat.webhooks.create(ada, "Bot", channel)
    with pytest.raises(Forbidden):
        await world.chat.channels.archive(bob, channel, is_archived=True)
    await world.chat.members.leave(bob, channel)
    for _ in range(2):
        assert (await world.chat.channels.archive(ada, channel, is_archived=True)).is_archived
    for refused in (
        world.chat.messages.post(ada, channel, Draft("new")),
        world.chat.messages.edit(bob, message.id, Draft("new")),
        world.chat.threads.reply(bob, message.id, Draft("new")),
        world.chat.reactions.add(bob, message.id, "👍"),
        world.chat.images.upload_to_channel(bob, channel, "a.png", "", None),
        world.chat.members.join(bob, channel),
        world.chat.members.add(ada, channel, [bob.user.id]),
        world.chat.webhooks.post(hook.id, hook.token, Draft("new")),
    ):
        with pytest.raises(Forbidden, match=r"The channel is archived\."):
            await refused
    assert await texts(world, bob, channel) == ["old"]
    await world.chat.messages.delete(bob, message.id)
    assert [one.id for one in await world.chat.channels.list(bob, archived="only")] == [channel]
    assert await world.chat.channels.list(bob, archived="no") == []
    await world.chat.channels.archive(ada, channel, is_archived=False)
    await world.chat.messages.post(bob, channel, Draft("again"))


async def test_only_managers_and_admins_post_where_they_alone_may_and_everybody_replies(world, ada, bob, eve):
    secret = await private(world, bob, ada, eve, post_policy="managers")
    parent = await world.chat.messages.post(bob, secret, Draft("news"))
    await world.chat.messages.post(ada, secret, Draft("more"))
    with pytest.raises(Forbidden):
        await world.chat.messages.post(eve, secret, Draft("me too"))
    await world.chat.threads.reply(eve, parent.id, Draft("me too"))


async def test_a_private_channel_is_made_once_under_a_key(world, bob):
    draft = NewPrivateChannel("Once")
    one, same = [await world.chat.channels.create(bob, draft, "a key") for _ in range(2)]
    assert one == same
    assert len(await world.chat.channels.list(bob)) == 1
    with pytest.raises(BadRequest):
        await world.chat.channels.create(bob, NewPrivateChannel("Twice"), "a key")


async def test_b4_a_private_name_clashes_with_none(world, ada, bob):
    await world.chat.channels.create(ada, "Secret")
    one, two = await private(world, bob), await private(world, bob)
    assert one != two
    await world.chat.members.add(bob, one, [ada.user.id])
    with pytest.raises(BadRequest):
        await world.chat.privacy.change(ada, one, PrivacyChange(is_private=False, history="show"))


async def test_b9_a_joiner_sees_what_is_said_from_then_on_and_what_hangs_on_that(world, ada, bob, eve):
    secret = await private(world, ada, history_for="joiners")
    image = await world.image(secret)
    before = await world.chat.messages.post(ada, secret, Draft("before", images=[image]))
    reply = (await world.chat.threads.reply(ada, before.id, Draft("a reply"))).reply
    await world.chat.members.add(ada, secret, [bob.user.id])
    await world.chat.messages.post(ada, secret, Draft("after"))
    late = (await world.chat.threads.reply(ada, before.id, Draft("a late reply"))).reply
    assert await texts(world, bob, secret) == ["after"]
    assert await texts(world, ada, secret) == ["before", "after"]
    for hidden in (
        world.chat.threads.page(bob, before.id, Page(50)),
        world.chat.threads.reply(bob, before.id, Draft("hello")),
        world.chat.reactions.add(bob, reply.id, "👍"),
        world.chat.reactions.add(bob, late.id, "👍"),
        world.chat.messages.edit(bob, before.id, Draft("mine")),
        world.chat.messages.delete(bob, before.id),
        world.chat.images.open_in_channel(bob, secret, image, thumbnail=False),
    ):
        with pytest.raises(NotFound):
            await hidden
    with pytest.raises(BadRequest):
        await world.chat.messages.post(bob, secret, Draft("look", images=[image]))
    await world.chat.channels.change(ada, secret, ChannelChange(history_for="all"))
    assert await texts(world, bob, secret) == ["after"], "changing it shows no more"
    await world.chat.members.add(ada, secret, [eve.user.id])
    assert await texts(world, eve, secret) == ["before", "after"]
    await world.chat.channels.change(ada, secret, ChannelChange(history_for="joiners"))
    assert await texts(world, eve, secret) == ["before", "after"], "and hides nothing"


async def test_b9_the_newest_page_in_memory_is_for_those_who_see_the_same(world, ada, bob):
    secret = await private(world, ada, history_for="joiners")
    await world.chat.messages.post(ada, secret, Draft("before"))
    await world.chat.members.add(ada, secret, [bob.user.id])

    async def kept(caller: Any) -> list[str]:
        return [one["content"] for one in (await sent_page(world.chat, caller, secret))["messages"]]

    for _ in range(2):
        assert (await kept(ada), await kept(bob)) == (["before"], [])


async def test_b9_an_answer_that_is_repeated_is_none_of_what_one_sees_no_more(world, ada, bob):
    secret = await private(world, ada, bob, history_for="joiners")
    await world.chat.messages.post(bob, secret, Draft("once"), "a key")
    await world.chat.members.leave(bob, secret)
    await world.chat.members.add(ada, secret, [bob.user.id])
    with pytest.raises(BadRequest):
        await world.chat.messages.post(bob, secret, Draft("once"), "a key")


async def test_b7_to_private_members_are_those_named_and_all_others_lose_it(world, ada, bob, eve, channel):
    await world.chat.messages.post(eve, channel, Draft("said in public"))
    with pytest.raises(BadRequest):
        await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=True))
    end = await log_end(world)
    change = PrivacyChange(is_private=True, members=[bob.user.id])
    made = await world.chat.privacy.change(ada, channel, change)
    assert (made.is_private, made.is_default, made.member_count) == (True, False, 2)
    assert await texts(world, bob, channel) == ["said in public"]
    with pytest.raises(NotFound):
        await texts(world, eve, channel)
    (first, lost), (second, changed) = await told(world, after=end)
    assert (first, second) == ("DELETE_CHANNEL", "UPDATE_CHANNEL")
    async with world.storage.read() as tx:
        rooms = await Rooms.read(tx)
    sees = {
        one.user.user_name: (rooms.sees(one.user.id, lost), rooms.sees(one.user.id, changed))
        for one in (ada, bob, eve)
    }
    assert sees == {"Ada": (False, True), "Bob": (False, True), "Eve": (True, False)}


async def test_b8_to_public_shows_or_hides_what_was_said_before(world, ada, bob, eve):
    for history, seen in (("hide", ["after"]), ("show", ["before", "after"])):
        secret = await private(world, ada, bob)
        old = await world.chat.messages.post(ada, secret, Draft("before"))
        with pytest.raises(Forbidden):
            await world.chat.privacy.change(bob, secret, PrivacyChange(is_private=False, history=history))
        with pytest.raises(BadRequest):
            await world.chat.privacy.change(ada, secret, PrivacyChange(is_private=False))
        await world.chat.channels.change(ada, secret, f"Open {history}")
        end = await log_end(world)
        await world.chat.privacy.change(ada, secret, PrivacyChange(is_private=False, history=history))
        await world.chat.messages.edit(ada, old.id, Draft("before"))
        await world.chat.messages.post(ada, secret, Draft("after"))
        await world.chat.members.join(eve, secret)
        assert await texts(world, eve, secret) == seen, "also for who joins"
        assert await texts(world, bob, secret) == ["before", "after"]
        async with world.storage.read() as tx:
            rooms = await Rooms.read(tx)
        kinds = [kind for kind, audience in await told(world, after=end) if rooms.sees(eve.user.id, audience)]
        edits = ["UPDATE_MESSAGE"] if history == "show" else []
        assert kinds == ["NEW_CHANNEL", "UPDATE_CHANNEL", *edits, "NEW_MESSAGE", "CHANNEL_MEMBERS_ADDED"]


async def test_b12_entering_is_told_to_all_members_and_needs_a_reason(world, ada, bob, eve):
    secret = await private(world, bob)
    with pytest.raises(Forbidden):
        await world.chat.administration.enter(eve, secret, "curious")
    with pytest.raises(BadRequest):
        await world.chat.administration.enter(ada, secret, " ")
    with pytest.raises(Forbidden):
        await world.chat.administration.page(eve, 50, None)
    await world.chat.administration.enter(ada, secret, "a complaint")
    assert await managers(world, bob, secret) == {ada.user.id, bob.user.id}
    async with world.storage.read() as tx:
        [(payload,)] = await tx.fetch("select payload from events where type = 'CHANNEL_MEMBERS_ADDED'")
    assert '"reason":"admin"' in payload


async def test_x15_of_a_deleted_private_channel_nobody_is_given_anything_from_the_log(world, ada, bob, eve):
    """Not even of when it was public: it was private when it went."""
    channel = (await world.chat.channels.create(ada, "Once public")).id
    await world.chat.messages.post(bob, channel, Draft("said"))
    await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=True, members=[bob.user.id]))
    await world.chat.channels.delete(ada, channel)
    async with world.storage.read() as tx:
        rooms = await Rooms.read(tx)
    seen = {
        one.user.user_name: [
            kind for kind, audience in await told(world) if rooms.sees(one.user.id, audience)
        ]
        for one in (ada, bob, eve)
    }
    gone = ["DELETE_CHANNEL"]
    assert seen == {"Ada": gone * 2, "Bob": gone * 2, "Eve": gone}
    assert await world.count("departures") == await world.count("memberships") == 0


async def test_of_posts_and_a_removal_at_once_each_post_is_seen_or_refused(world, ada, bob):
    secret = await private(world, ada, bob)
    refused = 0

    async def say(number: int) -> None:
        nonlocal refused
        try:
            await world.chat.messages.post(bob, secret, Draft(str(number)))
        except NotFound:
            refused += 1

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(say, number)
            if number == 10:
                nursery.start_soon(world.chat.members.remove, ada, secret, bob.user.id)
    assert len(await texts(world, ada, secret)) + refused == 20
    kinds = [kind for kind, _ in await told(world)]
    removal = kinds.index("CHANNEL_MEMBER_REMOVED")
    assert "NEW_MESSAGE" not in kinds[removal:]


async def test_of_posts_and_a_conversion_at_once_no_post_of_an_outsider_comes_after_it(
    world, ada, bob, channel
):
    posted, end = 0, await log_end(world)

    async def say(number: int) -> None:
        nonlocal posted
        try:
            await world.chat.messages.post(bob, channel, Draft(str(number)))
            posted += 1
        except NotFound:
            pass

    change = PrivacyChange(is_private=True, members=[])
    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(say, number)
            if number == 10:
                nursery.start_soon(world.chat.privacy.change, ada, channel, change)
    kinds = [kind for kind, _ in await told(world, after=end)]
    assert kinds.count("NEW_MESSAGE") == posted
    assert "NEW_MESSAGE" not in kinds[kinds.index("DELETE_CHANNEL") :]


async def test_b3_of_those_who_came_in_the_same_moment_the_first_to_come_is_next(
    world, ada, bob, eve, monkeypatch
):
    monkeypatch.setattr("teamchat.chat.membership.now_ms", lambda: 1)
    first, second = sorted((bob, eve), key=lambda one: one.user.id, reverse=True)
    secret = await private(world, ada)
    await world.chat.members.add(ada, secret, [first.user.id])
    await world.chat.members.add(ada, secret, [second.user.id])
    await world.chat.members.leave(ada, secret)
    assert await managers(world, bob, secret) == {first.user.id}


async def test_b3_in_a_default_channel_who_never_left_comes_before_who_is_back(world, ada, bob, eve):
    made = (await world.chat.channels.create(ada, "Everybody's")).id
    await world.chat.members.leave(bob, made)
    await world.chat.members.join(bob, made)
    [before] = [
        one
        for one in (await world.chat.members.page(eve, made, 200, None)).members
        if one.user_id == eve.user.id
    ]
    await world.chat.members.leave(ada, made)
    assert await managers(world, bob, made) == {eve.user.id}
    [now] = [
        one
        for one in (await world.chat.members.page(eve, made, 200, None)).members
        if one.user_id == eve.user.id
    ]
    assert now.joined_at == before.joined_at, "a manager is no newer member"


async def test_b8_who_inherits_a_default_channel_sees_nothing_of_what_is_hidden(world, ada, bob):
    secret = await private(world, ada)
    await world.chat.messages.post(ada, secret, Draft("hidden"))
    await world.chat.privacy.change(ada, secret, PrivacyChange(is_private=False, history="hide"))
    await world.chat.channels.change(ada, secret, ChannelChange(is_default=True))
    await world.chat.members.leave(ada, secret)
    assert await managers(world, bob, secret) == {bob.user.id}
    assert await texts(world, bob, secret) == []


async def test_b7_who_manages_a_channel_from_when_it_is_private_is_told_to_its_members(
    world, ada, bob, channel
):
    await world.chat.administration.enter(ada, channel, "a look")
    other = await world.user("Root", is_admin=True)
    end = await log_end(world)
    await world.chat.privacy.change(other, channel, PrivacyChange(is_private=True, members=[bob.user.id]))
    ranked = [audience for kind, audience in await told(world, after=end) if kind == "CHANNEL_MEMBER_UPDATED"]
    assert [(one.is_private, one.users) for one in ranked] == [(True, ())]
