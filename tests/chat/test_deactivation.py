"""What a user's deactivation leaves of them in channels: all but what only they could do there (L-1, B-3)."""

from __future__ import annotations

from typing import Any

import pytest

from teamchat.accounts.records import account_by_id
from teamchat.chat import sight
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import BadRequest
from teamchat.model import now_ms

from .test_members import ids, log_end, managers, private, told


async def deactivate(world: Any, who: Any, *, is_deactivated: bool = True) -> None:
    """Do in a transaction what accounts do that concerns the chat."""
    async with world.storage.write() as tx:
        when = now_ms() if is_deactivated else None
        await tx.fetch("update users set deactivated_at = $2 where id = $1", who.user.id, when)
        parts = world.chat.members._capabilities.in_transaction
        await (parts.user_deactivated if is_deactivated else parts.user_activated)(tx, who.user.id)


async def test_b3_where_the_last_manager_is_deactivated_the_longest_member_follows(world, ada, bob, eve):
    secret = await private(world, bob, eve)
    await world.chat.members.add(bob, secret, [ada.user.id])
    end = await log_end(world)
    await deactivate(world, bob)
    assert await managers(world, ada, secret) == {bob.user.id, eve.user.id}
    assert await ids(world, ada, secret) == {ada.user.id, bob.user.id, eve.user.id}
    assert [kind for kind, _ in await told(world, after=end)] == ["CHANNEL_MEMBER_UPDATED"]
    with pytest.raises(BadRequest, match="last manager"):
        await world.chat.members.set_role(eve, secret, eve.user.id, "member")


async def test_b3_nobody_follows_where_another_manages(world, ada, bob, eve):
    secret = await private(world, bob, eve, ada)
    await world.chat.members.set_role(bob, secret, eve.user.id, "manager")
    await deactivate(world, bob)
    assert await managers(world, ada, secret) == {bob.user.id, eve.user.id}


async def test_b3_nobody_who_is_deactivated_follows(world, ada, bob, eve):
    secret = await private(world, ada, bob)
    await deactivate(world, bob)
    await world.chat.members.add(ada, secret, [eve.user.id])
    await world.chat.members.leave(ada, secret)
    assert await managers(world, eve, secret) == {eve.user.id}


async def test_b3_who_is_back_manages_what_nobody_else_is_in(world, bob, eve):
    secret = await private(world, bob, eve)
    await deactivate(world, eve)
    await world.chat.members.leave(bob, secret)
    await deactivate(world, eve, is_deactivated=False)
    assert await managers(world, eve, secret) == {eve.user.id}


async def test_b3_a_default_channel_is_managed_by_somebody_who_is_there(world, ada, bob, eve, channel):
    await deactivate(world, ada)
    [another] = await managers(world, eve, channel) - {ada.user.id}
    assert another in (bob.user.id, eve.user.id)


async def test_b7_who_is_deactivated_is_no_manager_of_a_channel_that_becomes_private(
    world, ada, bob, channel
):
    await deactivate(world, bob)
    await world.chat.privacy.change(ada, channel, PrivacyChange(is_private=True, members=[bob.user.id]))
    assert ada.user.id in await managers(world, ada, channel)


async def test_l1_who_is_deactivated_sees_nothing_that_anybody_could_be_told_of(world, ada, bob, channel):
    await deactivate(world, bob)
    async with world.storage.read() as tx:
        both = [ada.user.id, bob.user.id]
        assert await sight.who_sees(tx, channel, "f" * 32, both) == {ada.user.id}
        assert set(await sight.named(tx, channel, "f" * 32, ["ada", "bob"])) == {"ada"}
        account = await account_by_id(tx, bob.user.id)
    assert account is not None
    assert account.is_deactivated
