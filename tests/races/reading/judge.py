"""Whether some order explains all that was answered and told of one user's read state in one place.

The log gives the order of what happened in the place.  What the user's devices did to its read state took
effect at one moment between request and answer, and what they were told held at one moment too: where it
says as of which event, just after that one.  So every order that is possible is tried, and one must be right.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.races.reading.model import Mark, Place, moved, read, unread

FOREVER = 1 << 60


@dataclass(eq=False)
class Change:
    """A request to move a mark: when it was sent and answered, and how."""

    start: int
    end: int
    kind: str
    position: str
    generation: int | None
    status: int
    is_changed: bool | None = None
    is_of_many: bool = False


@dataclass(eq=False)
class Look:
    """What was told of a read state: None if the place was not among those that were listed, or not there.

    It held as of the event `as_of`, or at some moment after the change it answers.
    """

    start: int
    end: int
    told: dict[str, Any] | None
    is_listed: bool = True
    as_of: int | None = None
    answers: Change | None = None


class Happened(NamedTuple):
    """An event of the log, with when it was asked for and answered, as far as that is known."""

    seq: int
    kind: str
    payload: dict[str, Any]
    start: int = 0
    end: int = FOREVER


class _Moment(NamedTuple):
    """How far an order has come: so many events, these changes and looks, and this mark after them."""

    events: int
    taken: int
    mark: Mark


@dataclass
class Track:
    """One user's read state in one place. `places` is the place before the first event and after each."""

    user: str
    events: Sequence[Happened]
    places: Sequence[Place]
    items: list[Change | Look] = field(default_factory=list)

    def explained(self) -> str | None:
        """Return None if an order explains everything, else how far the best one came, and what was left."""
        self._prepare()
        # Who is no member yet may begin with any generation.
        best = _Moment(0, 0, Mark(least=0 if self.places[0].has(self.user) else -1))
        todo, seen = [best], set[_Moment]()
        everything = (1 << len(self.items)) - 1
        while todo:
            moment = todo.pop()
            if moment in seen:
                continue
            seen.add(moment)
            if moment.events == len(self.events) and moment.taken == everything:
                return None
            best = max(best, moment, key=lambda one: one.events + one.taken.bit_count())
            todo += self._next(moment)
        return self._told(best)

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
        events, taken, mark = moment
        found: list[_Moment] = []
        for number, item in enumerate(self.items):
            least, most = self._when[number]
            is_ready = not taken >> number & 1 and not self._before[number] & ~taken
            if not (is_ready and least <= events <= most):
                continue
            then = (
                self._changed(item, events, mark)
                if isinstance(item, Change)
                else self._seen(item, events, mark)
            )
            for after in then:
                moment = _Moment(events, taken | 1 << number, after)
                if isinstance(item, Look) and after == mark:
                    return [moment]  # It changes nothing: no order is lost by taking it at once.
                found.append(moment)
        if events < len(self.events) and not self._needed[events] & ~taken:
            after = moved(self.user, mark, self.places[events], self.places[events + 1])
            found.append(_Moment(events + 1, taken, after))
        return found

    def _changed(self, item: Change, events: int, mark: Mark) -> Iterator[Mark]:
        place = self.places[events]
        if not place.has(self.user):
            refused = {403 if place.kind == "direct" else 404}
            if self.user not in place.everyone:
                refused.add(401)  # Who was let in before they were removed is in no place.
            if item.status in refused or (item.is_of_many and item.status == 200):
                yield mark
            return
        if item.status == 200:
            for after in _moves(item, place, self.user, mark):
                if item.is_changed in (None, after != mark):
                    yield after

    def _seen(self, look: Look, events: int, mark: Mark) -> Iterator[Mark]:
        """Return the mark if what was told is what it was then, with the generation that was told."""
        place, told = self.places[events], look.told
        is_there = place.has(self.user) and not (look.is_listed and place.is_archived)
        if told is None or not is_there:
            if told is None and not is_there:
                yield mark
            return
        generation, position = told["generation"], told["position"]
        is_right = (
            (generation >= mark.least if mark.generation is None else generation == mark.generation)
            and told["kind"] == place.kind
            and told["unreadCount"] == place.unread(self.user, mark.position)
            and told["mentionCount"] == place.mentioned(self.user, mark.position)
            and told["isMarkedUnread"] == mark.is_marked
            and told["lastMessageId"] == place.newest(self.user)
            and place.is_same(self.user, position, mark.position)
        )
        if is_right:
            yield mark._replace(generation=generation)

    def _told(self, best: _Moment) -> str:
        place = self.places[best.events]
        newest = [place.newest(self.user), place.unread(self.user, best.mark.position)]
        left = [one for number, one in enumerate(self.items) if not best.taken >> number & 1]
        events = [f"{one.seq} {one.kind} {one.payload}" for one in self.events]
        return "\n".join(
            [
                f"{self.user}: {best.mark}, newest and unread {newest}, a member: {place.has(self.user)}",
                f"after {best.events} events of",
                *events,
                f"of {len(self.items)} left:",
                *map(str, left[:6]),
                "all:",
                *map(str, self.items),
            ]
        )


def _moves(item: Change, place: Place, user: str, mark: Mark) -> Iterator[Mark]:
    if item.kind == "unread":
        yield unread(place, user, mark, item.position)
        return
    known, now = item.generation, mark.generation
    is_unsure = known is not None and now is None and known >= mark.least
    if known is not None and (is_unsure or known < (mark.least if now is None else now)):
        yield mark
    if known is None or is_unsure or known >= (mark.least if now is None else now):
        yield read(place, user, mark, item.position)
