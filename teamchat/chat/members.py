"""Members of channels: joining, leaving, adding, removing, and changing roles (B-1 to B-5, B-10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from teamchat.accounts.audit import note
from teamchat.capabilities import Capabilities
from teamchat.chat import channel_rows, permissions, sight
from teamchat.chat.channel_drafts import named
from teamchat.chat.joining import EVERYBODY, ROWS, check_known, check_size, let_in, member_of, members_among
from teamchat.chat.leaving import leave, set_role
from teamchat.chat.permissions import MANAGER
from teamchat.chat.sight import Room
from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Channel, Member
from teamchat.model.ids import could_be_id, is_conversation_id

ROLES = (MANAGER, "member")


class MemberPage(Struct, frozen=True, rename="camel"):
    """Some members, in the order of their ids, how many there are, and the cursor to those that follow."""

    members: Sequence[Member]
    next: str | None
    count: int


class AddedMembers(Struct, frozen=True, rename="camel"):
    """Who was added, and who was a member already."""

    added: Sequence[str]
    already_members: Sequence[str]


class Members:
    """The members of channels."""

    def __init__(self, storage: Storage, capabilities: Capabilities) -> None:
        self._storage = storage
        self._capabilities = capabilities

    async def page(self, caller: Caller, channel_id: str, limit: int, cursor: str | None) -> MemberPage:
        """Return up to `limit` members of a channel that the caller sees."""
        async with self._storage.read() as tx:
            room = await sight.channel(tx, caller, channel_id)
            after = _after(cursor)
            sql = (EVERYBODY if room.is_default else ROWS) + "u.id > $2 order by u.id limit $3"
            rows = await tx.fetch(sql, channel_id, after, limit + 1)
            count = (await channel_rows.channel(tx, channel_id)).member_count
        members = [member_of(row) for row in rows[:limit]]
        return MemberPage(members, members[-1].user_id if len(rows) > limit else None, int(count or 0))

    async def join(self, caller: Caller, channel_id: str) -> Channel:
        """Let the caller into a public channel; who is in it already stays as they are."""
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            if not (room.is_private or await channel_rows.is_member(tx, room.id, caller.user.id)):
                permissions.check_open(room)
                await let_in(tx, self._capabilities, room, [caller.user.id], by=caller.user.id)
                await _note(tx, caller, "member.add", room, userIds=[caller.user.id])
            return await channel_rows.channel(tx, channel_id, caller.user.id)

    async def leave(self, caller: Caller, channel_id: str) -> None:
        """Let the caller out of a channel. Of one they are not in they stay out."""
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            await _check_may_leave(tx, room)
            await self._let_out(tx, caller, room, caller.user.id)

    async def check_add(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` for no channel, `Forbidden` unless the caller may add members to it."""
        async with self._storage.read() as tx:
            await _may_add(tx, caller, channel_id)

    async def add(self, caller: Caller, channel_id: str, user_ids: Sequence[str]) -> AddedMembers:
        """Add users to a channel, all or, if one is unknown, none (`NotFound`)."""
        wanted = named("userIds", user_ids, least=1)
        async with self._storage.write() as tx:
            room = await _may_add(tx, caller, channel_id)
            await check_known(tx, wanted)
            present = await members_among(tx, room, wanted)
            added = [one for one in wanted if one not in present]
            await check_size(tx, room, len(added))
            await let_in(tx, self._capabilities, room, added, by=caller.user.id)
            if added:
                await _note(tx, caller, "member.add", room, userIds=added)
        return AddedMembers(added, [one for one in wanted if one in present])

    async def check_set_role(self, caller: Caller, channel_id: str, user_id: str) -> None:
        """Raise `NotFound` for no channel, `Forbidden` unless the caller manages it or is an admin.

        Raises `NotFound` to these for no member.
        """
        async with self._storage.read() as tx:
            await _managed(tx, caller, channel_id, user_id)

    async def set_role(self, caller: Caller, channel_id: str, user_id: str, role: str) -> Member:
        """Make a member a manager, or one no longer. Raises `NotFound` for no member."""
        async with self._storage.write() as tx:
            room, member = await _managed(tx, caller, channel_id, user_id)
            if role not in ROLES:
                raise BadRequest("role is neither manager nor member.")
            if member.role == role:
                return member
            if role != MANAGER:
                await _check_may_lower(tx, caller, room, user_id)
            await set_role(tx, room, user_id, role)
            await _note(tx, caller, "member.role", room, userId=user_id, role=role)
            return await _found(tx, room, user_id)

    async def remove(self, caller: Caller, channel_id: str, user_id: str) -> None:
        """Remove a member; to remove oneself is to leave. Who is not there is not missed."""
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            if user_id == caller.user.id:
                await _check_may_leave(tx, room)
            else:
                permissions.check_manages(caller, room)
                if not caller.user.is_admin and await _role(tx, room, user_id) == MANAGER:
                    raise Forbidden("Only an admin may remove another manager.")
            await self._let_out(tx, caller, room, user_id)

    async def _let_out(self, tx: Transaction, caller: Caller, room: Room, user_id: str) -> None:
        if await members_among(tx, room, [user_id]):
            await leave(tx, self._capabilities, room, user_id, by=caller.user.id)
            await _note(tx, caller, "member.remove", room, userId=user_id)


async def _note(tx: Transaction, caller: Caller, action: str, room: Room, **details: Any) -> None:
    """Write into the audit log what concerns a channel; groups are nobody's business but their members'."""
    if room.kind == "channel":
        await note(tx, action, "channel", room.id, by=caller.user.id, **details)


async def _check_may_leave(tx: Transaction, room: Room) -> None:
    """The last one of a group stays in it, and everybody in their notes (C-4)."""
    if room.kind == "channel":
        return
    [(count,)] = await tx.fetch("select count(*) from memberships where room_id = $1", room.id)
    if count == 1:
        raise BadRequest("The last one in it can't leave.")


async def _may_add(tx: Transaction, caller: Caller, channel_id: str) -> Room:
    room = await sight.channel(tx, caller, channel_id)
    is_member = bool(await members_among(tx, room, [caller.user.id]))
    permissions.check_may_add(caller, room, is_member=is_member)
    return room


async def _check_may_lower(tx: Transaction, caller: Caller, room: Room, user_id: str) -> None:
    """A manager lowers themself alone, an admin anybody; the last one stays (B-3)."""
    if user_id != caller.user.id and not caller.user.is_admin:
        raise Forbidden("Only an admin may take another manager's role.")
    if not await tx.fetch(
        """select 1 from memberships m join users u on u.id = m.user_id
           where m.room_id = $1 and m.role = $2 and m.user_id <> $3 and u.deactivated_at is null limit 1""",
        room.id,
        MANAGER,
        user_id,
    ):
        raise BadRequest("The last manager stays one; make another manager first.")


async def _managed(tx: Transaction, caller: Caller, channel_id: str, user_id: str) -> tuple[Room, Member]:
    """Return a channel that the caller manages, and a member of it."""
    room = await sight.channel(tx, caller, channel_id)
    permissions.check_manages(caller, room)
    return room, await _found(tx, room, user_id)


async def _found(tx: Transaction, room: Room, user_id: str) -> Member:
    """Return a member of a room. Raises `NotFound` for no member."""
    sql = (EVERYBODY if room.is_default else ROWS) + "u.id = $2"
    rows = await tx.fetch(sql, room.id, user_id)
    if not rows:
        raise NotFound("No such member.")
    return member_of(rows[0])


async def _role(tx: Transaction, room: Room, user_id: str) -> str | None:
    rows = await tx.fetch(
        "select role from memberships where room_id = $1 and user_id = $2", room.id, user_id
    )
    return rows[0][0] if rows else None


def _after(cursor: str | None) -> str:
    if cursor is not None and (not could_be_id(cursor) or is_conversation_id(cursor)):
        raise BadRequest("cursor is none that was given out.")
    return cursor or ""
