"""Groups of two to nine people, and users' own notes: private rooms without a name (extension C)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from teamchat import events
from teamchat.accounts import audit
from teamchat.accounts.idempotency import CHAT, KeyedRequest, asking, made_before, note
from teamchat.capabilities import Capabilities
from teamchat.chat import channel_rows, membership, sight
from teamchat.chat.channel_drafts import named
from teamchat.chat.channels import insert, read_again
from teamchat.chat.deletion import delete
from teamchat.chat.joining import (
    MOST_IN_GROUP,
    check_known,
    check_size,
    let_in,
    members_among,
    note_members,
)
from teamchat.chat.permissions import MANAGER
from teamchat.chat.sight import ROOM, Room
from teamchat.errors import BadRequest, NotFound
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Channel, now_ms, text

LEAST_OTHERS = 2
EMPTY_FOR_MS = 30 * 24 * 3600 * 1000
"""After so long a group goes whose people were all removed from the server (C-4)."""

# Of several groups of the same people, the one that was active last.
_SAME = """select r.id from rooms r join memberships mine on mine.room_id = r.id and mine.user_id = $1
where r.kind = 'group' and (select count(*) from memberships m where m.room_id = r.id) = $2
and (select count(*) from memberships m where m.room_id = r.id and m.user_id in ({})) = $2
order by coalesce((select max(m.id) from messages m where m.room_id = r.id), r.id) desc limit 1"""
_NOTES = """select r.id from rooms r join memberships m on m.room_id = r.id
where r.kind = 'notes' and m.user_id = $1"""
_EMPTY = f"""select {ROOM} from rooms r where r.kind in ('group', 'notes')
and r.archived_at < $1 and not exists (select 1 from memberships m where m.room_id = r.id)
order by r.id limit 1"""  # noqa: S608


class GroupOf(Struct, frozen=True, rename="camel"):
    """The other people of a group: 2 to 8 users."""

    user_ids: Sequence[str]


class Groups:
    """Groups, and everybody's notes."""

    def __init__(self, storage: Storage, capabilities: Capabilities) -> None:
        self._storage = storage
        self._capabilities = capabilities

    async def open(self, caller: Caller, asked: GroupOf, key: str | None = None) -> tuple[Channel, bool]:
        """Return the group of the caller and these users, and whether it is new (C-1).

        Raises `BadRequest` for too few or too many, `NotFound` if one of them is no user.
        """
        others = sorted(set(named("userIds", asked.user_ids)) - {caller.user.id})
        if not LEAST_OTHERS <= len(others) < MOST_IN_GROUP:
            raise BadRequest(f"A group is of {LEAST_OTHERS} to {MOST_IN_GROUP - 1} other users.")
        people = [caller.user.id, *others]
        request = asking(KeyedRequest(caller.user.id, CHAT, key), ["group", asked])
        async with self._storage.write() as tx:
            if (made := await made_before(tx, request)) is not None:
                room_id = (await sight.channel(tx, caller, made.id)).id
                is_new = made.beside.get("isNew", True)
            else:
                await check_known(tx, others)
                found = await group_of(tx, people)
                is_new = found is None
                room_id = found or await self._make(tx, caller, "group", people)
                await note(tx, request, room_id, {} if is_new else {"isNew": False})
            return await channel_rows.channel(tx, room_id, caller.user.id), is_new

    async def notes(self, caller: Caller) -> tuple[Channel, bool]:
        """Return the caller's notes, and whether they were made now."""
        async with self._storage.write() as tx:
            found = await notes_of(tx, caller.user.id)
            room_id = found or await self._make(tx, caller, "notes", [caller.user.id])
            return await channel_rows.channel(tx, room_id, caller.user.id), found is None

    async def check_sees(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` for no group that the caller is in."""
        async with self._storage.read() as tx:
            await _group(tx, caller, channel_id)

    async def add(self, caller: Caller, channel_id: str, user_ids: Sequence[str]) -> Channel:
        """Add users to a group; they see what is said from then on (C-3)."""
        wanted = named("userIds", user_ids, least=1)
        async with self._storage.write() as tx:
            room = await _group(tx, caller, channel_id)
            await check_known(tx, wanted)
            present = await members_among(tx, room, wanted)
            added = [one for one in wanted if one not in present]
            await check_size(tx, room, len(added))
            await let_in(tx, self._capabilities, room, added, by=caller.user.id)
            return await channel_rows.channel(tx, room.id, caller.user.id)

    async def convert(self, caller: Caller, channel_id: str, name: str) -> Channel:
        """Make a group a private channel that all in it manage; it never goes back (C-5)."""
        accepted = text.name("name", name)
        async with self._storage.write() as tx:
            room = await _group(tx, caller, channel_id)
            await tx.fetch(
                """update rooms set kind = 'channel', was_group = 1, name = $2, history_for = 'all',
                updated_at = $3 where id = $1""",
                room.id,
                accepted,
                now_ms(),
            )
            await tx.fetch("update memberships set role = $2 where room_id = $1", room.id, MANAGER)
            await self._capabilities.in_transaction.room_changed(tx, room)
            await audit.note(
                *(tx, "channel.create", "channel", room.id), by=caller.user.id, name=accepted, isPrivate=True
            )
            rows = await tx.fetch(
                "select user_id from memberships where room_id = $1 order by user_id", room.id
            )
            others = [user_id for (user_id,) in rows if user_id != caller.user.id]
            await note_members(tx, "member.add", room.id, others, by=caller.user.id)
            return await read_again(tx, caller, room.id)

    async def _make(self, tx: Transaction, caller: Caller, kind: str, people: Sequence[str]) -> str:
        columns = {"history_for": "joiners"}
        room_id = await insert(tx, columns, caller.user.id, is_private=True, kind=kind)
        audience = await membership.change(tx, room_id, joined=people, added_by=caller.user.id)
        event = events.NewChannel.about(await channel_rows.channel(tx, room_id))
        await tx.append(event.to(audience))
        await self._capabilities.in_transaction.room_made(tx, await sight.made(tx, room_id))
        return room_id

    async def remove_empty(self) -> None:
        """Remove groups and notes whose people were all removed from the server 30 days ago."""
        while await self._remove_one():
            pass

    async def _remove_one(self) -> bool:
        async with self._storage.write() as tx:
            found = await tx.fetch(_EMPTY, now_ms() - EMPTY_FOR_MS)
            for row in found:
                await delete(tx, self._capabilities, Room.of(row))
        return bool(found)


async def group_of(tx: Transaction, people: Sequence[str]) -> str | None:
    """Return the group of exactly these users, of several the one that was active last; None for none."""
    marks = ", ".join(f"${number}" for number in range(3, len(people) + 3))
    rows = await tx.fetch(_SAME.format(marks), people[0], len(people), *people)
    return rows[0][0] if rows else None


async def notes_of(tx: Transaction, user_id: str) -> str | None:
    """Return a user's notes; None if they have none yet."""
    rows = await tx.fetch(_NOTES, user_id)
    return rows[0][0] if rows else None


async def _group(tx: Transaction, caller: Caller, channel_id: str) -> Room:
    """Return a group that the caller is in; raises `NotFound` for any other room."""
    room = await sight.channel(tx, caller, channel_id)
    if room.kind != "group":
        raise NotFound("No such group.")
    return room
