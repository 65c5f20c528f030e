"""What is done to channels stands in the audit log; admins who enter see what anybody sees who joins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from teamchat.accounts.audit import asked_by
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import ChannelChange, NewChannel, NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import Problem
from teamchat.events import InRoom
from teamchat.model.pages import Page
from tests.chat.test_members import log_end, told


async def entries(world: Any) -> list[tuple[Any, ...]]:
    """Return what stands in the audit log: who, what, about what, and the details."""
    async with world.storage.read() as tx:
        rows = await tx.fetch("select actor_id, action, target_id, details from audit_entries order by id")
    return [(*row[:3], json.loads(row[3])) for row in rows]


async def secret_of(world: Any, maker: Any, *members: Any, **fields: Any) -> str:
    draft = NewPrivateChannel("Top secret", members=[one.user.id for one in members], **fields)
    return str((await world.chat.channels.create(maker, draft)).id)


async def test_l4_whatever_is_done_to_a_channel_and_its_members_has_an_entry(world, ada, bob, eve):
    secret = await secret_of(world, bob)
    await world.chat.administration.enter(ada, secret, "a complaint")
    await world.chat.members.add(ada, secret, [eve.user.id])
    for _ in range(2):
        await world.chat.members.set_role(ada, secret, eve.user.id, "manager")
    await world.chat.members.remove(ada, secret, eve.user.id)
    await world.chat.channels.archive(ada, secret, is_archived=True)
    await world.chat.channels.archive(ada, secret, is_archived=False)
    await world.chat.channels.change(bob, secret, ChannelChange(topic="hidden topic"))
    await world.chat.privacy.change(ada, secret, PrivacyChange(is_private=False, history="hide"))
    await world.chat.privacy.change(ada, secret, PrivacyChange(is_private=True, members=[]))
    await world.chat.channels.delete(ada, secret)
    one, eves = ada.user.id, eve.user.id
    assert await entries(world) == [
        (bob.user.id, "channel.create", secret, {"name": "Top secret", "isPrivate": True}),
        (one, "channel.enter", secret, {"reason": "a complaint"}),
        (one, "member.add", secret, {"userIds": [eves]}),
        (one, "member.role", secret, {"userId": eves, "role": "manager"}),
        (one, "member.remove", secret, {"userId": eves}),
        (one, "channel.archive", secret, {}),
        (one, "channel.unarchive", secret, {}),
        (bob.user.id, "channel.update", secret, {"fields": ["topic"]}),
        (one, "channel.privacy", secret, {"isPrivate": False, "history": "hide"}),
        (one, "member.remove", secret, {"userIds": [bob.user.id]}),
        (one, "channel.privacy", secret, {"isPrivate": True}),
        (one, "channel.delete", secret, {"name": "Top secret"}),
    ]


async def test_deleting_one_that_an_admin_is_not_in_has_an_entry_and_is_told_to_its_members(world, ada, bob):
    secret = await secret_of(world, bob)
    await world.chat.administration.delete(ada, secret)
    assert (await entries(world))[-1][:3] == (ada.user.id, "channel.delete", secret)
    assert (await told(world))[-1] == ("DELETE_CHANNEL", (bob.user.id,))


async def test_l4_groups_notes_and_what_is_said_have_none(world, ada, bob, eve, channel):
    before = await entries(world)
    group, _ = await world.chat.groups.open(bob, GroupOf([ada.user.id, eve.user.id]))
    await world.chat.messages.post(bob, group.id, Draft("hidden text"))
    await world.chat.messages.post(bob, channel, Draft("hidden text"))
    await world.chat.members.leave(eve, group.id)
    assert await entries(world) == before
    await world.chat.groups.convert(bob, group.id, "Now a channel")
    made = {"name": "Now a channel", "isPrivate": True}
    assert (await entries(world))[len(before) :] == [
        (bob.user.id, "channel.create", group.id, made),
        (bob.user.id, "member.add", group.id, {"userIds": [ada.user.id]}),
    ]


async def test_l4_who_is_in_it_from_the_first_has_an_entry(world, ada, bob, eve):
    secret = await secret_of(world, bob, ada, eve)
    assert await entries(world) == [
        (bob.user.id, "channel.create", secret, {"name": "Top secret", "isPrivate": True}),
        (bob.user.id, "member.add", secret, {"userIds": [ada.user.id, eve.user.id]}),
    ]


async def test_l4_who_is_left_in_a_channel_that_becomes_private_has_an_entry(world, ada, bob, eve):
    channel = (await world.chat.channels.create(ada, "Plans")).id
    before = await entries(world)
    await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=True, members=[bob.user.id]))
    assert (await entries(world))[len(before) :] == [
        (ada.user.id, "member.add", channel, {"userIds": [bob.user.id]}),
        (ada.user.id, "channel.privacy", channel, {"isPrivate": True}),
    ]


async def test_l4_very_many_who_lose_a_channel_are_named_in_several_entries(world, ada, monkeypatch):
    monkeypatch.setattr("teamchat.chat.joining._NAMED_IN_ENTRY", 2)
    channel = (await world.chat.channels.create(ada, NewChannel("Plans", is_default=False))).id
    others = [await world.user(f"user{number}") for number in range(5)]
    await world.chat.members.add(ada, channel, [one.user.id for one in others])
    await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=True, members=[]))
    gone = [one[3]["userIds"] for one in await entries(world) if one[1] == "member.remove"]
    assert [len(one) for one in gone] == [2, 2, 1]
    assert {user_id for one in gone for user_id in one} == {one.user.id for one in others}


async def test_l4_b3_who_manages_after_the_last_manager_has_an_entry(world, ada, bob, eve):
    secret = await secret_of(world, bob, eve, ada)
    with asked_by(bob.user.id):
        await world.chat.members.leave(bob, secret)
    successor = min(eve.user.id, ada.user.id)
    assert (await entries(world))[-2:] == [
        (bob.user.id, "member.role", secret, {"userId": successor, "role": "manager"}),
        (bob.user.id, "member.remove", secret, {"userId": bob.user.id}),
    ]


async def test_l4_what_is_refused_or_changes_nothing_has_no_entry(world, ada, bob, channel):
    before = await entries(world)
    for refused in (
        world.chat.channels.delete(bob, channel),
        world.chat.members.set_role(bob, channel, ada.user.id, "manager"),
        world.chat.administration.enter(ada, channel, " "),
    ):
        with pytest.raises(Problem):
            await refused
    await world.chat.members.join(bob, channel)
    await world.chat.members.add(bob, channel, [ada.user.id])
    await world.chat.channels.archive(ada, channel, is_archived=False)
    assert await entries(world) == before


async def test_l4_webhooks_and_the_name_of_the_server_have_entries_without_tokens(world, ada, channel):
    before = len(await entries(world))
    webhook = await world.chat.webhooks.create(ada, "Build bot", channel)
    await world.chat.webhooks.delete(ada, webhook.id)
    for _ in range(2):
        await world.chat.server_settings.rename(ada, "Our chat")
    one = ada.user.id
    assert (await entries(world))[before:] == [
        (one, "webhook.create", webhook.id, {"name": "Build bot", "channelId": channel}),
        (one, "webhook.delete", webhook.id, {"channelId": channel}),
        (one, "settings.update", None, {"name": "Our chat"}),
    ]


async def test_b9_an_admin_who_enters_sees_what_anybody_sees_who_joins(world, ada, bob):
    for history, seen in (("joiners", ["after"]), ("all", ["before", "after"])):
        secret = await secret_of(world, bob, history_for=history)
        await world.chat.messages.post(bob, secret, Draft("before"))
        await world.chat.administration.enter(ada, secret, "a complaint")
        await world.chat.messages.post(bob, secret, Draft("after"))
        page = (await world.chat.messages.page(ada, secret, Page(50))).messages
        assert [one.content for one in page] == seen


async def test_b9_to_see_what_was_before_an_admin_has_to_do_three_things_that_all_members_are_told(
    world, ada, bob
):
    secret = await secret_of(world, bob, history_for="joiners")
    await world.chat.messages.post(bob, secret, Draft("before"))
    await world.chat.administration.enter(ada, secret, "a complaint")
    end = await log_end(world)
    await world.chat.channels.change(ada, secret, ChannelChange(history_for="all"))
    assert (await world.chat.messages.page(ada, secret, Page(50))).messages == []
    await world.chat.members.leave(ada, secret)
    await world.chat.administration.enter(ada, secret, "a complaint")
    page = (await world.chat.messages.page(ada, secret, Page(50))).messages
    assert [one.content for one in page] == ["before"]
    events = await told(world, after=end)
    shown = [kind for kind, to in events if isinstance(to, InRoom) and not to.users]
    assert shown == ["UPDATE_CHANNEL", "CHANNEL_MEMBER_REMOVED", "CHANNEL_MEMBERS_ADDED"]
