"""Whether some order explains all that was answered and told of what one user has read in one place.

That is the place itself, and its threads.

The log gives the order of what happened in the place.  What the user's devices did to its read state took
effect at one moment between request and answer, and what they were told held at one moment too: where it
says as of which event, just after that one.  So every order that is possible is tried, and one must be right.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.races.reading.moves import moved, read, read_thread, set_following, unread, unread_thread
from tests.races.reading.place import Place
from tests.races.reading.state import Mark, State

FOREVER = 1 << 60
MOST_MOMENTS = 20_000
"""How many moments are looked at for further orders, where there is one that explains everything."""


@dataclass(eq=False)
class Change:
    """A request to move a mark: when it was sent and answered, and how.

    `kind` is ``read`` or ``unread``, and of a thread, `parent`, also ``follow`` or ``forsake``.
    """

    start: int
    end: int
    kind: str
    position: str
    generation: int | None
    status: int
    is_changed: bool | None = None
    is_of_many: bool = False
    parent: str = ""


@dataclass(eq=False)
class Look:
    """What was told of a read state: None if the place was not among those that were listed, or not there.

    With `parent` it is the state of that thread, and with `threads` those of all that are followed, by their
    parents.  It held as of the event `as_of`, or at some moment after the change it answers.
    """

    start: int
    end: int
    told: dict[str, Any] | None
    is_listed: bool = True
    as_of: int | None = None
    answers: Change | None = None
    parent: str = ""
    threads: dict[str, dict[str, Any]] | None = None
    are_unread: bool = False


class Happened(NamedTuple):
    """An event of the log, with when it was asked for and answered, as far as that is known.

    `for_whom` is the one user it is told, if it is one.
    """

    seq: int
    kind: str
    payload: dict[str, Any]
    for_whom: str = ""
    start: int = 0
    end: int = FOREVER


class _Moment(NamedTuple):
    """How far an order has come: so many events, these changes and looks, and this state after them."""

    events: int
    taken: int
    state: State


@dataclass
class Track:
    """One user's read state in one place. `places` is the place before the first event and after each."""

    user: str
    events: Sequence[Happened]
    places: Sequence[Place]
    items: list[Change | Look] = field(default_factory=list)
    last: State = field(default_factory=lambda: State(Mark()))
    """What the user has read after all of it, once that is explained."""

    def explained(self) -> str | None:
        """Return None if an order explains everything, else how far the best one came, and what was left."""
        self._prepare()
        # Who is no member yet may begin with any generation.
        self._best = _Moment(0, 0, State(Mark(least=0 if self.places[0].has(self.user) else -1)))
        self._ends = self._search(self._best)
        for state in self._ends:
            self.last = state
            return None
        return self._told(self._best)

    def others(self) -> Iterator[State]:
        """Yield what else the user may have read after all of it: by other orders, which are as good."""
        return self._ends

    def _search(self, begin: _Moment) -> Iterator[State]:
        """Yield the state after everything, for each order in which that is what was told."""
        todo, seen, left = [begin], set[_Moment](), FOREVER
        everything = (1 << len(self.items)) - 1
        while todo and left:
            moment = todo.pop()
            if moment in seen:
                continue
            seen.add(moment)
            left -= 1
            if moment.events == len(self.events) and moment.taken == everything:
                yield moment.state
                left = min(left, MOST_MOMENTS)
            self._best = max(self._best, moment, key=lambda one: one.events + one.taken.bit_count())
            todo += self._next(moment)

    def _prepare(self) -> None:
        seqs = [event.seq for event in self.events]
        self._when: list[tuple[int, int]] = []
        self._before: list[int] = []
        self._needed: list[int] = []
        for item in self.items:
            if isinstance(item, Look) and item.as_of is not None:
                exact = bisect_right(seqs, item.as_of)
                self._when.append((exact, exact))
            else:
                least = max((n for n, one in enumerate(self.events, 1) if one.end < item.start), default=0)
                most = min((n for n, one in enumerate(self.events) if one.start > item.end), default=FOREVER)
                self._when.append((least, most))
            mask = 0
            for number, other in enumerate(self.items):
                is_own = isinstance(item, Look) and item.answers is other
                mask |= (other.end < item.start or is_own) << number
            self._before.append(mask)
        for event in self.events:
            ended = (item.end < event.start for item in self.items)
            self._needed.append(sum(is_over << number for number, is_over in enumerate(ended)))

    def _next(self, moment: _Moment) -> list[_Moment]:
        """Return what can follow: an event, a change, or all that was told of it as it is."""
        events, taken, state = moment
        found: list[_Moment] = []
        for number, item in enumerate(self.items):
            least, most = self._when[number]
            is_ready = not taken >> number & 1 and not self._before[number] & ~taken
            if not (is_ready and least <= events <= most):
                continue
            then = (
                self._changed(item, events, most, state)
                if isinstance(item, Change)
                else self._seen(item, events, state)
            )
            for after in then:
                moment = _Moment(events, taken | 1 << number, after)
                if isinstance(item, Look) and after == state:
                    return [moment]  # It changes nothing: no order is lost by taking it at once.
                found.append(moment)
        if events < len(self.events) and not self._needed[events] & ~taken:
            event, places = self.events[events], self.places
            for after in moved(
                self.user, state, places[events], places[events + 1], event.kind, event.payload
            ):
                found.append(_Moment(events + 1, taken, after))
        return found

    def _changed(self, item: Change, events: int, most: int, state: State) -> Iterator[State]:
        """Yield what the state may be after a request; one that was refused may have done nothing."""
        place = self.places[events]
        if not self._can(item, events):
            refused = {403 if place.kind == "direct" else 404}
            if self.user not in place.everyone:
                refused.add(401)  # Who was let in before they were removed is in no place.
            if item.status in refused or (item.is_of_many and item.status == 200):
                yield state
            return
        # What was done is answered by a look at it: who sees it no more by then is answered 404.
        later = range(events + 1, min(most, len(self.events)) + 1)
        is_lost = item.status in (401, 404) and any(not self._can(item, when) for when in later)
        if item.status == 200 or is_lost:
            for after in _moves(item, place, self.user, state):
                if is_lost or item.is_changed in (None, after != state):
                    yield after

    def _can(self, item: Change, events: int) -> bool:
        place = self.places[events]
        return place.sees_message(self.user, item.parent) if item.parent else place.has(self.user)

    def _seen(self, look: Look, events: int, state: State) -> Iterator[State]:
        """Yield the state if what was told is what it was then, with the generation that was told."""
        place, told, mark = self.places[events], look.told, state.mark
        if look.threads is not None:
            if self._are_threads(look.threads, events, state, are_unread=look.are_unread):
                yield state
            return
        if look.parent:
            # A change may be answered after its user was removed, who follows nothing then.
            is_gone = look.answers is not None and self.user not in place.everyone
            if told is not None and (
                (is_gone and not told["following"]) or self._is_thread(look.parent, told, events, state)
            ):
                yield state
            return
        is_there = place.has(self.user) and not (look.is_listed and place.is_archived)
        if told is None or not is_there:
            if told is None and not is_there:
                yield state
            return
        generation, position = told["generation"], told["position"]
        is_right = (
            (generation >= mark.least if mark.generation is None else generation == mark.generation)
            and told["kind"] == place.kind
            and told["unreadCount"] == place.unread(self.user, mark.position)
            and told["mentionCount"] == place.mentioned(self.user, state)
            and told["isMarkedUnread"] == mark.is_marked
            and told["lastMessageId"] == place.newest(self.user)
            and place.is_same(self.user, position, mark.position)
            and _chosen(told) == place.choice(self.user)
        )
        if is_right:
            yield state._replace(mark=mark._replace(generation=generation))

    def _is_thread(self, parent: str, told: dict[str, Any], events: int, state: State) -> bool:
        place, thread = self.places[events], state.thread(parent)
        if not place.sees_message(self.user, parent):
            return False
        newest = place.newest_in(parent)
        return (
            told["following"] == state.follows(parent)
            and told["generation"] == (0 if thread is None else thread.generation)
            and told["unreadCount"] == place.unread_in(self.user, parent, state)
            and told["mentionCount"] == place.mentioned_in(self.user, parent, state)
            and told["lastReplyAt"] == (None if newest is None else place.replies[newest].at)
            and place.is_same(self.user, told["position"], place.position_in(parent, state))
        )

    def _are_threads(
        self, told: dict[str, dict[str, Any]], events: int, state: State, *, are_unread: bool
    ) -> bool:
        """Whether these are the threads that somebody follows and sees, or those with something unread."""
        place = self.places[events]
        followed = {
            parent
            for parent, thread in state.threads
            if thread.is_following and place.replies_to(parent) and place.sees_message(self.user, parent)
            if not are_unread or place.unread_in(self.user, parent, state)
        }
        return told.keys() == followed and all(
            self._is_thread(parent, one, events, state) for parent, one in told.items()
        )

    def _told(self, best: _Moment) -> str:
        place = self.places[best.events]
        unread = place.unread(self.user, best.state.mark.position)
        newest = [place.newest(self.user), unread, place.mentioned(self.user, best.state)]
        left = [one for number, one in enumerate(self.items) if not best.taken >> number & 1]
        events = [f"{one.seq} {one.kind} {one.payload}" for one in self.events]
        return "\n".join(
            [
                f"{self.user}: {best.state}, newest, unread and mentions {newest}, "
                f"a member: {place.has(self.user)}, {place.choice(self.user)}",
                f"after {best.events} events of",
                *events,
                f"of {len(self.items)} left:",
                *map(str, left[:6]),
                "all:",
                *map(str, self.items),
            ]
        )


def _chosen(told: dict[str, Any]) -> tuple[Any, ...]:
    return told["level"], told["isMuted"], told.get("ignoreChannelMentions", False)


def _moves(item: Change, place: Place, user: str, state: State) -> Iterator[State]:
    if item.parent:
        yield _thread_moved(item, place, state)
        return
    mark = state.mark
    if item.kind == "unread":
        yield state._replace(mark=unread(place, user, mark, item.position))
        return
    known, now = item.generation, mark.generation
    is_unsure = known is not None and now is None and known >= mark.least
    if known is not None and (is_unsure or known < (mark.least if now is None else now)):
        yield state
    if known is None or is_unsure or known >= (mark.least if now is None else now):
        yield state._replace(mark=read(place, user, mark, item.position))


def _thread_moved(item: Change, place: Place, state: State) -> State:
    if item.kind == "read":
        return read_thread(place, state, item.parent, item.position, item.generation)
    if item.kind == "unread":
        return unread_thread(place, state, item.parent, item.position)
    return set_following(place, state, item.parent, is_following=item.kind == "follow")
