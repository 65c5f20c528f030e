"""What happens when users become members of a channel: what they see of it, and who is told (B-9, B-10)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from teamchat.accounts.audit import note
from teamchat.capabilities import Capabilities
from teamchat.chat import channel_rows, membership
from teamchat.chat.sight import Room
from teamchat.errors import BadRequest, NotFound
from teamchat.events import ChannelMembersAdded, NewChannel
from teamchat.interfaces import Row, Transaction
from teamchat.model import Member
from teamchat.model.ids import could_be_id
from teamchat.storage.statements import chunks

MOST_IN_GROUP = 9
_NAMED_IN_ENTRY = 200

JOINED_AT = f"coalesce(m.joined_at, {membership.SINCE_BOTH})"
"""When the user `u` joined the room `r`; who has no row `m` is in it by default."""
_MEMBER = f"u.id, m.role, {JOINED_AT}, m.added_by"
EVERYBODY = f"""select {_MEMBER} from users u join rooms r on r.id = $1
left join memberships m on m.room_id = r.id and m.user_id = u.id
where u.removed_at is null
and not exists (select 1 from departures d where d.room_id = r.id and d.user_id = u.id) and """  # noqa: S608
"""Reads the members of a default channel: everybody, with a row or without."""
ROWS = f"""select {_MEMBER} from memberships m join users u on u.id = m.user_id
join rooms r on r.id = m.room_id where m.room_id = $1 and """  # noqa: S608
"""Reads the members of any other channel. Both are followed by a condition."""


async def let_in(
    tx: Transaction,
    capabilities: Capabilities,
    room: Room,
    user_ids: Sequence[str],
    *,
    by: str,
    role: str = "member",
    reason: str | UnsetType = UNSET,
) -> None:
    """Make users members of a room that they are not in, and tell them and the others."""
    if not user_ids:
        return
    visible_from = await first_seen_by_joiners(tx, room)
    audience = await membership.change(
        tx, room.id, joined=user_ids, visible_from=visible_from, added_by=by, role=role
    )
    if room.is_private:
        event = NewChannel.about(await channel_rows.channel(tx, room.id))
        await tx.append(event.to(audience.only(user_ids)))
    rows = await tx.fetch(ROWS + "m.since_epoch = $2 order by u.id", room.id, audience.epoch)
    members = [member_of(row) for row in rows]
    if room.is_default:
        for one in members:
            added = ChannelMembersAdded(room.id, [one], by, reason)
            await tx.append(added.to(audience.only([one.user_id])))
    else:
        await tx.append(ChannelMembersAdded(room.id, members, by, reason).to(audience.of_members))
    await capabilities.in_transaction.members_changed(tx, room, user_ids, [])


async def note_members(
    tx: Transaction, action: str, room_id: str, user_ids: Sequence[str], *, by: str
) -> None:
    """Write ``member.add`` or ``member.remove`` of many into the audit log, 200 in an entry."""
    for start in range(0, len(user_ids), _NAMED_IN_ENTRY):
        named = list(user_ids[start : start + _NAMED_IN_ENTRY])
        await note(tx, action, "channel", room_id, by=by, userIds=named)


async def first_seen_by_joiners(tx: Transaction, room: Room) -> str:
    """Return from which message on those see a room who join it now (B-9).

    In a public one it is what everybody sees: nobody sees more of a hidden past by joining.
    """
    if not room.is_private:
        return room.public_from
    return await membership.next_message(tx, room.id) if room.history_for == "joiners" else ""


async def check_known(tx: Transaction, user_ids: Sequence[str]) -> None:
    """Raise `NotFound` if one of these is no user."""
    found = 0
    for marks, piece in chunks([one for one in user_ids if could_be_id(one)]):
        found += len(
            await tx.fetch(f"select id from users where removed_at is null and id in ({marks})", *piece)  # noqa: S608
        )
    if found != len(user_ids):
        raise NotFound("No such user.")


async def check_size(tx: Transaction, room: Room, more: int) -> None:
    """Raise `BadRequest` if so many more are too many for a group (C-3)."""
    if room.kind != "group":
        return
    [(count,)] = await tx.fetch("select count(*) from memberships where room_id = $1", room.id)
    if count + more > MOST_IN_GROUP:
        raise BadRequest(f"A group is of {MOST_IN_GROUP} people at most; a channel may have more.")


async def members_among(tx: Transaction, room: Room, user_ids: Sequence[str]) -> set[str]:
    """Return which of these users are members of a room."""
    table = "departures" if room.is_default else "memberships"
    found: set[str] = set()
    for marks, piece in chunks(user_ids, after=1):
        rows = await tx.fetch(
            f"select user_id from {table} where room_id = $1 and user_id in ({marks})",  # noqa: S608
            room.id,
            *piece,
        )
        found |= {user_id for (user_id,) in rows}
    if not room.is_default:
        return found
    known = set()
    for marks, piece in chunks(user_ids):
        rows = await tx.fetch(f"select id from users where removed_at is null and id in ({marks})", *piece)  # noqa: S608
        known |= {user_id for (user_id,) in rows}
    return known - found


def member_of(row: Row) -> Member:
    """Return the member of a row of `EVERYBODY` or `ROWS`."""
    user_id, role, joined_at, added_by = row
    return Member(user_id, role or "member", joined_at, added_by)
