"""The items of a feed, worked out from what is stored, and checked by sight when they are read (E-9).

Each source yields its newest items before a point in the order of ids. They are merged, and what the user no
longer sees is left out. A message that mentions the user is not listed again as a reply.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from teamchat.chat import sight
from teamchat.chat.sight import FIRST_SEEN, SEEN
from teamchat.interfaces import Transaction
from teamchat.mentions.activity.noting import added_id
from teamchat.mentions.activity.tables import KEPT_MS
from teamchat.mentions.everybody import CONCERNS, JOINED
from teamchat.model import Caller, now_ms
from teamchat.read_state.positions import moment
from teamchat.storage.statements import chunks

KINDS = ("mention", "reply", "reaction", "added", "reminder")
LAST = "g"
"""Greater than every id."""

# What is hidden is passed over where it is found: who has left a place may have thousands of items there.
_WITH_ROOM = """join rooms r on r.id = m.room_id
left join memberships mine on mine.room_id = r.id and mine.user_id = $1"""
_IS_SEEN = f"{SEEN} and coalesce(m.parent_id, m.id) >= {FIRST_SEEN}"

# $1 is the user; items are before $2 and after $3, and $4 of them at most.
# What mentions one and everybody is one item, whichever came first and whichever is there still.
_MENTIONS = f"""select o.reached, m.id, m.room_id, m.author_id from read_state_mentions o
join messages m on m.id = o.message_id {_WITH_ROOM}
where o.user_id = $1 and {_IS_SEEN} and o.reached < $2 and o.reached > $3 and (o.is_there = 1 or exists
  (select 1 from read_state_wide w join users u on u.id = $1 {JOINED}
  where w.message_id = o.message_id and w.is_there = 1 and {CONCERNS}))
order by o.reached desc limit $4"""  # noqa: S608
_WIDE = f"""select w.reached, w.message_id, w.room_id, w.author_id from read_state_wide w
join users u on u.id = $1 {JOINED}
where w.is_there = 1 and w.reached < $2 and w.reached > $3 and {CONCERNS}
and not exists (select 1 from read_state_mentions own
  where own.user_id = $1 and own.room_id = w.room_id and own.message_id = w.message_id)
order by w.reached desc limit $4"""  # noqa: S608
# A thread concerns one from when one follows it.
_REPLIES = """select m.id, m.id, m.room_id, m.author_id from threads_states s
join threads t on t.parent_id = s.message_id and t.last_reply_at >= $5
join messages m on m.parent_id = s.message_id and m.id > s.since
where s.user_id = $1 and s.is_following = 1 and m.id < $2 and m.id > $3 and m.author_id <> $1
and not exists (select 1 from read_state_mentions own
  where own.user_id = $1 and own.room_id = m.room_id and own.message_id = m.id and own.is_there = 1)
and (not exists (select 1 from read_state_wide w where w.message_id = m.id and w.is_there = 1)
  or exists (select 1 from notification_levels n
    where n.user_id = $1 and n.room_id = m.room_id and n.ignores_wide = 1))
order by m.id desc limit $4"""
# Of each message the newest, found from the newest on: all that were ever given are not grouped for a page.
_REACTIONS = f"""select a.reached, a.message_id, m.room_id, '' from activity_reactions a
join messages m on m.id = a.message_id {_WITH_ROOM}
where a.author_id = $1 and a.reached < $2 and a.reached > $3 and {_IS_SEEN} and not exists (select 1
  from activity_reactions newer where newer.message_id = a.message_id
  and (newer.reached, newer.user_id, newer.reaction) > (a.reached, a.user_id, a.reaction))
order by a.reached desc limit $4"""  # noqa: S608
_REACTED = """select message_id, user_id, reaction from activity_reactions
where author_id = $1 and message_id in ({}) order by reached desc"""
_ADDED = """select m.room_id, m.added_by, m.joined_at from memberships m join rooms r on r.id = m.room_id
where m.user_id = $1 and m.joined_at >= $2 and m.added_by is not null and m.added_by <> $1
and r.kind in ('channel', 'group')"""

_REMINDERS = """select a.reached, a.message_id, m.room_id from activity_reminders a
join messages m on m.id = a.message_id
where a.user_id = $1 and a.reached < $2 and a.reached > $3 order by a.reached desc limit $4"""


class Found(NamedTuple):
    """An item: its id, and what it is about."""

    id: str
    kind: str
    room_id: str
    message_id: str | None
    actors: Sequence[str]
    reaction: str | None = None


class _Span(NamedTuple):
    """Which items are asked for: those between two ids, so many at most."""

    before: str
    after: str
    limit: int


Source = Callable[[Transaction, str, _Span], Awaitable[list[Found]]]


async def page(
    tx: Transaction, caller: Caller, kinds: Iterable[str], before: str, after: str, limit: int
) -> list[Found]:
    """Return the newest items between two ids that the caller sees, newest first."""
    after, asked = max(after, moment(now_ms() - KEPT_MS)), set(kinds)
    found: list[Found] = []
    most = limit
    while len(found) < limit:
        batch, before = await _batch(tx, caller, asked, _Span(before, after, most))
        found += batch
        if not before:
            break
        most *= 2  # So thousands that a token does not reach are few looks.
    return found[:limit]


async def count(tx: Transaction, caller: Caller, after: str, most: int) -> int:
    """Return how many items there are after an id that the caller sees, `most` at most."""
    return len(await page(tx, caller, KINDS, LAST, after, most))


async def _batch(tx: Transaction, caller: Caller, kinds: set[str], span: _Span) -> tuple[list[Found], str]:
    """Return the next items that the caller sees, and the id before which others may be; "" for none."""
    found: list[Found] = []
    floor = ""
    for kind, source in _SOURCES:
        if kind in kinds:
            items = await source(tx, caller.user.id, span)
            if len(items) >= span.limit:  # There may be more of it, further down.
                floor = max(floor, items[-1].id)
            found += items
    found = sorted((one for one in found if one.id >= floor), key=lambda one: one.id, reverse=True)
    return await _seen(tx, caller, found), floor


async def _seen(tx: Transaction, caller: Caller, found: Sequence[Found]) -> list[Found]:
    messages = sorted({one.message_id for one in found if one.message_id is not None})
    rooms = sorted({one.room_id for one in found if one.message_id is None})
    seen = await sight.messages(tx, caller, messages) | await sight.channels(tx, caller, rooms)
    return [one for one in found if (one.message_id or one.room_id) in seen]


async def _mentions(tx: Transaction, user_id: str, span: _Span) -> list[Found]:
    rows = await tx.fetch(_MENTIONS, user_id, *span)
    return [Found(id_, "mention", room_id, message_id, [by]) for id_, message_id, room_id, by in rows]


async def _wide(tx: Transaction, user_id: str, span: _Span) -> list[Found]:
    rows = await tx.fetch(_WIDE, user_id, *span)
    return [Found(id_, "mention", room_id, message_id, [by]) for id_, message_id, room_id, by in rows]


async def _replies(tx: Transaction, user_id: str, span: _Span) -> list[Found]:
    rows = await tx.fetch(_REPLIES, user_id, *span, now_ms() - KEPT_MS)
    return [Found(id_, "reply", room_id, message_id, [by]) for id_, message_id, room_id, by in rows]


async def _reactions(tx: Transaction, user_id: str, span: _Span) -> list[Found]:
    rows = await tx.fetch(_REACTIONS, user_id, *span)
    reacted: dict[str, list[tuple[str, str]]] = {}
    for marks, piece in chunks([message_id for _, message_id, *_ in rows], after=1):
        for message_id, by, reaction in await tx.fetch(_REACTED.format(marks), user_id, *piece):
            reacted.setdefault(message_id, []).append((by, reaction))
    return [
        Found(
            id_,
            "reaction",
            room_id,
            message_id,
            list(dict.fromkeys(by for by, _ in reacted[message_id])),
            reacted[message_id][0][1],
        )
        for id_, message_id, room_id, _ in rows
    ]


async def _added(tx: Transaction, user_id: str, span: _Span) -> list[Found]:
    rows = await tx.fetch(_ADDED, user_id, now_ms() - KEPT_MS)
    found = [Found(added_id(room, at), "added", room, None, [by]) for room, by, at in rows]
    between = [one for one in found if span.after < one.id < span.before]
    return sorted(between, key=lambda one: one.id, reverse=True)[: span.limit]


async def _reminders(tx: Transaction, user_id: str, span: _Span) -> list[Found]:
    rows = await tx.fetch(_REMINDERS, user_id, *span)
    return [Found(id_, "reminder", room_id, message_id, []) for id_, message_id, room_id in rows]


_SOURCES: Sequence[tuple[str, Source]] = (
    ("mention", _mentions),
    ("mention", _wide),
    ("reply", _replies),
    ("reaction", _reactions),
    ("added", _added),
    ("reminder", _reminders),
)
