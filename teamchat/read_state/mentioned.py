"""Which messages mention whom, as read states count them (extensions D-1, E-5): rows that are only added.

There is one row for each user whom a message reaches by name or keyword, and one for a message that mentions
everybody in its place, however many they are. A mention that is edited away is marked, not removed: it counts
for nobody, and is recognized if it comes back. Rows are removed with their messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from teamchat.interfaces import Transaction
from teamchat.read_state.positions import Mark
from teamchat.read_state.tables import COUNTED_UP_TO
from teamchat.storage.statements import listed
from teamchat.storage.supposing import likely

_IGNORES = """exists (select 1 from notification_levels n
where n.user_id = {} and n.room_id = w.room_id and n.ignores_wide = 1)"""
# What was said to everybody is for those who were members then.
_IN_PLACES = f"""with asked(user_id, room_id, after, first_seen, began) as (values {{}})
select a.user_id, a.room_id, (select count(*) from (
  select m.message_id from read_state_mentions m where m.user_id = a.user_id and m.room_id = a.room_id
    and m.message_id > a.after and m.message_id >= a.first_seen and m.is_there = 1 and m.parent_id is null
  union select w.message_id from read_state_wide w where w.room_id = a.room_id
    and w.message_id > a.after and w.message_id > a.began and w.message_id >= a.first_seen
    and w.is_there = 1 and w.parent_id is null and w.author_id <> a.user_id
    and not {_IGNORES.format("a.user_id")}
  limit {COUNTED_UP_TO}) found) from asked a"""  # noqa: S608
# A reply is unread by the position in its thread, whether or not one follows that. Who is mentioned has a row
# there; one that has gone since was of a membership that has ended, and all before the next is read.
_UNREAD_REPLIES = f"""with asked(user_id) as (values {{asked}})
select a.user_id, m.room_id, m.parent_id, m.message_id from asked a
join read_state_mentions m on m.user_id = a.user_id
join threads_states s on s.user_id = m.user_id and s.message_id = m.parent_id
where m.parent_id is not null and m.is_there = 1 and m.message_id > s.position {{of}}
union select a.user_id, w.room_id, w.parent_id, w.message_id from asked a
join threads_states s on s.user_id = a.user_id
join read_state_wide w on w.parent_id = s.message_id and w.message_id > s.position
where s.is_following = 1 and w.is_there = 1 and w.author_id <> a.user_id
and not {_IGNORES.format("a.user_id")} {{of}}
"""  # noqa: S608
_IN_THREADS = _UNREAD_REPLIES.format(asked="{}", of="")
_IN_ONE = _UNREAD_REPLIES.format(asked="($1)", of="and s.message_id = $2")
_IN_THREAD = f"select count(*) from ({_IN_ONE}) found"  # noqa: S608
_OF_MESSAGE = "select user_id, cause, is_there from read_state_mentions where message_id = $1"
_CHANGE = """update read_state_mentions set is_there = $4, cause = $5 where user_id = $1 and room_id = $2
and message_id = $3"""


_TELL = """update read_state_mentions set told = 1 where message_id = $1 and is_there = 1 and told = 0
returning user_id, reached"""
_TELL_GONE = """update read_state_mentions set told = 2 where message_id = $1 and is_there = 0 and told = 1
returning user_id"""
_TELL_BACK = "update read_state_mentions set told = 1 where message_id = $1 and is_there = 1 and told = 2"
_ALL_TOLD = (
    "select user_id, is_there from read_state_mentions where message_id = $1 and told > 0 order by user_id"
)
_WIDE = "select is_there, told, reached from read_state_wide where message_id = $1"
_TELL_WIDE = "update read_state_wide set told = $2 where message_id = $1"


class Counted(Protocol):
    """A place, as far as it is asked for here."""

    @property
    def id(self) -> str: ...
    @property
    def is_archived(self) -> bool: ...
    @property
    def first_seen(self) -> str: ...
    @property
    def mark(self) -> Mark: ...
    @property
    def began(self) -> str: ...
    @property
    def may_have_unread(self) -> bool: ...


class Where(NamedTuple):
    """A message, where it stands, and since when it mentions somebody (`reached`, in the form of an id)."""

    message_id: str
    room_id: str
    parent_id: str | None
    reached: str


async def in_places(
    tx: Transaction, places: Mapping[str, Sequence[Counted]], readers: Collection[str]
) -> Mapping[tuple[str, str], int]:
    """Return how many unread messages mention users, by user and place, of `places` by their users.

    Replies are among them for `readers`. In an archived place nothing counts (B-6).
    """
    asked = [
        (user_id, one.id, one.mark.position, one.first_seen, one.began)
        for user_id, own in places.items()
        for one in own
        if one.may_have_unread
    ]
    counts: Counter[tuple[str, str]] = Counter()
    for rows, parameters in listed(asked):
        for user_id, room_id, count in await tx.fetch(_IN_PLACES.format(rows), *parameters):
            counts[user_id, room_id] = count
    if replies := await _in_threads(tx, readers):
        bounds = {
            (user_id, one.id): one.first_seen
            for user_id in readers
            for one in places[user_id]
            if not one.is_archived
        }
        for user_id, room_id, parent_id in replies:
            bound = bounds.get((user_id, room_id))
            if bound is not None and parent_id >= bound:
                counts[user_id, room_id] += 1
    return {one: min(count, COUNTED_UP_TO) for one, count in counts.items()}


async def in_thread(tx: Transaction, user_id: str, message_id: str) -> int:
    """Return how many unread replies of one thread mention a user, seen or not."""
    [(count,)] = await tx.fetch(_IN_THREAD, user_id, message_id)
    return int(count)


async def is_mentioned_in_thread(tx: Transaction, user_id: str, message_id: str) -> bool:
    """Return whether an unread reply of a thread mentions a user, which it hardly ever does."""
    [(count,)] = await likely(tx, _IN_THREAD, user_id, message_id, supposed=[(0,)])
    return bool(count)


async def in_threads(tx: Transaction, user_id: str) -> Mapping[str, int]:
    """Return how many unread replies mention a user, by their threads, seen or not."""
    counts = Counter(parent_id for _, _, parent_id in await _in_threads(tx, [user_id]))
    return {parent_id: min(count, COUNTED_UP_TO) for parent_id, count in counts.items()}


async def reach(tx: Transaction, where: Where, causes: Mapping[str, str], told: int | None = None) -> None:
    """Note whom a message mentions, each with the cause: ``user``, ``keyword`` or ``both``.

    Whether they were told of it is `told`; of a new one they are in this transaction.
    """
    told = int(where.reached == where.message_id) if told is None else told
    message_id, room_id, parent_id, reached = where
    found = [
        (user_id, room_id, message_id, parent_id, cause, reached, 1, told)
        for user_id, cause in sorted(causes.items())
    ]
    for rows, parameters in listed(found):
        await tx.fetch(
            f"""insert into read_state_mentions (user_id, room_id, message_id, parent_id, cause, reached,
            is_there, told) values {rows} on conflict do nothing""",  # noqa: S608
            *parameters,
        )


async def reach_again(
    tx: Transaction, where: Where, causes: Mapping[str, str], for_all: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """Note whom a message mentions after an edit.

    It has concerned those in `for_all` before, for it was for everybody: they know it since then, and are not
    told again.  Returns whom it has never mentioned before by themselves, and whom it mentions no longer.
    """
    before = {
        user_id: cause if is_there else None
        for user_id, cause, is_there in await tx.fetch(_OF_MESSAGE, where.message_id)
    }
    new = {user_id: cause for user_id, cause in causes.items() if user_id not in before}
    for _, told, since in await tx.fetch(_WIDE, where.message_id) if for_all else ():
        known = {user_id: cause for user_id, cause in new.items() if user_id in for_all}
        await reach(tx, where._replace(reached=since), known, told)
    await reach(tx, where, {user_id: cause for user_id, cause in new.items() if user_id not in for_all})
    for user_id, was in before.items():
        if was != (now := causes.get(user_id)):
            changed = (user_id, where.room_id, where.message_id, int(now is not None), now or was)
            await tx.fetch(_CHANGE, *changed)
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

    `everybody`: of those in its place, or who follow its thread. With `nobody` all of them were meant, and
    are told that they are no longer.  `known` are all who were ever told that it mentions them by themselves,
    `there` those whom it still does.
    """

    users: Sequence[str]
    gone: Sequence[str]
    everybody: bool
    reached: str
    nobody: bool = False
    is_wide: bool = False
    known: Sequence[str] = ()
    there: Sequence[str] = ()


async def to_tell(tx: Transaction, message_id: str) -> Telling:
    """Return who is to be told of an edited message, each once ever of the same, and note that they were.

    Rows of a new message count as told at once: who is to be told is told in the same transaction.
    """
    rows = await tx.fetch(_TELL, message_id)
    gone = [one for (one,) in await tx.fetch(_TELL_GONE, message_id)]
    await tx.fetch(_TELL_BACK, message_id)
    reached = [since for _, since in rows]
    everybody = nobody = is_wide = False
    for is_there, told, since in await tx.fetch(_WIDE, message_id):
        is_wide = bool(is_there)
        everybody, nobody = is_wide and not told, not is_wide and told == 1
        reached += [since] if everybody else []
        if told != (now := 1 if is_there else 2 * bool(told)):
            await tx.fetch(_TELL_WIDE, message_id, now)
    newest = max(reached, default=message_id)
    own = await tx.fetch(_ALL_TOLD, message_id)
    return Telling(
        sorted(one for one, _ in rows),
        sorted(gone),
        everybody,
        newest,
        nobody,
        is_wide,
        known=[one for one, _ in own],
        there=[one for one, is_there in own if is_there],
    )


async def _in_threads(tx: Transaction, users: Collection[str]) -> list[tuple[str, str, str]]:
    """Return user, room and thread of each unread reply that mentions one of these users, seen or not."""
    found: list[tuple[str, str, str]] = []
    for rows, parameters in listed([(user_id,) for user_id in sorted(users)]):
        replies = await tx.fetch(_IN_THREADS.format(rows), *parameters)
        found += [(user_id, room_id, parent_id) for user_id, room_id, parent_id, _ in replies]
    return found
