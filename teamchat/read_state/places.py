"""The places that a user is a member of, and how much is unread there (extensions D-1, D-4).

Nothing here is counted ahead: a count is how many messages of others the user sees after their position, as
the index has them at the moment of the transaction that asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from msgspec import UNSET, Struct, UnsetType

from teamchat.chat.sight import FIRST_SEEN
from teamchat.interfaces import Transaction
from teamchat.model import Caller
from teamchat.read_state import mentioned
from teamchat.read_state.levels.levels import NOTHING_CHOSEN, Choice, Chosen
from teamchat.read_state.positions import Mark, began_by_default, began_by_joining, moment
from teamchat.read_state.tables import BEGINNING, COUNTED_UP_TO, NEWEST
from teamchat.storage.statements import chunks, listed

_COLUMNS = f"""r.id, r.kind, r.archived_at, r.is_default, {{seen}}, {{since}}, {{joined}}, {NEWEST},
rr.base, rr.default_base, rr.first_epoch, rr.next_generation, rr.changed,
s.position, s.generation, s.is_marked, s.changed, s.began,
n.level, n.is_muted, n.muted_until, n.ignores_wide, n.changed,
gone.generation, (select created_at from users where id = $1)"""  # noqa: S608
_STATE = """left join read_state_rooms rr on rr.room_id = r.id
left join read_state s on s.room_id = r.id and s.user_id = $1
left join notification_levels n on n.room_id = r.id and n.user_id = $1
left join read_state_left gone on gone.room_id = r.id and gone.user_id = $1"""
# Two ways to be a member, each from an index: by a row, and of a default room without one. Who was removed
# since a request came has no row either.
_MINE = f"""select {_COLUMNS.format(seen=FIRST_SEEN, since="mine.since_epoch", joined="mine.joined_at")}
from memberships mine join rooms r on r.id = mine.room_id {_STATE} where mine.user_id = $1 {{only}}
union all select {_COLUMNS.format(seen="r.public_from", since="0", joined="0")}
from rooms r {_STATE} where r.is_default = 1
and exists (select 1 from users where id = $1 and removed_at is null)
and not exists (select 1 from memberships m where m.room_id = r.id and m.user_id = $1)
and not exists (select 1 from departures d where d.room_id = r.id and d.user_id = $1) {{only}}"""  # noqa: S608
_ALL, _ONE = _MINE.format(only=""), _MINE.format(only="and r.id = $2")
# Ids of messages begin with their time: from `after` on the index is read in order, and no further than told.
_COUNT = """with asked(room_id, after, first_seen) as (values {})
select a.room_id, (select count(*) from (select 1 from messages m where m.room_id = a.room_id
and m.parent_id is null and m.id > a.after and m.id >= a.first_seen and m.author_id <> $1 limit {}) found)
from asked a"""


_OF_OTHERS = """select id, room_id from messages where id in ({})
and parent_id is null and author_id <> $1"""


class ReadState(Struct, frozen=True, rename="camel"):
    """How far a user has read in a place, and what is unread there.

    `mention_count` is 0 where nobody can be mentioned. `muted_until` is in epoch milliseconds; one that has
    passed is none, and the place is not muted. `ignore_channel_mentions` is there, and true, where that was
    chosen.
    """

    place_id: str
    kind: str
    position: str
    generation: int
    is_marked_unread: bool
    unread_count: int
    last_message_id: str | None
    mention_count: int = 0
    level: Chosen = "default"
    is_muted: bool = False
    muted_until: int | None = None
    ignore_channel_mentions: bool | UnsetType = UNSET


class Place(NamedTuple):
    """A room that a user is a member of. `newest` is the newest message there that they see, and no reply.

    `began` is the position at which their membership did.
    """

    id: str
    kind: str
    is_archived: bool
    first_seen: str
    newest: str | None
    mark: Mark
    began: str
    choice: Choice
    changed: int | None
    """When the mark, the choice or the membership changed last; None if nobody has noted it yet."""

    @classmethod
    def of(cls, row: Sequence[Any]) -> Self:
        """Return the place of a row of `_MINE`."""
        (id_, kind, archived_at, is_default, first_seen, since, joined_at, newest,
         base, default_base, first_epoch, generation, room_changed, position, own_generation, is_marked,
         changed, began, level, is_muted, muted_until, ignores_wide, chosen_at, ended,
         user_made_at) = row  # fmt: skip
        fresh = max(generation or 0, 0 if ended is None else ended + 1)  # Newer than what has ended.
        if position is not None:
            mark = Mark(position, own_generation, bool(is_marked))
        elif base is None:
            mark = Mark(newest or BEGINNING, fresh)  # Brought in a moment ago, by an import.
        elif is_default:
            mark = Mark(began_by_default(user_made_at, default_base), fresh)
        else:
            mark = Mark(base if since <= first_epoch else max(base, moment(joined_at)), fresh)
        if began is None and base is not None:
            began = (
                began_by_default(user_made_at, default_base)
                if is_default
                else began_by_joining(joined_at, since, base, first_epoch)
            )
        return cls(
            id_,
            kind,
            archived_at is not None,
            first_seen,
            newest if newest is not None and newest >= first_seen else None,
            mark,
            began or BEGINNING,
            NOTHING_CHOSEN if level is None else Choice.of((level, is_muted, muted_until, ignores_wide)),
            None if room_changed is None else max(room_changed, changed or 0, chosen_at or 0),
        )

    @property
    def position(self) -> str:
        """The position as it is told: never the id of a message that they don't see (extension rule X-2)."""
        return self.mark.position if self.mark.position >= self.first_seen else BEGINNING

    @property
    def may_have_unread(self) -> bool:
        """Whether there is anything after the position; in an archived place nothing counts (B-6)."""
        return not self.is_archived and self.newest is not None and self.newest > self.mark.position


async def places_of(tx: Transaction, user_id: str) -> list[Place]:
    """Return every place that a user is a member of, archived ones too, in the order of their ids.

    In whichever order a database comes upon them it may tell what else there is (extension rule X-3).
    """
    return sorted([Place.of(row) for row in await tx.fetch(_ALL, user_id)], key=lambda place: place.id)


async def place_of(tx: Transaction, user_id: str, room_id: str) -> Place | None:
    """Return one of them, or None."""
    rows = await tx.fetch(_ONE, user_id, room_id)
    return Place.of(rows[0]) if rows else None


async def states_of(
    tx: Transaction,
    user_id: str,
    places: Iterable[Place],
    *,
    but: Collection[str] = (),
    with_threads: bool = True,
) -> list[ReadState]:
    """Return the read states of places as they are in this transaction.

    In those of `but`, by their ids, what is unread is not counted, and `unread_count` is 0. Without
    `with_threads` nothing is asked of threads: in none that the user stands in is anything unread.
    """
    places = list(places)
    counts = await _count(tx, user_id, [one for one in places if one.may_have_unread and one.id not in but])
    mentions = await mentioned.in_places(tx, user_id, places, with_threads=with_threads)
    return [_state(place, counts.get(place.id, 0), mentions.get(place.id, 0)) for place in places]


def _state(place: Place, unread: int, mentions: int) -> ReadState:
    _, generation, is_marked = place.mark
    level, is_muted, muted_until, ignores_wide = place.choice
    # By position: names would cost as much again as all the rest.
    return ReadState(
        place.id,
        place.kind,
        place.position,
        generation,
        is_marked,
        unread,
        place.newest,
        mentions,
        level,
        is_muted,
        muted_until,
        ignores_wide or UNSET,
    )


async def unread_among(tx: Transaction, caller: Caller, ids: Sequence[str], _: str) -> set[str]:
    """Return those of these messages, which the caller sees, that count as unread."""
    found: set[str] = set()
    places: dict[str, Place | None] = {}
    for marks, piece in chunks(ids, after=1):
        for id_, room_id in await tx.fetch(_OF_OTHERS.format(marks), caller.user.id, *piece):
            if room_id not in places:
                places[room_id] = await place_of(tx, caller.user.id, room_id)
            place = places[room_id]
            if place is not None and not place.is_archived and id_ > place.mark.position:
                found.add(id_)
    return found


async def _count(tx: Transaction, user_id: str, places: Sequence[Place]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    asked = [(one.id, one.mark.position, one.first_seen) for one in places]
    for rows, parameters in listed(asked, after=1):
        counts.update(await tx.fetch(_COUNT.format(rows, COUNTED_UP_TO), user_id, *parameters))
    return counts
