"""How far users have read in threads, and how much is unread there (extension D-8).

As in places, nothing is counted in advance: a count is the number of replies of others after the position, as
of the transaction that asks. In every statement here, replies are visible as their parent is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from msgspec import Struct

from teamchat.chat.sight import FIRST_SEEN, SEEN
from teamchat.interfaces import Transaction
from teamchat.model import Cursor
from teamchat.read_state import mentioned
from teamchat.read_state.positions import Mark
from teamchat.read_state.tables import COUNTED_UP_TO
from teamchat.storage.statements import chunks, listed

_NEWEST = "(select x.id from messages x where x.parent_id = m.id order by x.id desc limit 1)"
_COLUMNS = f"""m.id, m.room_id, r.archived_at, {_NEWEST}, t.last_reply_at,
s.position, s.generation, s.is_marked, s.is_following, s.is_ended, s.since"""
# Whether the user sees the thread was asked before (`app.message`).
_ONE = f"""select {_COLUMNS} from messages m join rooms r on r.id = m.room_id
left join threads t on t.parent_id = m.id
left join threads_states s on s.message_id = m.id and s.user_id = $1 where m.id = $2"""  # noqa: S608
_SEES = f"""select 1 from messages m join rooms r on r.id = m.room_id
left join memberships mine on mine.room_id = r.id and mine.user_id = $1
where m.id = $2 and m.parent_id is null and {SEEN} and m.id >= {FIRST_SEEN}"""  # noqa: S608
_FOLLOWED = f"""threads_states s join messages m on m.id = s.message_id
join rooms r on r.id = m.room_id
join threads t on t.parent_id = m.id
left join memberships mine on mine.room_id = r.id and mine.user_id = s.user_id
where s.user_id = $1 and s.is_following = 1 and {SEEN} and m.id >= {FIRST_SEEN}"""
_IS_UNREAD = """r.archived_at is null and exists (select 1 from messages x
where x.parent_id = s.message_id and x.id > s.position and x.author_id <> $1)"""
# Which threads are shown is found first: of all others nothing is looked up.
_PAGE = f"""with shown(id) as (select m.id from {_FOLLOWED}
  and (t.last_reply_at, m.id) < ($2, $3) {{only}} order by t.last_reply_at desc, m.id desc limit $4)
select {_COLUMNS} from shown join messages m on m.id = shown.id join rooms r on r.id = m.room_id
join threads t on t.parent_id = m.id
join threads_states s on s.message_id = m.id and s.user_id = $1
order by t.last_reply_at desc, m.id desc"""  # noqa: S608
_ALL, _UNREAD = _PAGE.format(only=""), _PAGE.format(only=f"and {_IS_UNREAD}")
_EVERY_UNREAD = f"select {_COLUMNS} from {_FOLLOWED} and {_IS_UNREAD}"  # noqa: S608
# Whether they see the thread is not asked: this is for leaving out who has nothing to ask for.
# A value, and no `exists`: that PostgreSQL would make a join, and look at the replies in all threads.
_READERS = """select distinct s.user_id from threads_states s where s.user_id in ({})
and (select 1 from messages x where x.parent_id = s.message_id
and x.id > s.position and x.author_id <> s.user_id limit 1) = 1"""
_COUNT = """with asked(message_id, after) as (values {})
select a.message_id, (select count(*) from (select 1 from messages x where x.parent_id = a.message_id
and x.id > a.after and x.author_id <> $1 limit {}) found) from asked a"""
_STORE = """insert into threads_states
(user_id, message_id, room_id, position, generation, is_marked, is_following, is_ended, since)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (user_id, message_id) do update set
position = excluded.position, generation = excluded.generation, is_marked = excluded.is_marked,
is_following = excluded.is_following, is_ended = excluded.is_ended, since = excluded.since"""


class ThreadState(Struct, frozen=True, rename="camel"):
    """Whether a user follows a thread, how far they have read there, and what is unread.

    `message_id` is the message that the thread is about. `last_reply_at` is in epoch milliseconds, None where
    there is no reply. `mention_count` is 0 where nobody can be mentioned.
    """

    message_id: str
    place_id: str
    following: bool
    position: str
    generation: int
    unread_count: int
    last_reply_at: int | None
    mention_count: int = 0


class ThreadMark(NamedTuple):
    """Where a user stands in a thread. `newest` is its newest reply, None without any.

    What is after `since` has come since they follow it, if they do; reading does not move it.
    """

    message_id: str
    room_id: str
    is_archived: bool
    newest: str | None
    last_reply_at: int | None
    mark: Mark
    is_following: bool
    is_ended: bool
    since: str

    @classmethod
    def of(cls, row: Sequence[Any]) -> Self:
        """Return the mark of a row with `_COLUMNS`; without a row in the table everything is read."""
        message_id, room_id, archived_at, newest, last_reply_at, position, *own = row
        generation, is_marked, is_following, is_ended, since = own
        if position is None:
            mark, is_following, is_ended = Mark(newest or message_id), 0, 0
        else:
            mark = Mark(position, generation, bool(is_marked))
        return cls(
            message_id,
            room_id,
            archived_at is not None,
            newest,
            last_reply_at,
            mark,
            bool(is_following),
            bool(is_ended),
            mark.position if since is None else since,
        )

    @property
    def may_have_unread(self) -> bool:
        """Whether there is anything after the position; in an archived place nothing counts (B-6)."""
        return not self.is_archived and self.newest is not None and self.newest > self.mark.position


FIRST = Cursor(2**62, "")
"""The cursor before the first thread; others are of the time of a thread's last reply, and its message."""


async def thread_of(tx: Transaction, user_id: str, message_id: str) -> ThreadMark:
    """Return where a user stands in the thread of a message that they see, and that can have one."""
    [row] = await tx.fetch(_ONE, user_id, message_id)
    return ThreadMark.of(row)


async def sees_thread(tx: Transaction, user_id: str, message_id: str) -> bool:
    """Return whether a user sees a message, and it is none in a thread of its own."""
    return bool(await tx.fetch(_SEES, user_id, message_id))


async def page_of(
    tx: Transaction, user_id: str, *, after: Cursor, limit: int, is_unread: bool
) -> list[ThreadMark]:
    """Return the threads that a user follows and sees, those with the newest reply first."""
    rows = await tx.fetch(_UNREAD if is_unread else _ALL, user_id, *after, limit)
    return [ThreadMark.of(row) for row in rows]


async def unread_of(tx: Transaction, user_id: str) -> list[ThreadMark]:
    """Return all threads that a user follows and sees and in which something is unread, in no order."""
    return [ThreadMark.of(row) for row in await tx.fetch(_EVERY_UNREAD, user_id)]


async def readers_among(tx: Transaction, user_ids: Sequence[str]) -> set[str]:
    """Return those of these users who have something unread in a thread, followed or not, seen or not."""
    found: set[str] = set()
    for marks, piece in chunks(user_ids):
        found |= {one for (one,) in await tx.fetch(_READERS.format(marks), *piece)}
    return found


async def states_of(tx: Transaction, user_id: str, threads: Iterable[ThreadMark]) -> list[ThreadState]:
    """Return the states of threads as they are in this transaction."""
    threads = list(threads)
    unread = [one for one in threads if one.may_have_unread]
    counts = await _count(tx, user_id, unread)
    mentions = await mentioned.in_threads(tx, user_id) if unread else {}
    return [
        ThreadState(
            message_id=one.message_id,
            place_id=one.room_id,
            following=one.is_following,
            position=one.mark.position,
            generation=one.mark.generation,
            unread_count=counts.get(one.message_id, 0),
            last_reply_at=one.last_reply_at,
            mention_count=mentions.get(one.message_id, 0) if one.may_have_unread else 0,
        )
        for one in threads
    ]


async def store(tx: Transaction, user_id: str, thread: ThreadMark) -> None:
    """Store where a user stands in a thread."""
    await tx.fetch(
        _STORE,
        *(user_id, thread.message_id, thread.room_id, thread.mark.position, thread.mark.generation),
        *(int(thread.mark.is_marked), int(thread.is_following), int(thread.is_ended), thread.since),
    )


async def _count(tx: Transaction, user_id: str, threads: Sequence[ThreadMark]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    asked = [(one.message_id, one.mark.position) for one in threads]
    for rows, parameters in listed(asked, after=1):
        counts.update(await tx.fetch(_COUNT.format(rows, COUNTED_UP_TO), user_id, *parameters))
    return counts
