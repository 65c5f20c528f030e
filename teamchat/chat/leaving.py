"""What happens when somebody leaves a channel: who manages it then, and is anybody left (B-3, B-5)."""

from __future__ import annotations

import trio

from teamchat.accounts.acting import acting_user
from teamchat.accounts.audit import note
from teamchat.capabilities import Capabilities, Changes, TooMuch
from teamchat.chat import channel_rows, membership, sight
from teamchat.chat.joining import JOINED_AT
from teamchat.chat.permissions import MANAGER
from teamchat.chat.sight import ROOM, Room
from teamchat.events import ChannelMemberRemoved, ChannelMemberUpdated, DeleteChannel
from teamchat.interfaces import Transaction
from teamchat.model import now_ms

MEMBER = "member"
AT_ONCE = 10
"""How many rooms are left with an account in one transaction; all other writers wait meanwhile."""
PART = 20
"""How many are seen to in each where there are more, and before somebody is shut out: that may not fail."""
PART_SECONDS = 0.005
"""Nor may it take long: a part ends after so long, and the next goes on, for a busy database is slow."""

_ROOMS_OF = f"""select {ROOM}, m.role, m.visible_from from memberships m join rooms r on r.id = m.room_id
where m.user_id = $1 and r.kind <> 'direct' order by r.id limit $2"""  # noqa: S608
_MANAGED = """select 1 from memberships x join users y on y.id = x.user_id
where x.room_id = $1 and x.role = $2 and y.deactivated_at is null"""
# A manager who is deactivated stays one, beside who manages meanwhile. No bot becomes one by itself.
_SUCCESSOR = f"""select o.user_id from memberships o join users s on s.id = o.user_id
where o.room_id = $1 and s.deactivated_at is null and s.is_bot = 0 and not exists ({_MANAGED})
order by o.joined_at, o.since_epoch, o.user_id limit 1"""  # noqa: S608
# Of a default channel, which everybody is in, with a row or without.
_NEXT_OF_ALL = f"""select u.id from users u join rooms r on r.id = $1
left join memberships m on m.room_id = r.id and m.user_id = u.id
where u.removed_at is null and u.deactivated_at is null and u.is_bot = 0 and not exists ({_MANAGED})
and not exists (select 1 from departures d where d.room_id = r.id and d.user_id = u.id)
order by {JOINED_AT}, coalesce(m.since_epoch, 0), u.id limit 1"""  # noqa: S608
# Of a channel `r`, with the role of managers as $1: nobody who is there manages it, and whether one could.
# A single value is looked up for each channel; `exists` would have PostgreSQL join the members of all first.
_IS_UNMANAGED = """r.kind = 'channel' and (select 1
from memberships o join users u on u.id = o.user_id
where o.room_id = r.id and o.role = $1 and u.deactivated_at is null limit 1) is null"""
_HAS_SOMEBODY = """(select 1 from memberships o join users s on s.id = o.user_id
where o.room_id = r.id and s.deactivated_at is null and s.is_bot = 0 limit 1) = 1"""
_UNMANAGED = f"""select {ROOM}, m.role, m.visible_from from memberships m join rooms r on r.id = m.room_id
where m.user_id = $2 and m.role in ($1, $3) and {_IS_UNMANAGED} and (r.is_default = 1 or {_HAS_SOMEBODY})
order by r.id limit $4"""  # noqa: S608
_FORSAKEN = f"""select distinct m.user_id from memberships m join users d on d.id = m.user_id
join rooms r on r.id = m.room_id where d.deactivated_at is not null and m.role = $1 and r.is_default = 0
and {_IS_UNMANAGED} and {_HAS_SOMEBODY}"""  # noqa: S608


class Departures(Changes):
    """Ends what a user is in when their account ends (decision D-22).

    The members are told who has done it: who asks, or the user themself where nobody does, as on the command
    line.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Take the user out of every channel, in the transaction that removes them.

        Raises `TooMuch` if they are in more than `AT_ONCE`.
        """
        rows = await tx.fetch(_ROOMS_OF, user_id, AT_ONCE + 1)
        if len(rows) > AT_ONCE:
            raise TooMuch(f"the user is in more than {AT_ONCE} rooms")
        for row in rows:
            await leave(tx, self._capabilities, Room.of(row), user_id, by=acting_user() or user_id)
        await tx.fetch("delete from departures where user_id = $1", user_id)

    async def user_deactivated(self, tx: Transaction, user_id: str) -> None:
        """Where nobody else manages a channel, the next one does; the user stays in it, and a manager."""
        await self._hand_over(tx, user_id, MANAGER)

    async def user_settling(self, tx: Transaction, user_id: str, *, is_going: bool) -> bool:
        """Leave, or hand over, as many channels as one transaction can; return whether there are more."""
        if not is_going:
            return await self._hand_over(tx, user_id, MANAGER)
        rows = await tx.fetch(_ROOMS_OF, user_id, PART)
        end = trio.current_time() + PART_SECONDS
        for row in rows:
            await leave(tx, self._capabilities, Room.of(row), user_id, by=acting_user() or user_id)
            if trio.current_time() >= end:
                return True
        return len(rows) == PART

    async def user_activated(self, tx: Transaction, user_id: str) -> None:
        """Who is back manages what nobody else could meanwhile."""
        while await self._hand_over(tx, user_id, MEMBER):
            pass

    async def _hand_over(self, tx: Transaction, user_id: str, role: str) -> bool:
        """Give channels of a user's a manager in which they have at least this role."""
        rows = await tx.fetch(_UNMANAGED, MANAGER, user_id, role, PART)
        end, has_found = trio.current_time() + PART_SECONDS, False
        for row in rows:
            room = Room.of(row)
            has_found |= await keep_a_manager(tx, room)
            if has_found and trio.current_time() >= end:
                return True
        return len(rows) == PART and has_found


async def forsaken(tx: Transaction) -> list[str]:
    """Return who is deactivated and was the manager of channels that have none yet, and could have."""
    return [user_id for (user_id,) in await tx.fetch(_FORSAKEN, MANAGER)]


async def leave(tx: Transaction, capabilities: Capabilities, room: Room, user_id: str, *, by: str) -> None:
    """Take a member out of a channel. `by` is who does it, themself if they leave."""
    name = (await channel_rows.channel(tx, room.id)).name
    audience = await membership.change(tx, room.id, left=[user_id])
    removed = ChannelMemberRemoved(room.id, user_id, by)
    if room.is_default:
        await tx.append(removed.to(audience.only([user_id])))
    else:
        if room.is_private:
            await tx.append(DeleteChannel(room.id, name, reason="removed").to([user_id]))
        else:  # Who sees it still is told of their own removal too, for their other devices.
            await tx.append(removed.to(audience.only([user_id])))
        await tx.append(removed.to(audience.of_members))
    await keep_a_manager(tx, room)
    if room.is_private:
        await tx.fetch(
            """update rooms set archived_at = coalesce(archived_at, $2) where id = $1
            and not exists (select 1 from memberships m where m.room_id = $1)""",
            room.id,
            now_ms(),
        )
    await capabilities.in_transaction.members_changed(tx, room, [], [user_id])


async def keep_a_manager(tx: Transaction, room: Room) -> bool:
    """Where a channel has no manager any more, the member of longest standing becomes one.

    Returns whether somebody did.
    """
    if room.kind != "channel":
        return False
    next_one = await successor(tx, room.id, is_default=room.is_default)
    if next_one is None:
        return False
    await set_role(tx, room, next_one, MANAGER)
    await note_role(tx, room, next_one, MANAGER)
    return True


async def successor(tx: Transaction, room_id: str, *, is_default: bool) -> str | None:
    """Return the member of longest standing of a channel that has no manager; None if it has one (B-3)."""
    rows = await tx.fetch(_NEXT_OF_ALL if is_default else _SUCCESSOR, room_id, MANAGER)
    return rows[0][0] if rows else None


async def set_role(tx: Transaction, room: Room, user_id: str, role: str) -> None:
    """Give a member another role, with its event. Who is in a default channel without a row gets one."""
    now = await sight.made(tx, room.id)
    changed = await tx.fetch(
        "update memberships set role = $3 where room_id = $1 and user_id = $2 returning role",
        *(room.id, user_id, role),
    )
    audience = now.in_room
    if not changed:
        them = [user_id]
        audience = await membership.change(
            tx, room.id, joined=them, by_default=them, role=role, visible_from=now.public_from
        )
    event = ChannelMemberUpdated(room.id, user_id, role)
    await tx.append(event.to(audience.only([user_id]) if now.is_default else audience.of_members))


async def note_role(tx: Transaction, room: Room, user_id: str, role: str, *, by: str | None = None) -> None:
    """Write into the audit log that a member has another role in a channel; by default who asks did it."""
    await note(tx, "member.role", "channel", room.id, by=by, userId=user_id, role=role)
