"""What happens to read states as rooms and their members change, in the transaction of the change (D-4).

Whoever joins begins with nothing unread; leaving ends the state. Posting, editing and deleting change nothing
here, because everything is counted from what is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from teamchat.capabilities import Changes
from teamchat.chat.sight import Room
from teamchat.interfaces import Storage, Transaction
from teamchat.model import now_ms
from teamchat.read_state.going import forget_all, forget_some, some_of
from teamchat.read_state.positions import Mark, began_by_default, began_by_joining, moment
from teamchat.read_state.tables import BEGINNING, NEWEST, is_stray
from teamchat.storage.statements import chunks, flat, in_pieces, listed, values

KEPT_MS = 30 * 24 * 3600 * 1000
"""For so long it is known which rooms somebody has left that are gone, or that they were in by default."""
BY_DEFAULT = ""
"""Stands in `read_state_left` for everybody who was a member without a row."""

_TICK = "update read_state_clock set changes = changes + 1 where id = 1"
_CHANGE = "(select changes from read_state_clock where id = 1)"
# A list is filled up by repeating a row, and of each there may be one; SQLite wants a condition before `on`.
_WRITE = f"""insert into read_state (user_id, room_id, position, generation, is_marked, changed, began)
with moved(user_id, room_id, position, generation, is_marked, began) as (values {{}})
select distinct m.user_id, m.room_id, m.position, m.generation, m.is_marked, {_CHANGE}, m.began from moved m
where true on conflict (user_id, room_id) do update set position = excluded.position,
generation = excluded.generation, is_marked = excluded.is_marked, changed = excluded.changed,
began = coalesce(excluded.began, read_state.began)"""  # noqa: S608
_NEWEST = f"select coalesce({NEWEST}, '{BEGINNING}'), r.is_default, r.epoch from rooms r where r.id = $1"  # noqa: S608
_MADE = """insert into read_state_rooms (room_id, base, default_base, first_epoch, changed)
values ($1, $2, $2, $3, $4) on conflict (room_id) do update set changed = excluded.changed"""
_SEEN = """insert into read_state_rooms (room_id, base, default_base, first_epoch, changed)
values ($1, $2, $2, $3, $4) on conflict do nothing"""
_UNKNOWN = """from rooms r
where not exists (select 1 from read_state_rooms rr where rr.room_id = r.id)"""
_ADOPTED = f"""insert into read_state_rooms (room_id, base, default_base, first_epoch, changed)
select r.id, coalesce({NEWEST}, '{BEGINNING}'), coalesce({NEWEST}, '{BEGINNING}'), r.epoch, $1
{_UNKNOWN}"""
_ANY_UNKNOWN = f"select 1 {_UNKNOWN} limit 1"
_OLD_LEFT = """from read_state_left where left_at < $1 and (user_id = $2
or not exists (select 1 from rooms r where r.id = read_state_left.room_id))"""
_OLD_GONE = "from read_state_gone where left_at < $1"
_LEFT = """insert into read_state_left (user_id, room_id, generation, changed, left_at)
values {} on conflict (user_id, room_id)
do update set generation = excluded.generation, changed = excluded.changed, left_at = excluded.left_at"""
_GONE = """insert into read_state_gone (room_id, changed, left_at, members) values ($1, $2, $3, $4)
on conflict (room_id) do update
set changed = excluded.changed, left_at = excluded.left_at, members = excluded.members"""
_FORGOTTEN = "update read_state_gone set members = replace(members, $1, '\"\"') where members like $2"
_UNSETTLED = """select m.user_id, s.position, s.generation, s.is_marked,
u.created_at, m.since_epoch, m.joined_at from memberships m join users u on u.id = m.user_id
left join read_state s on s.room_id = m.room_id and s.user_id = m.user_id
where m.room_id = $1 and s.began is null"""
_END_ALL, _END_LEFT = (
    f"delete from {table} where room_id = $1 and user_id in ({{}}) returning user_id, generation"  # noqa: S608
    for table in ("read_state", "read_state_left")
)
_MENTIONS = some_of("read_state_mentions", "user_id, room_id, message_id")
_PART = 500
_END_SOME = """delete from read_state where room_id = $1 and user_id in
(select user_id from read_state where room_id = $1 limit $2) returning 1"""
_STRAY = f"from read_state where {is_stray('read_state')}"
_STRAY_LEFT = f"""insert into read_state_left (user_id, room_id, generation, changed, left_at)
select user_id, room_id, generation, $2, $3 {_STRAY} and room_id = $1
on conflict (user_id, room_id) do update set generation = excluded.generation,
changed = excluded.changed, left_at = excluded.left_at"""
_NEXT_GENERATION = """update read_state_rooms set next_generation = 1 + (select max(g.generation) from
(select s.generation from read_state s where s.room_id = $1
 union all select l.generation + 1 from read_state_left l where l.room_id = $1
 union all select rr.next_generation from read_state_rooms rr where rr.room_id = $1) g) where room_id = $1"""


async def tick(tx: Transaction) -> int:
    """Return the number of a change, greater than all before."""
    [(number,)] = await tx.fetch(f"{_TICK} returning changes")
    return int(number)


async def move(tx: Transaction, marks: Sequence[tuple[str, str, Mark]]) -> None:
    """Store marks that have moved, as a change of their own.

    No statement returns anything, so that a storage need not wait for any: marks are most of what is written.
    """
    await tx.fetch(_TICK)
    await write(tx, marks)


async def write(
    tx: Transaction,
    marks: Sequence[tuple[str, str, Mark]],
    began: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Store marks, each with its user and room, and where users' memberships `began`, if they do now.

    They are of the last change that there is.
    """
    stored = [(user, room, *mark[:2], int(mark.is_marked), began.get(user)) for user, room, mark in marks]
    for rows, parameters in listed(stored):
        await tx.fetch(_WRITE.format(rows), *parameters)


class Following(Changes):
    """Keeps the positions of those who join and who leave, and notes which rooms have changed."""

    async def room_made(self, tx: Transaction, room: Room) -> None:
        """Those who are in it from the first see all of it as unread."""
        await tx.fetch(_MADE, room.id, BEGINNING, room.epoch, await tick(tx))

    async def room_changed(self, tx: Transaction, room: Room) -> None:
        """Archived, opened again, or everybody's by default, or no longer."""
        changed = await tick(tx)
        newest, is_default, epoch = await _now(tx, room.id)
        await tx.fetch(_MADE, room.id, newest, epoch, changed)
        if is_default == room.is_default:
            return
        await _settle(tx, room)
        if is_default:
            await tx.fetch(
                "update read_state_rooms set default_base = $2 where room_id = $1", room.id, newest
            )
        else:
            await _end_default(tx, room.id, changed)

    async def privacy_changed(self, tx: Transaction, room: Room) -> None:
        """Who was a member by default is one no more, unless they were named."""
        changed = await tick(tx)
        newest, _, epoch = await _now(tx, room.id)
        await tx.fetch(_MADE, room.id, newest, epoch, changed)
        if room.is_default:
            await _settle(tx, room)
            await _end_default(tx, room.id, changed)

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """Its read states go with it; one row says of all members that they have left."""
        changed, now = await tick(tx), now_ms()
        members = await tx.fetch("select user_id from memberships where room_id = $1", room.id)
        await tx.fetch(_GONE, room.id, changed, now, json.dumps([user_id for (user_id,) in members]))
        if room.is_default:
            await _left(tx, [(BY_DEFAULT, room.id, 0, changed, now)])

    async def room_clearing(self, tx: Transaction, room: Room) -> bool:
        """Members' states go with the row of the room, which is to have few by then."""
        return len(await tx.fetch(_END_SOME, room.id, _PART)) == _PART

    async def thread_going(
        self,
        tx: Transaction,
        message_id: str,
        replies: Sequence[str],  # noqa: ARG002
        room: Room,  # noqa: ARG002
    ) -> None:
        """Mentions are counted by their room: that of the message itself counts no more."""
        await tx.fetch("delete from read_state_mentions where message_id = $1", message_id)
        await tx.fetch("delete from read_state_wide where message_id = $1", message_id)

    async def members_changed(
        self, tx: Transaction, room: Room, joined: Sequence[str], left: Sequence[str]
    ) -> None:
        """Who joins has nothing unread, and a generation greater than before they left."""
        changed = await tick(tx)
        newest, _, epoch = await _now(tx, room.id)
        await tx.fetch(_SEEN, room.id, newest, epoch, changed)
        if left:
            await _end(tx, room.id, left, changed)
        if joined:
            generations = await _generations(tx, room.id, joined)
            marks = [(user_id, room.id, Mark(newest, generations[user_id])) for user_id in joined]
            await write(tx, marks, dict.fromkeys(joined, newest))

    async def user_settling(self, tx: Transaction, user_id: str, *, is_going: bool) -> bool:
        """Remove as many of their mentions as one transaction can."""
        return is_going and await forget_some(tx, user_id, [_MENTIONS])

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Nothing is kept of who is no user any more. Raises `TooMuch` for very many mentions."""
        await forget_all(tx, user_id, [_MENTIONS])
        await tx.fetch("delete from read_state where user_id = $1", user_id)
        await tx.fetch("delete from read_state_left where user_id = $1", user_id)
        await tx.fetch(_FORGOTTEN, f'"{user_id}"', f'%"{user_id}"%')


class Upkeep:
    """What is done every hour: rooms that an import has brought are taken in, what is old is forgotten."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def run(self) -> None:
        """Do it; nobody waits for it unless there is something to do."""
        before = now_ms() - KEPT_MS
        may_be_old: list[tuple[str, Sequence[Any]]] = [
            (_OLD_LEFT, [before, BY_DEFAULT]),
            (_OLD_GONE, [before]),
        ]
        async with self._storage.read() as tx:
            has_new = bool(await tx.fetch(_ANY_UNKNOWN))
            old = [one for one in may_be_old if await tx.fetch(f"select 1 {one[0]} limit 1", *one[1])]
        if has_new:
            async with self._storage.write() as tx:
                await tx.fetch(_ADOPTED, await tick(tx))
        if old:
            async with self._storage.write() as tx:
                for rows, parameters in old:
                    await tx.fetch(f"delete {rows}", *parameters)


async def _now(tx: Transaction, room_id: str) -> tuple[str, bool, int]:
    """Return a room's newest message, whether everybody is in it by default, and its epoch."""
    [(newest, is_default, epoch)] = await tx.fetch(_NEWEST, room_id)
    return newest, bool(is_default), epoch


async def _generations(tx: Transaction, room_id: str, users: Sequence[str]) -> Mapping[str, int]:
    """Return the generations of those who join, and forget that they had left."""
    [(least,)] = await tx.fetch("select next_generation from read_state_rooms where room_id = $1", room_id)
    generations = dict.fromkeys(users, int(least))
    for marks, piece in chunks(users, after=1):
        ended = [
            *await tx.fetch(_END_LEFT.format(marks), room_id, *piece),
            # There is one only of who left while the capability was off.
            *await tx.fetch(_END_ALL.format(marks), room_id, *piece),
        ]
        for user_id, generation in ended:
            generations[user_id] = max(generations[user_id], int(generation) + 1)
    return generations


async def _end(tx: Transaction, room_id: str, users: Sequence[str], changed: int) -> None:
    """End the states of users who leave, however many: a channel that becomes private may lose thousands."""
    ended: dict[str, int] = {}
    for marks, piece in chunks(users, after=1):
        ended.update(await tx.fetch(_END_ALL.format(marks), room_id, *piece))
    # Who was a member without a row had a generation all the same, newer than what had ended before.
    ended |= await _generations(tx, room_id, [one for one in users if one not in ended])
    await _left(tx, [(user_id, room_id, ended[user_id], changed, now_ms()) for user_id in users])


async def _left(tx: Transaction, rows: Sequence[tuple[str, str, int, int, int]]) -> None:
    for piece in in_pieces(rows):
        await tx.fetch(
            _LEFT.format(values("({0}, {1}, {2}, {3}, {4})", 5, len(piece), after=0)), *flat(piece)
        )


async def _end_default(tx: Transaction, room_id: str, changed: int) -> None:
    """End the states of those who were members by default alone."""
    await _left(tx, [(BY_DEFAULT, room_id, 0, changed, now_ms())])
    await tx.fetch(_STRAY_LEFT, room_id, changed, now_ms())
    await tx.fetch(f"delete {_STRAY} and room_id = $1", room_id)
    await tx.fetch(_NEXT_GENERATION, room_id)


async def _settle(tx: Transaction, room: Room) -> None:
    """Store where members began who have a row in `memberships`, and stand if they never read there.

    `room` is as it was; by what it is now they would stand elsewhere.
    """
    [(base, default_base, first_epoch)] = await tx.fetch(
        "select base, default_base, first_epoch from read_state_rooms where room_id = $1", room.id
    )

    def position(user_id: str, made_at: int, since: int, joined_at: int) -> str:
        if room.is_default:
            return began_by_default(user_id, made_at, default_base)
        return str(base) if since <= first_epoch else max(str(base), moment(joined_at))

    def beginning(user_id: str, made_at: int, since: int, joined_at: int) -> str:
        if room.is_default:
            return began_by_default(user_id, made_at, default_base)
        return began_by_joining(joined_at, since, base, first_epoch)

    rows: list[Any] = await tx.fetch(_UNSETTLED, room.id)
    generations = await _generations(tx, room.id, [user_id for user_id, *mark in rows if mark[0] is None])
    marks = [
        (
            user_id,
            room.id,
            Mark(position(user_id, *times), generations[user_id])
            if stands is None
            else Mark(stands, generation, bool(is_marked)),
        )
        for user_id, stands, generation, is_marked, *times in rows
    ]
    await write(tx, marks, {user_id: beginning(user_id, *times) for user_id, _, _, _, *times in rows})
