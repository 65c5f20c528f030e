"""What admins do in private channels stands in the log by ids, and shows them what anybody sees who joins."""

from __future__ import annotations

from typing import Any

import pytest

from teamchat.chat import Draft
from teamchat.chat.channel_drafts import ChannelChange, NewChannel, NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.chat.privacy import PrivacyChange
from teamchat.events import InRoom
from teamchat.model.pages import Page
from tests.chat.test_members import log_end, told


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    """Return what admins did, as the log has it."""
    found = [(one.getMessage(), one.__dict__["teamchat_fields"]) for one in caplog.records]
    return [(event, fields) for event, fields in found if event.startswith("admin ")]


async def secret_of(world: Any, maker: Any, *members: Any, **fields: Any) -> str:
    draft = NewPrivateChannel("Top secret", members=[one.user.id for one in members], **fields)
    return str((await world.chat.channels.create(maker, draft)).id)


async def test_whatever_an_admin_does_in_a_private_channel_has_a_line_with_ids_alone(
    world, ada, bob, eve, caplog
):
    caplog.set_level("INFO")
    secret = await secret_of(world, bob)
    await world.chat.administration.enter(ada, secret, "a complaint about Top secret")
    await world.chat.members.add(ada, secret, [eve.user.id])
    await world.chat.members.set_role(ada, secret, eve.user.id, "manager")
    await world.chat.members.remove(ada, secret, eve.user.id)
    await world.chat.channels.archive(ada, secret, is_archived=True)
    await world.chat.channels.archive(ada, secret, is_archived=False)
    await world.chat.privacy.change(ada, secret, PrivacyChange(is_private=False, history="hide"))
    await world.chat.privacy.change(ada, secret, PrivacyChange(is_private=True, members=[]))
    await world.chat.channels.delete(ada, secret)
    common = {"channel": secret, "by": ada.user.id}
    assert lines(caplog) == [
        ("admin entered a channel", common),
        ("admin added members", common | {"users": [eve.user.id]}),
        ("admin changed a role", common | {"user": eve.user.id, "role": "manager"}),
        ("admin removed a member", common | {"user": eve.user.id}),
        ("admin archived a channel", common),
        ("admin unarchived a channel", common),
        ("admin made a channel public", common),
        ("admin made a channel private", common),
        ("admin deleted a channel", common),
    ]


async def test_deleting_one_that_an_admin_is_not_in_has_a_line_and_is_told_to_its_members(
    world, ada, bob, caplog
):
    caplog.set_level("INFO")
    secret = await secret_of(world, bob)
    await world.chat.administration.delete(ada, secret)
    assert lines(caplog) == [("admin deleted a channel", {"channel": secret, "by": ada.user.id})]
    assert (await told(world))[-1] == ("DELETE_CHANNEL", (bob.user.id,))


async def test_what_others_do_and_what_happens_in_public_has_no_line(world, ada, bob, eve, caplog):
    caplog.set_level("INFO")
    secret = await secret_of(world, bob, eve)
    await world.chat.members.set_role(bob, secret, eve.user.id, "manager")
    await world.chat.channels.archive(bob, secret, is_archived=True)
    await world.chat.members.leave(eve, secret)
    group, _ = await world.chat.groups.open(bob, GroupOf([ada.user.id, eve.user.id]))
    await world.chat.groups.convert(bob, group.id, "Now a channel")
    public = (await world.chat.channels.create(ada, NewChannel("Public", is_default=False))).id
    await world.chat.members.add(ada, public, [bob.user.id])
    await world.chat.channels.delete(ada, public)
    assert lines(caplog) == []


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
