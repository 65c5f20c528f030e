"""Who follows a thread, and how that begins and ends (extension D-8).

Each function is called in the transaction of what happens. Nothing is written for anybody who has no part in
the thread: a first reply writes two rows, any other at most one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from teamchat.chat.sight import FIRST_SEEN, SEEN
from teamchat.interfaces import Transaction
from teamchat.read_state.positions import before
from teamchat.read_state.tables import is_stray
from teamchat.read_state.threads.tables import MEMBER
from teamchat.storage.statements import chunks, flat, in_pieces, values

_INTO = """insert into threads_states
(user_id, message_id, room_id, position, generation, is_marked, is_following, is_ended, since)"""
_LATER = """case when threads_states.position < excluded.position then excluded.position
else threads_states.position end"""
# Who follows already stays where they are; who has ended it stays away.
_BEGIN = f"""on conflict (user_id, message_id) do update set is_following = 1, is_marked = 0,
position = {_LATER}, since = {_LATER}
where threads_states.is_following = 0 and threads_states.is_ended = 0"""
_REPLIED = f"""{_INTO} values ($1, $2, $3, $4, 0, 0, 1, 0, $4)
on conflict (user_id, message_id) do update set is_following = 1, is_ended = 0, is_marked = 0,
position = {_LATER},
since = case when threads_states.is_following = 1 then threads_states.since else {_LATER} end"""
# Of who wrote the parent: if this is its first reply, and it is somebody who sees it still and has not left
# the place since.
_AUTHOR = f"""{_INTO} select w.user_id, w.id, w.room_id, $2, 0, 0, 1, 0, $2
from (select author_id as user_id, id, room_id from messages where id = $1) w
join users u on u.id = w.user_id and u.removed_at is null
join rooms r on r.id = w.room_id
left join memberships mine on mine.room_id = r.id and mine.user_id = w.user_id
where w.user_id <> $3 and not exists (select 1 from threads t where t.parent_id = w.id)
and {SEEN} and w.id >= {FIRST_SEEN} and ({MEMBER} or not exists
  (select 1 from read_state_left l where l.room_id = r.id and l.user_id = w.user_id))
{_BEGIN}"""  # noqa: S608
_FOLLOWERS = "select user_id from threads_states where message_id = $1 and is_following = 1"
# A device that knows an older state takes a later one for newer: by its position where nobody ever marked it
# as unread, by its generation otherwise, and that is kept for when they are back.
_FORGET = "delete from threads_states where room_id = $1 and generation = 0"
_END = """update threads_states set is_following = 0, is_ended = 0, is_marked = 0,
generation = generation + 1, position = coalesce(
  (select max(m.id) from messages m where m.parent_id = threads_states.message_id), position)
where room_id = $1"""
# What somebody has no part in is read as they become a member of its place (D-4).
_READ = """update threads_states set is_marked = 0, position = (select max(x.id) from
(select threads_states.position as id
 union all select m.id from messages m where m.parent_id = threads_states.message_id) x)
where room_id = $1 and is_following = 0"""
_WITHOUT_MEMBERSHIP = """not exists (select 1 from memberships m
where m.room_id = threads_states.room_id and m.user_id = threads_states.user_id)"""


class Thread(NamedTuple):
    """A thread: the message that it is about, and the room in which that stands."""

    message_id: str
    room_id: str


async def follow(tx: Transaction, thread: Thread, unread_from: Mapping[str, str]) -> None:
    """Have users follow a thread, each with the first reply that is unread for them; all before it is read.

    Who follows it already stays as they are, and so does who has ended that.  The users are there, and see
    the thread.
    """
    rows = [
        (user_id, *thread, before(reply_id), 0, 0, 1, 0, before(reply_id))
        for user_id, reply_id in sorted(unread_from.items())
    ]
    pattern = f"({', '.join(f'{{{number}}}' for number in range(9))})"
    for piece in in_pieces(rows):
        listed = values(pattern, 9, len(piece), after=0)
        await tx.fetch(f"{_INTO} values {listed} {_BEGIN}", *flat(piece))


async def reply_stored(tx: Transaction, thread: Thread, reply_id: str, author_id: str) -> None:
    """Have the author of a new reply follow its thread, and that of its parent with the first one.

    It is called before the thread counts the reply.
    """
    await tx.fetch(_AUTHOR, thread.message_id, before(reply_id), author_id)
    await tx.fetch(_REPLIED, author_id, *thread, reply_id)


async def followers(tx: Transaction, message_id: str) -> list[str]:
    """Return the ids of those who follow a thread, also of those who do not see it at present."""
    return [user_id for (user_id,) in await tx.fetch(_FOLLOWERS, message_id)]


async def leave(tx: Transaction, room_id: str, user_ids: Sequence[str]) -> None:
    """End the thread states of users who have left a room."""
    for marks, piece in chunks(user_ids, after=1):
        for statement in (_FORGET, _END):
            await tx.fetch(f"{statement} and user_id in ({marks})", room_id, *piece)


async def enter(tx: Transaction, room_id: str, user_ids: Sequence[str]) -> None:
    """Have the threads of a room that they don't follow read for users who have joined it."""
    for marks, piece in chunks(user_ids, after=1):
        await tx.fetch(f"{_READ} and user_id in ({marks})", room_id, *piece)


async def enter_by_default(tx: Transaction, room_id: str) -> None:
    """Do so for all who are members from now on because everybody is one."""
    await tx.fetch(f"{_READ} and {_WITHOUT_MEMBERSHIP}", room_id)


async def leave_all_but_members(tx: Transaction, room_id: str) -> None:
    """End the thread states in a room of all who are no members of it."""
    for statement in (_FORGET, _END):
        await tx.fetch(f"{statement} and {is_stray('threads_states')}", room_id)
