"""Which messages may match, newest first, wherever they are found.

Three sources make up all messages: the index, from the id `State.filled_from` on; what changed after the
event that the index has come to (the tail); and what no index has yet, which is looked at message by
message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from teamchat import Corpus, Said, Transaction
from teamchat.model import Caller
from teamchat_search import tokens
from teamchat_search.asking import Plan
from teamchat_search.grams import asked as asked_grams
from teamchat_search.index import ABOVE_ALL, GRAMS_OF_A_ROOM, MADE_BY, MOST_TAIL, Found, Index, Reach, State
from teamchat_search.tokens import (
    EVERYBODY,
    MARGIN_MS,
    Asked,
    first_id,
    first_number,
    milliseconds_in,
    milliseconds_of,
)

_FIRST = first_id(0)
_FIRST_PIECE, _MOST_PIECE = 64, 256
_SCANNED = 256
_WEIGHED, _MOST_WEIGHED = 24, 24


class Page(NamedTuple):
    """Messages that may match, newest first; none with an id of `floor` or more is to come."""

    ids: Sequence[str]
    floor: str
    said: Mapping[str, Said] | None = None
    """The messages themselves, if they were read already; those that the caller does not see are missing."""

    def pieces(self) -> Iterator[Page]:
        """Cut it into smaller ones: often the first is enough."""
        start, size = 0, _FIRST_PIECE
        while len(self.ids) - start > size:
            ids = self.ids[start : start + size]
            yield Page(ids, ids[-1], self.said)
            start, size = start + size, _MOST_PIECE
        yield Page(self.ids[start:], self.floor, self.said)


class Candidates:
    """Finds them for one question."""

    def __init__(
        self, corpus: Corpus, index: Index | None, tx: Transaction, caller: Caller, plan: Plan, log_start: int
    ) -> None:
        """Take where to look; `log_start` is the first event that the log holds still."""
        self._corpus, self._index, self._tx, self._caller, self._plan = corpus, index, tx, caller, plan
        self._log_start = log_start
        self._tail: Sequence[str] = ()
        self._whole: dict[int, Sequence[Found]] = {}
        # What is left to look through, from an id to before another: in the index, and without one.
        self._indexed: tuple[str, str] | None = None
        self._scanned: tuple[str, str] | None = None

    async def begin(self, before: str) -> None:
        """Begin with the messages whose ids are less than `before`."""
        if self._plan.rooms is not None and not self._plan.rooms:
            return
        state, self._tail = await self._state()
        filled_from = min(before, state.filled_from)
        if filled_from < before:
            classes = await self._classes()
            first, end = await self._bounds(classes)
            down_to, before = max(first, filled_from), min(end, before)
            if down_to < before:
                await self._begin_index(before, down_to, classes)
        # Of what no index has, nobody knows whether ids say when it was posted.
        if filled_from > _FIRST:
            self._scanned = _FIRST, filled_from

    async def _bounds(self, classes: Sequence[str]) -> tuple[str, str]:
        """Return from which id on, and before which, all is that the index or the tail has of the times."""
        assert self._index is not None  # noqa: S101
        first, last = self._plan.times
        begin = first_id(first - MARGIN_MS)
        end = first_id(last + MARGIN_MS) if last < tokens.MOST_MS else ABOVE_ALL
        if (begin, end) == (_FIRST, ABOVE_ALL):
            return begin, end
        adrift = list(await self._index.adrift(self._tx, first, last, [EVERYBODY, *classes]))
        others = [one for one in self._tail if not begin <= one < end]
        for said, _ in await self._corpus.with_class(self._tx, others):
            if first <= said.created_at < last:
                adrift.append(said.id)
        return min([begin, *adrift]), max([end, *(f"{one}0" for one in adrift)])

    async def page(self) -> Page | None:
        """Return the next page, or None after the last."""
        if self._indexed is not None:
            return await self._indexed_page(*self._indexed)
        if self._scanned is not None:
            return await self._scanned_page(*self._scanned)
        return None

    async def _state(self) -> tuple[State, Sequence[str]]:
        """Return how far the index has come, and the messages of the tail; or that it can't be used."""
        nothing = State("", 0, ABOVE_ALL, 0)
        if self._index is None or not await self._index.is_there(self._tx):
            return nothing, ()
        state = await self._index.state(self._tx)
        if state.made_by != MADE_BY:
            return nothing, ()
        events = await self._corpus.changed(self._tx, state.position, 1 << 62, MOST_TAIL + 1)
        # What was imported has no events of its own. Where events left the log unheard, others are missing.
        is_whole = self._log_start <= state.position + 1
        if len(events) > MOST_TAIL or not is_whole or any(kind == "RESYNC" for _, kind, _ in events):
            return nothing, ()
        return state, sorted({id_ for _, _, id_ in events if id_ is not None}, reverse=True)

    async def _begin_index(self, before: str, down_to: str, classes: Sequence[str]) -> None:
        assert self._index is not None  # noqa: S101
        self._chunks = await self._asked(classes)
        self._stop = first_number(milliseconds_in(down_to))
        self._upper = (1 << 62) if before == ABOVE_ALL else first_number(milliseconds_in(before) + 1) - 1
        self._reach = self._index.first
        self._indexed = down_to, before

    async def _indexed_page(self, down_to: str, ceiling: str) -> Page:
        found, self._upper, floor = await self._page(self._upper)
        floor = max(floor, down_to)
        self._indexed = (down_to, floor) if floor > down_to else None
        ids = {id_ for id_ in (*found, *self._tail) if floor <= id_ < ceiling}
        return Page(sorted(ids, reverse=True), floor)

    async def _page(self, upper: int) -> tuple[Sequence[str], int, str]:
        """Return ids, the number to go on with, and the bound down to which they are all that there are."""
        assert self._index is not None  # noqa: S101
        stop, reach = self._stop, self._reach
        while True:
            lower = stop
            if reach.window is not None:
                lower = max(stop, await self._index.floor(self._tx, upper, reach.window))
            found: list[Found] = []
            cut = lower
            for number in range(len(self._chunks)):
                rows = await self._rows(number, lower, upper, reach)
                found += [one for one in rows if one.number >= lower]
                if len(rows) == reach.limit and number not in self._whole:
                    cut = max(cut, rows[-1].number)
            self._reach = self._index.after(reach, len(found))
            if cut <= stop:
                return [one.id for one in found], stop - 1, ""
            # Within one millisecond numbers are in no order: it is left whole for the next page.
            at = milliseconds_of(cut) + 1
            if at <= tokens.MOST_MS and first_number(at) <= upper:
                bound = first_number(at)
                return [one.id for one in found if one.number >= bound], bound - 1, first_id(at)
            reach = Reach(None if reach.window is None else 4 * reach.window, 4 * reach.limit)

    async def _rows(self, number: int, lower: int, upper: int, reach: Reach) -> Sequence[Found]:
        """Return what one statement finds: of everybody's messages within a window, else all that there is.

        In private rooms there is little of most words. What was found whole is not asked for again.
        """
        assert self._index is not None  # noqa: S101
        if number in self._whole:
            return [one for one in self._whole[number] if one.number <= upper]
        if number == 0:
            return await self._index.find(self._tx, self._chunks[number], lower, upper, reach)
        rows = await self._index.find(self._tx, self._chunks[number], self._stop, upper, reach)
        if len(rows) < reach.limit:
            self._whole[number] = rows
        return rows

    async def _asked(self, own: Sequence[str]) -> Sequence[Sequence[Asked]]:
        """Return what the index is asked, in as many statements as that takes."""
        plan = self._plan
        assert self._index is not None  # noqa: S101
        grams = [gram for term in plan.terms.wanted for gram in asked_grams(term)]
        lists = [] if plan.authors is None else [[tokens.by(one) for one in sorted(plan.authors)]]
        rooms = [] if plan.rooms is None else [[tokens.within(one) for one in sorted(plan.rooms)]]
        most = self._index.most_classes
        everybody = Asked(EVERYBODY, grams, [*lists, *rooms])
        if most is None:
            return [[everybody, *(Asked(one, grams, lists) for one in own)]]
        few = await self._rarest(grams) if own else []
        of_rooms = [Asked(one, few, lists) for one in own]
        return [
            [everybody],
            *(of_rooms[start : start + most] for start in range(0, len(of_rooms), most)),
        ]

    async def _rarest(self, grams: Sequence[str]) -> Sequence[str]:
        """Return those grams that narrow best, going by the newest messages that everybody sees.

        Each of them is looked up in each of the caller's rooms; what they let through is checked anyway.
        """
        assert self._index is not None  # noqa: S101
        if len(grams) <= GRAMS_OF_A_ROOM:
            return grams
        weights: list[tuple[int, str]] = []
        for gram in sorted(set(grams))[:_MOST_WEIGHED]:
            asked = [Asked(EVERYBODY, [gram])]
            found = await self._index.find(self._tx, asked, 0, 1 << 62, Reach(None, _WEIGHED))
            # The further back so many are, the rarer it is.
            weights.append((found[-1].number if len(found) == _WEIGHED else -_WEIGHED + len(found), gram))
        return [gram for _, gram in sorted(weights)[:GRAMS_OF_A_ROOM]]

    async def _classes(self) -> list[str]:
        """Return the classes besides that of everybody in which there may be what the caller sees."""
        own = await self._corpus.own_rooms(self._tx, self._caller)
        classes = {one.id for one in own if one.is_private or one.public_from}
        # What was said there before everybody saw it may stand in the room's own class still.
        moving = await self._tx.fetch("select room_id from search_moving")
        seen = await self._corpus.places(self._tx, self._caller, [room_id for (room_id,) in moving])
        classes |= seen.keys()
        return sorted(classes if self._plan.rooms is None else classes & self._plan.rooms)

    async def _scanned_page(self, down_to: str, before: str) -> Page:
        said, floor = await self._corpus.newest(self._tx, self._caller, before, down_to, _SCANNED)
        self._scanned = None if floor is None else (down_to, floor)
        return Page([one.id for one in said], floor or down_to, {one.id: one for one in said})
