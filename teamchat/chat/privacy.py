"""Making a channel private or public, in one transaction with everything that depends on it (B-7, B-8)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from teamchat.accounts.audit import note
from teamchat.capabilities import Capabilities
from teamchat.chat import channel_rows, membership, permissions, sight
from teamchat.chat.channel_drafts import named
from teamchat.chat.channels import read_again
from teamchat.chat.joining import check_known, members_among, note_members
from teamchat.chat.leaving import note_role, set_role
from teamchat.chat.permissions import MANAGER
from teamchat.chat.sight import Room
from teamchat.errors import BadRequest, Forbidden
from teamchat.events import DeleteChannel, InRoom, NewChannel
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Channel


class PrivacyChange(Struct, frozen=True, rename="camel"):
    """What a channel becomes. To private: its `members` besides the caller, or without it those who joined.

    To public: `history` is ``show`` or ``hide``, whether everybody sees what was said before.
    """

    is_private: bool
    members: Sequence[str] | UnsetType = UNSET
    history: str | UnsetType = UNSET


class Privacy:
    """Who sees a channel: its members, or everybody."""

    def __init__(self, storage: Storage, capabilities: Capabilities) -> None:
        self._storage = storage
        self._capabilities = capabilities

    async def check(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` for no channel, `Forbidden` unless the caller may change whether it is private."""
        async with self._storage.read() as tx:
            _check(caller, await sight.channel(tx, caller, channel_id))

    async def change(self, caller: Caller, channel_id: str, change: PrivacyChange) -> Channel:
        """Make a channel private or public; one that is so already stays as it is."""
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            _check(caller, room)
            if change.is_private == room.is_private:
                return await channel_rows.channel(tx, room.id, caller.user.id)
            if change.is_private:
                channel = await self._make_private(tx, caller, room, change.members)
            else:
                channel = await self._make_public(tx, caller, room, change.history)
            await self._capabilities.in_transaction.privacy_changed(tx, room)
            history = None if change.is_private else change.history
            await note(
                *(tx, "channel.privacy", "channel", room.id),
                by=caller.user.id,
                isPrivate=change.is_private,
                history=history,
            )
        return channel

    async def _make_private(
        self, tx: Transaction, caller: Caller, room: Room, members: Sequence[str] | UnsetType
    ) -> Channel:
        rows = await tx.fetch(
            """select m.user_id, case when u.deactivated_at is null then m.role else 'member' end
               from memberships m join users u on u.id = m.user_id where m.room_id = $1""",
            room.id,
        )
        roles: dict[str, str] = {row[0]: row[1] for row in rows}  # Who is deactivated manages nothing.
        if members is UNSET:
            if room.is_default:
                raise BadRequest("members is missing: everybody is a member of a default channel.")
            wanted = set(roles)
        else:
            wanted = {*named("members", members), caller.user.id}
            await check_known(tx, sorted(wanted))
        if not any(roles.get(user_id) == MANAGER for user_id in wanted):
            wanted.add(caller.user.id)
        joining = sorted(wanted - await members_among(tx, room, sorted(wanted)))
        leaving = sorted(roles.keys() - wanted)
        joined = sorted(wanted - roles.keys())
        # They see what they saw while it was public; who was a member by default is not added by anybody.
        # One change: between two, streams of those who are named would miss what was said before.
        audience = await membership.change(
            *(tx, room.id),
            joined=joined,
            left=leaving,
            is_private=True,
            by_default=set(joined) - set(joining),
            visible_from=room.public_from,
            added_by=caller.user.id,
        )
        await note_members(tx, "member.add", room.id, joined, by=caller.user.id)
        await note_members(tx, "member.remove", room.id, leaving, by=caller.user.id)
        if joining or leaving:
            await self._capabilities.in_transaction.members_changed(tx, room, joining, leaving)
        [(name,)] = await tx.fetch("select name from rooms where id = $1", room.id)
        lost = DeleteChannel(room.id, name, reason="private")
        await tx.append(lost.to(audience.of_outsiders))
        channel = await read_again(tx, caller, room.id)
        if not any(roles.get(user_id) == MANAGER for user_id in wanted):
            await set_role(tx, room, caller.user.id, MANAGER)
            await note_role(tx, room, caller.user.id, MANAGER, by=caller.user.id)
            return await channel_rows.channel(tx, room.id, caller.user.id)
        return channel

    async def _make_public(
        self, tx: Transaction, caller: Caller, room: Room, history: str | UnsetType
    ) -> Channel:
        if history not in ("show", "hide"):
            raise BadRequest("history is neither show nor hide.")
        if history == "show" and await _was_group(tx, room):
            raise BadRequest("What was said in a group stays there: history must be hide.")
        public_from = "" if history == "show" else await membership.next_message(tx, room.id)
        audience: InRoom = await membership.change(tx, room.id, is_private=False, public_from=public_from)
        seen = NewChannel.about(await channel_rows.channel(tx, room.id))
        await tx.append(seen.to(audience.of_outsiders))
        return await read_again(tx, caller, room.id)


async def _was_group(tx: Transaction, room: Room) -> bool:
    """Return whether a channel was a group once (C-5)."""
    return bool(await tx.fetch("select 1 from rooms where id = $1 and was_group = 1", room.id))


def _check(caller: Caller, room: Room) -> None:
    """Managers and admins make a channel private; an admin who is in it makes it public."""
    permissions.check_is_channel(room)
    if not room.is_private:
        permissions.check_manages(caller, room)
    elif not caller.user.is_admin:
        raise Forbidden("Only an admin may make a channel public.")
