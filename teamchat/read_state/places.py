"""The places that a user is a member of, and how much is unread there (extensions D-1, D-4).

Nothing here is counted ahead: a count is how many messages of others the user sees after their position, as
the index has them at the moment of the transaction that asks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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

_COLUMNS = f"""{{who}}, r.id, r.kind, r.archived_at, r.is_default, {{seen}}, {{since}}, {{joined}}, {NEWEST},
rr.base, rr.default_base, rr.first_epoch, rr.next_generation, rr.changed,
s.position, s.generation, s.is_marked, s.changed, s.began,
n.level, n.is_muted, n.muted_until, n.ignores_wide, n.changed,
gone.generation, (select created_at from users where id = {{who}})"""  # noqa: S608
_STATE = """left join read_state_rooms rr on rr.room_id = r.id
left join read_state s on s.room_id = r.id and s.user_id = {who}
left join notification_levels n on n.room_id = r.id and n.user_id = {who}
left join read_state_left gone on gone.room_id = r.id and gone.user_id = {who}"""
_BY_ROW = {"who": "mine.user_id", "seen": FIRST_SEEN, "since": "mine.since_epoch", "joined": "mine.joined_at"}
_BY_DEFAULT = {"who": "u.id", "seen": "r.public_from", "since": "0", "joined": "0"}
# Two ways to be a member, each from an index: by a row, and of a default room without one. Who was removed
# since a request came has no row either.
_PLACES = f"""select {_COLUMNS.format(**_BY_ROW)}
from memberships mine join rooms r on r.id = mine.room_id {_STATE.format(**_BY_ROW)}
where mine.user_id in ({{users}}) {{only}}
union all select {_COLUMNS.format(**_BY_DEFAULT)}
from rooms r join users u on u.id in ({{users}}) and u.removed_at is null {_STATE.format(**_BY_DEFAULT)}
where r.is_default = 1
and not exists (select 1 from memberships m where m.room_id = r.id and m.user_id = u.id)
and not exists (select 1 from departures d where d.room_id = r.id and d.user_id = u.id) {{only}}"""  # noqa: S608
_ONE = _PLACES.format(users="$1", only="and r.id = $2")
# Ids of messages begin with their time: from `after` on the index is read in order, and no further than told.
_COUNT = """with asked(user_id, room_id, after, first_seen) as (values {})
select a.user_id, a.room_id, (select count(*) from (select 1 from messages m where m.room_id = a.room_id
and m.parent_id is null and m.id > a.after and m.id >= a.first_seen and m.author_id <> a.user_id
limit {}) found) from asked a"""


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
        """Return the place of a row of `_PLACES`, without whose it is."""
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
    return (await places_of_all(tx, [user_id]))[user_id]


async def places_of_all(tx: Transaction, user_ids: Sequence[str]) -> dict[str, list[Place]]:
    """Return the places of each of these users, as `places_of` does."""
    found: dict[str, list[Place]] = {one: [] for one in user_ids}
    for users, piece in chunks(user_ids):
        for user_id, *row in await tx.fetch(_PLACES.format(users=users, only=""), *piece):
            found[user_id].append(Place.of(row))
    for places in found.values():
        places.sort(key=lambda place: place.id)
    return found


async def place_of(tx: Transaction, user_id: str, room_id: str) -> Place | None:
    """Return one of them, or None."""
    rows = await tx.fetch(_ONE, user_id, room_id)
    return Place.of(rows[0][1:]) if rows else None


async def states_of(
    tx: Transaction, user_id: str, places: Sequence[Place], *, but: Collection[str] = ()
) -> list[ReadState]:
    """Return the read states of places as they are in this transaction.

    In those of `but`, by their ids, what is unread is not counted, and `unread_count` is 0.
    """
    return (await states_of_all(tx, {user_id: places}, but=but, readers={user_id}))[user_id]


async def states_of_all(
    tx: Transaction,
    places: Mapping[str, Sequence[Place]],
    *,
    but: Collection[str] = (),
    readers: Collection[str],
) -> dict[str, list[ReadState]]:
    """Return the read states of places by their users, as `states_of` does.

    Of threads of those who are not among `readers` nothing is asked: nothing is unread in any of theirs.
    """
    counts = await _count(tx, places, but)
    mentions = await mentioned.in_places(tx, places, readers)
    return {
        user_id: [
            _state(one, counts.get((user_id, one.id), 0), mentions.get((user_id, one.id), 0)) for one in own
        ]
        for user_id, own in places.items()
    }


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


async def _count(
    tx: Transaction, places: Mapping[str, Sequence[Place]], but: Collection[str]
) -> Mapping[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    asked = [
        (user_id, one.id, one.mark.position, one.first_seen)
        for user_id, own in places.items()
        for one in own
        if one.may_have_unread and one.id not in but
    ]
    for rows, parameters in listed(asked):
        found = await tx.fetch(_COUNT.format(rows, COUNTED_UP_TO), *parameters)
        counts.update({(user_id, room_id): count for user_id, room_id, count in found})
    return counts
