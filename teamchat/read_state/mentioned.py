"""Which messages mention whom, as read states count them (extensions D-1, E-5): rows that are only added.

There is one for each user whom a message reaches by their name or a keyword, and one for a message that
mentions everybody in its place, whoever they are.  What is mentioned no longer is marked, and not removed: it
counts for nobody, and is known when it comes back.  Rows go with their messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from teamchat.interfaces import Transaction
from teamchat.storage.statements import flat, values

COUNTED_UP_TO = 1000
"""A count that has reached this means "at least"."""
_MOST_AT_ONCE = 128

TABLES = (
    # `reached` is when, in the form of an id; `cause` is ``user`` or ``keyword``. `told` is 0 until the
    # user was told of it, 1 since then, and 2 if they were told that it is gone.
    """create table read_state_mentions (user_id text not null references users(id) on delete cascade,
       room_id text not null references rooms(id) on delete cascade,
       message_id text not null references messages(id) on delete cascade, parent_id text,
       cause text not null, reached text not null, is_there {int} not null,
       told {int} not null default 0,
       primary key (user_id, room_id, message_id)){table_end}""",
    "create index read_state_mentions_by_message on read_state_mentions(message_id)",
    """create index read_state_mentions_by_thread on read_state_mentions(user_id, parent_id, message_id)
       where parent_id is not null""",
    "create index read_state_mentions_by_time on read_state_mentions(user_id, reached)",
    """create table read_state_wide (message_id text primary key references messages(id) on delete cascade,
       room_id text not null references rooms(id) on delete cascade, parent_id text,
       author_id text not null, reached text not null, is_there {int} not null,
       told {int} not null default 0){table_end}""",
    "create index read_state_wide_by_time on read_state_wide(reached)",
    "create index read_state_wide_by_room on read_state_wide(room_id, message_id)",
    """create index read_state_wide_by_thread on read_state_wide(parent_id, message_id)
       where parent_id is not null""",
)
"""The statements of the migration that makes them."""

_IGNORES = """exists (select 1 from notification_levels n
where n.user_id = $1 and n.room_id = w.room_id and n.ignores_wide = 1)"""
# In a thread that one follows a reply is unread by the position there, in any other by that of the place.
_IN_PLACES = f"""with asked(room_id, after, first_seen) as (values {{}})
select a.room_id, (select count(*) from (
  select m.message_id from read_state_mentions m where m.user_id = $1 and m.room_id = a.room_id
    and m.message_id > a.after and coalesce(m.parent_id, m.message_id) >= a.first_seen and m.is_there = 1
    and not exists (select 1 from threads_states s where s.user_id = $1 and s.message_id = m.parent_id
      and s.is_following = 1)
  union select w.message_id from read_state_wide w where w.room_id = a.room_id
    and w.message_id > a.after and w.message_id >= a.first_seen and w.is_there = 1
    and w.parent_id is null and w.author_id <> $1 and not {_IGNORES}
  limit {COUNTED_UP_TO}) found) from asked a"""  # noqa: S608
_IN_THREADS = f"""select m.room_id, m.parent_id, m.message_id from read_state_mentions m
join threads_states s on s.user_id = m.user_id and s.message_id = m.parent_id
where m.user_id = $1 and m.parent_id is not null and m.is_there = 1
and s.is_following = 1 and m.message_id > s.position
union select w.room_id, w.parent_id, w.message_id from threads_states s
join read_state_wide w on w.parent_id = s.message_id and w.message_id > s.position
where s.user_id = $1 and s.is_following = 1 and w.is_there = 1 and w.author_id <> $1 and not {_IGNORES}
"""  # noqa: S608
_OF_MESSAGE = "select user_id, cause, is_there from read_state_mentions where message_id = $1"
_IS_THERE = """update read_state_mentions set is_there = $4 where user_id = $1 and room_id = $2
and message_id = $3"""


_TELL = """update read_state_{} set told = 1 where message_id = $1 and is_there = 1 and told = 0
returning {}, reached"""
# Rows of a new message count as told at once: who is to be told is told in the same transaction.
_TELL_NEW = """select user_id, reached from read_state_mentions where message_id = $1
union all select null, reached from read_state_wide where message_id = $1"""
_TELL_GONE = """update read_state_mentions set told = 2 where message_id = $1 and is_there = 0 and told = 1
returning user_id, reached"""
_TELL_BACK = "update read_state_mentions set told = 1 where message_id = $1 and is_there = 1 and told = 2"


class Counted(Protocol):
    """A place, as far as it is asked for here."""

    @property
    def id(self) -> str: ...
    @property
    def is_archived(self) -> bool: ...
    @property
    def first_seen(self) -> str: ...


class Where(NamedTuple):
    """A message, where it stands, and since when it mentions somebody (`reached`, in the form of an id)."""

    message_id: str
    room_id: str
    parent_id: str | None
    reached: str


async def in_places(
    tx: Transaction, user_id: str, positions: Sequence[tuple[Counted, str]]
) -> Mapping[str, int]:
    """Return how many unread messages mention a user, by place; each is given with their position there.

    Replies are among them. In an archived place nothing counts (B-6).
    """
    asked = [(one.id, after, one.first_seen) for one, after in positions if not one.is_archived]
    counts: Counter[str] = Counter()
    for start in range(0, len(asked), _MOST_AT_ONCE):
        piece = asked[start : start + _MOST_AT_ONCE]
        # Filled up to one of a few sizes, so that statements stay prepared; the same row twice is no harm.
        size = 1 << (len(piece) - 1).bit_length()
        rows = values("({0}, {1}, {2})", 3, size, after=1)
        piece += piece[-1:] * (size - len(piece))
        counts.update(dict(await tx.fetch(_IN_PLACES.format(rows), user_id, *flat(piece))))
    bounds = {room_id: first_seen for room_id, _, first_seen in asked}
    for (room_id, parent_id), count in (await _in_followed(tx, user_id) if asked else {}).items():
        if room_id in bounds and parent_id >= bounds[room_id]:
            counts[room_id] += count
    return {room_id: min(count, COUNTED_UP_TO) for room_id, count in counts.items()}


async def in_threads(tx: Transaction, user_id: str) -> Mapping[str, int]:
    """Return how many unread replies mention a user, by the threads that they follow, seen or not."""
    return {
        parent_id: min(count, COUNTED_UP_TO)
        for (_, parent_id), count in (await _in_followed(tx, user_id)).items()
    }


async def newest_in(tx: Transaction, user_id: str, room_id: str) -> str | None:
    """Return the newest message of a room that mentions a user by their name or a keyword."""
    [(found,)] = await tx.fetch(
        """select max(message_id) from read_state_mentions
        where user_id = $1 and room_id = $2 and is_there = 1""",
        *(user_id, room_id),
    )
    return None if found is None else str(found)


async def reach(tx: Transaction, where: Where, causes: Mapping[str, str]) -> None:
    """Note whom a new message mentions, each with the cause: ``user`` or ``keyword``."""
    rows = [(user_id, *where[:3], cause, where.reached) for user_id, cause in sorted(causes.items())]
    for start in range(0, len(rows), _MOST_AT_ONCE):
        piece = rows[start : start + _MOST_AT_ONCE]
        piece += piece[-1:] * ((1 << (len(piece) - 1).bit_length()) - len(piece))
        told = int(where.reached == where.message_id)
        pattern = f"({{0}}, {{2}}, {{1}}, {{3}}, {{4}}, {{5}}, 1, {told})"
        listed = values(pattern, 6, len(piece), after=0)
        await tx.fetch(
            f"""insert into read_state_mentions (user_id, room_id, message_id, parent_id, cause, reached,
            is_there, told) values {listed} on conflict do nothing""",  # noqa: S608
            *flat(piece),
        )


async def reach_again(
    tx: Transaction, where: Where, causes: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Note whom a message mentions after an edit.

    Returns whom it has never mentioned before, and whom it mentions no longer.
    """
    before = {user_id: bool(is_there) for user_id, _, is_there in await tx.fetch(_OF_MESSAGE, where[0])}
    new = {user_id: cause for user_id, cause in causes.items() if user_id not in before}
    await reach(tx, where, new)
    for user_id, was_there in before.items():
        if was_there != (user_id in causes):
            await tx.fetch(_IS_THERE, user_id, where.room_id, where.message_id, int(not was_there))
    return sorted(new), sorted(one for one, was in before.items() if was and one not in causes)


async def reached_by(tx: Transaction, message_id: str) -> Mapping[str, str]:
    """Return whom a message mentions at present, each with the cause."""
    return {
        user_id: cause for user_id, cause, is_there in await tx.fetch(_OF_MESSAGE, message_id) if is_there
    }


async def reach_all(tx: Transaction, where: Where, author_id: str) -> None:
    """Note that a message mentions everybody in its place, or who follows its thread."""
    await tx.fetch(
        """insert into read_state_wide (message_id, room_id, parent_id, author_id, reached, is_there, told)
        values ($1, $2, $3, $4, $5, 1, $6) on conflict (message_id) do update set is_there = 1""",
        *(where.message_id, where.room_id, where.parent_id, author_id, where.reached),
        int(where.reached == where.message_id),
    )


async def reach_all_no_longer(tx: Transaction, message_id: str) -> None:
    """Note that a message does not mention everybody any more."""
    await tx.fetch("update read_state_wide set is_there = 0 where message_id = $1", message_id)


class Telling(NamedTuple):
    """Who is to be told of a message that mentions them, and who of one that does no longer.

    `everybody`: of those in its place, or who follow its thread.
    """

    users: Sequence[str]
    gone: Sequence[str]
    everybody: bool
    reached: str


async def to_tell(tx: Transaction, message_id: str, *, is_new: bool) -> Telling:
    """Return who is to be told now, each once ever of the same message, and note that they were."""
    gone: Sequence[str] = ()
    if is_new:
        found = await tx.fetch(_TELL_NEW, message_id)
        rows = [row for row in found if row[0] is not None]
        wide = [row for row in found if row[0] is None]
    else:
        rows = await tx.fetch(_TELL.format("mentions", "user_id"), message_id)
        wide = await tx.fetch(_TELL.format("wide", "author_id"), message_id)
        gone = [one for (one, _) in await tx.fetch(_TELL_GONE, message_id)]
        await tx.fetch(_TELL_BACK, message_id)
    reached = max((reached for _, reached in (*rows, *wide)), default=message_id)
    return Telling(sorted(one for one, _ in rows), sorted(gone), bool(wide), reached)


async def _in_followed(tx: Transaction, user_id: str) -> Mapping[tuple[str, str], int]:
    rows = await tx.fetch(_IN_THREADS, user_id)
    return Counter((room_id, parent_id) for room_id, parent_id, _ in rows)
