"""Reading and moving a user's own read states.

What was acknowledged is committed (D-12). Then the user's other devices get the state as it is by then, by a
signal that may be lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import asdict

from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import Caller, now_ms
from teamchat.read_state.badge import COUNTS_ALL, badge
from teamchat.read_state.events import ReadStateChanged
from teamchat.read_state.following import BY_DEFAULT, KEPT_MS, move
from teamchat.read_state.marking import Change, Marking, Where
from teamchat.read_state.places import Place, ReadState, places_of, some_places, states_of
from teamchat.read_state.positions import Mark, check_position
from teamchat.read_state.threads import states as threads
from teamchat.read_state.threads.states import ThreadState
from teamchat.storage.log import last_in

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat

MOST_AT_ONCE = 1000
"""How many places are marked as read with one request."""
_SINCE = re.compile(r"([0-9]{1,18})\.([0-9]{1,15})")
# Who came later was never a member of what others were by default.
_LEFT = """select l.room_id from read_state_left l where l.changed > $2 and (l.user_id = $1
or (l.user_id = $3 and l.left_at >= (select u.created_at from users u where u.id = $1)))
union select g.room_id from read_state_gone g where g.changed > $2 and g.members like $4
order by room_id"""


class Overview(NamedTuple):
    """Read states of all places, or of those that have changed, and what has been left since.

    `threads` are those that the user follows and in which something is unread.
    """

    states: Sequence[ReadState]
    left: Sequence[str]
    threads: Sequence[ThreadState]
    badge: int
    mark: str
    as_of: int


class ReadStates:
    """The read states of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._storage = app.storage
        self._marking = Marking(app)

    async def overview(self, caller: Caller, since: str | None) -> Overview:
        """Return the caller's places; with the mark of an earlier answer, those that have changed since.

        A mark of more than 30 days ago is passed over, and all places are returned; so is one of before the
        server was restored from a backup, or whose changes this database has not seen.  Raises `BadRequest`
        for what is no mark.
        """
        marked = _marked(since)
        user_id = caller.user.id
        last = await self._storage.position()
        async with self._storage.read() as tx:
            as_of = await last_in(tx, last)
            [(clock,)] = await tx.fetch("select changes from read_state_clock where id = 1")
            after = marked.change if marked is not None and marked.holds(int(clock), as_of) else None
            places = [one for one in await places_of(tx, user_id) if caller.reaches(one.id)]
            known = set() if after is None else {one.id for one in places if not _has_changed(one, after)}
            # Of what is not told the badge alone is worked out.
            but = {one.id for one in places if one.id in known and one.kind not in COUNTS_ALL}
            states = await states_of(tx, user_id, [one for one in places if not one.is_archived], but=but)
            left = [] if after is None else await _left(tx, user_id, places, after)
            left = [one for one in left if caller.reaches(one)]
            following = await threads.unread_of(tx, user_id)
            if caller.places is not None:
                seen = await self._app.messages(tx, caller, [one.message_id for one in following])
                among = {one.id for one in seen}
                following = [one for one in following if one.message_id in among]
            unread = await threads.states_of(tx, user_id, following)
        number = badge(states, unread)
        told = [state for state in states if state.place_id not in known]
        return Overview(told, left, unread, number, f"{clock}.{now_ms()}", as_of)

    async def check_member(self, caller: Caller, place_id: str) -> None:
        """Raise `NotFound` for a place that the caller is no member of; `Forbidden` as `app.room` does."""
        await self._marking.check(Where(caller, place_id))

    async def state(self, caller: Caller, place_id: str) -> tuple[ReadState, int]:
        """Return one read state, and the number of the event as of which it holds."""
        return await self._marking.tell(Where(caller, place_id))

    async def read(
        self, caller: Caller, place_id: str, position: str, generation: int | None
    ) -> tuple[ReadState, bool]:
        """Note that everything up to a position was shown; return the state, and whether it is another."""

        def change(mark: Mark, newest: str | None) -> Mark:
            check_position("position", position)
            return mark.read(position, generation, newest)

        return await self._moved(caller, place_id, change)

    async def unread(self, caller: Caller, place_id: str, first: str) -> ReadState:
        """Mark a message as unread, and what follows it."""

        def change(mark: Mark, newest: str | None) -> Mark:
            check_position("from", first)
            return mark.unread(first, newest)

        return (await self._moved(caller, place_id, change))[0]

    async def read_all(self, caller: Caller, positions: Mapping[str, str]) -> int:
        """Do what `read` does for many places, and return how many have changed.

        Places that the caller is no member of are passed over: they may have lost them meanwhile.
        """
        if len(positions) > MOST_AT_ONCE:
            raise BadRequest(f"positions has more than {MOST_AT_ONCE} places.")
        for position in positions.values():
            check_position("positions", position)
        async with self._storage.write() as tx:
            places = [
                one
                for one in await places_of(tx, caller.user.id)
                if one.id in positions and caller.reaches(one.id)
            ]
            moved = [(one, one.mark.read(positions[one.id], None, one.newest)) for one in places]
            marks = [(caller.user.id, one.id, mark) for one, mark in moved if mark != one.mark]
            if marks:
                await move(tx, marks)
        if marks:
            await self.notify(caller.user.id, [place_id for _, place_id, _ in marks])
        return len(marks)

    async def _moved(self, caller: Caller, place_id: str, change: Change) -> tuple[ReadState, bool]:
        """Move a mark; return the state as it is then, and notify the caller's devices of a change."""
        is_changed = await self._marking.move(Where(caller, place_id), change)
        state, as_of = await self.state(caller, place_id)
        if is_changed:
            self._send(caller.user.id, state, as_of)
        return state, is_changed

    async def notify(self, user_id: str, place_ids: Sequence[str]) -> None:
        """Notify a user's devices of the states of these places, as they are now."""
        last = await self._storage.position()
        async with self._storage.read() as tx:
            as_of = await last_in(tx, last)
            places = await some_places(tx, [(user_id, one) for one in sorted(place_ids)])
            states = await states_of(tx, user_id, sorted(places.values()))
        for state in states:
            self._send(user_id, state, as_of)

    def _send(self, user_id: str, state: ReadState, as_of: int) -> None:
        self._app.signal(ReadStateChanged(**asdict(state), as_of=str(as_of)), [user_id])


def _has_changed(place: Place, after: int) -> bool:
    return place.changed is None or place.changed > after


async def _left(tx: Transaction, user_id: str, places: Sequence[Place], after: int) -> list[str]:
    """Return what was left since, or archived; not what somebody is in again."""
    there = {one.id for one in places if not one.is_archived}
    archived = [one.id for one in places if one.is_archived and _has_changed(one, after)]
    rows = await tx.fetch(_LEFT, user_id, after, BY_DEFAULT, f'%"{user_id}"%')
    gone = [room_id for (room_id,) in rows if room_id not in there]
    return list(dict.fromkeys(gone + archived))


class _Marked(NamedTuple):
    """The last change that an earlier answer knew of, by its number, and when that answer was given."""

    change: int
    at: int

    def holds(self, clock: int, last: int) -> bool:
        """Whether what has changed since can be told; `clock` is the last change, `last` the last event.

        The log goes on at the time of a restore in microseconds, and grows slower than time does: if it is
        further than the time of the mark, a restore has come in between, and numbers of changes were given
        again.
        """
        return self.change <= clock and last // 1000 <= self.at and now_ms() - self.at < KEPT_MS


def _marked(since: str | None) -> _Marked | None:
    if since is None:
        return None
    found = _SINCE.fullmatch(since)
    if found is None:
        raise BadRequest("since is none that was given out.")
    return _Marked(int(found[1]), int(found[2]))
