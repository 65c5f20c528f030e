"""The places that a user is a member of, and how much is unread there (extensions D-1, D-4).

Nothing is counted in advance: a count is the number of messages of others that the user sees after their
position, from the index, as of the transaction that asks.
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

# What is seldom wanted stands last; what only who has never read there needs is looked up for them alone.
_COLUMNS = f"""{{who}}, r.id, r.kind, r.archived_at, {{seen}}, {NEWEST},
s.position, s.generation, s.is_marked, n.level, n.is_muted, n.muted_until, n.ignores_wide,
rr.changed, s.changed, n.changed,
s.began, r.is_default, {{since}}, {{joined}}, rr.base, rr.default_base, rr.first_epoch, rr.next_generation,
case when s.position is null then (select gone.generation from read_state_left gone
  where gone.room_id = r.id and gone.user_id = {{who}}) end,
case when r.is_default = 1 then (select created_at from users where id = {{who}}) end"""  # noqa: S608
# Where they stand in a row.
_OF_PLACE, _OF_CHOICE, _OF_CHANGES, _OF_BEGINNING = slice(9), slice(9, 13), slice(13, 16), slice(16, None)
_STATE = """left join read_state_rooms rr on rr.room_id = r.id
left join read_state s on s.room_id = r.id and s.user_id = {who}
left join notification_levels n on n.room_id = r.id and n.user_id = {who}"""
_BY_ROW = {"who": "mine.user_id", "seen": FIRST_SEEN, "since": "mine.since_epoch", "joined": "mine.joined_at"}
_BY_DEFAULT = {"who": "u.id", "seen": "r.public_from", "since": "0", "joined": "0"}
# Two ways to be a member, each from an index: by a row, and of a default room without one. Who was removed
# since a request came has no row either.
_MEMBERS = f"""select {_COLUMNS.format(**_BY_ROW)}
from {{rows}} join rooms r on r.id = mine.room_id {_STATE.format(**_BY_ROW)} {{of}}
union all select {_COLUMNS.format(**_BY_DEFAULT)}
from {{defaults}} {_STATE.format(**_BY_DEFAULT)}
where r.is_default = 1 and u.removed_at is null
and not exists (select 1 from memberships m where m.room_id = r.id and m.user_id = u.id)
and not exists (select 1 from departures d where d.room_id = r.id and d.user_id = u.id)"""  # noqa: S608
_PLACES = _MEMBERS.format(
    rows="memberships mine",
    defaults="rooms r join users u on u.id in ({users})",
    of="where mine.user_id in ({users})",
)
_SOME = "with asked(user_id, room_id) as (values {}) " + _MEMBERS.format(
    rows="asked a join memberships mine on mine.user_id = a.user_id and mine.room_id = a.room_id",
    defaults="asked a join rooms r on r.id = a.room_id join users u on u.id = a.user_id",
    of="",
)
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


class _Beginning(NamedTuple):
    """What says where a member stands who has never read in a room, and since when they are in it."""

    began: str | None
    is_default: int
    since: int
    joined_at: int
    base: str | None
    default_base: str
    first_epoch: int
    next_generation: int | None
    ended: int | None
    user_made_at: int

    def mark(self, user_id: str, newest: str | None) -> Mark:
        """Return the mark of a user with none stored: nothing is unread, and it is newer than what ended."""
        generation = max(self.next_generation or 0, 0 if self.ended is None else self.ended + 1)
        if self.base is None:
            return Mark(newest or BEGINNING, generation)  # Brought in a moment ago, by an import.
        if self.is_default:
            return Mark(began_by_default(user_id, self.user_made_at, self.default_base), generation)
        is_first = self.since <= self.first_epoch
        return Mark(self.base if is_first else max(self.base, moment(self.joined_at)), generation)

    def position(self, user_id: str) -> str:
        """Return the position at which the user's membership began."""
        if self.began is not None:
            return self.began
        if self.base is None:
            return BEGINNING
        if self.is_default:
            return began_by_default(user_id, self.user_made_at, self.default_base)
        return began_by_joining(self.joined_at, self.since, self.base, self.first_epoch)


class Place(NamedTuple):
    """A room that a user is a member of. `newest` is the newest message there that they see, and no reply.

    `row` is that of `_COLUMNS`: what few places are asked for is worked out when it is.
    """

    id: str
    kind: str
    is_archived: bool
    first_seen: str
    newest: str | None
    mark: Mark
    choice: Choice
    row: Sequence[Any]

    @classmethod
    def of(cls, row: Sequence[Any]) -> Self:
        """Return the place of a row with `_COLUMNS`."""
        # Somebody's places are some hundred: these lines are most of what asking for all of them takes.
        user_id, id_, kind, archived_at, first_seen, newest, position, generation, is_marked = row[_OF_PLACE]
        choice = row[_OF_CHOICE]
        return cls(
            id_,
            kind,
            archived_at is not None,
            first_seen,
            newest if newest is not None and newest >= first_seen else None,
            _Beginning._make(row[_OF_BEGINNING]).mark(user_id, newest)
            if position is None
            else Mark(position, generation, is_marked == 1),
            NOTHING_CHOSEN if choice[0] is None else Choice.of(choice),
            row,
        )

    @property
    def began(self) -> str:
        """The position at which their membership began."""
        return _Beginning._make(self.row[_OF_BEGINNING]).position(self.row[0])

    @property
    def changed(self) -> int | None:
        """When the mark, the choice or the membership changed last; None if nobody has noted it yet."""
        room, mark, choice = self.row[_OF_CHANGES]
        return None if room is None else max(room, mark or 0, choice or 0)

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
        for row in await tx.fetch(_PLACES.format(users=users), *piece):
            found[row[0]].append(Place.of(row))
    for places in found.values():
        places.sort()  # Ids come first, and differ.
    return found


async def some_places(tx: Transaction, asked: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Place]:
    """Return the places among these, by users and rooms, of which the user is a member."""
    found: dict[tuple[str, str], Place] = {}
    for rows, parameters in listed(asked):
        for row in await tx.fetch(_SOME.format(rows), *parameters):
            found[row[0], row[1]] = Place.of(row)
    return found


async def place_of(tx: Transaction, user_id: str, room_id: str) -> Place | None:
    """Return one of them, or None."""
    return (await some_places(tx, [(user_id, room_id)])).get((user_id, room_id))


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
