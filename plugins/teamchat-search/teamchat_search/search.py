"""Searching messages (extensions F-3 to F-5): after two seconds, what was found by then."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import trio

from teamchat import BadRequest, NotFound, Said, Transaction
from teamchat.model import Caller, Message
from teamchat_search.asking import Plan, Planner, Request, Test, has_link, zone_of
from teamchat_search.candidates import Candidates, Page
from teamchat_search.index import ABOVE_ALL, index_of
from teamchat_search.limits import Limits
from teamchat_search.matching import Place, normals

if TYPE_CHECKING:
    from teamchat import SpeaksDialect, Teamchat

WORK_SECONDS = 2.0
MOST_SCORED = 5000
"""Of how many matches, the newest ones, the best are chosen."""
MOST_RESULTS = 200
_CURSOR = re.compile(r"[0-9a-f]{12,32}|g")
_AT_ONCE = 32
"""How many messages are looked at before others are let in."""


class Where(NamedTuple):
    """The place of a message."""

    id: str
    kind: str
    name: str | None


class Hit(NamedTuple):
    """A message that matches, where it stands, and where in it the terms are."""

    message: Message
    place: Where
    highlights: Sequence[Place]


class Results(NamedTuple):
    """Hits; the cursor to those that follow, or None; and whether all was looked through."""

    hits: Sequence[Hit]
    next: str | None
    is_complete: bool


class _Match(NamedTuple):
    id: str
    score: int


class _Progress:
    """What was found so far, and down to which id everything was looked at."""

    def __init__(self, floor: str) -> None:
        self.matches: list[_Match] = []
        self.floor = floor
        self.is_done = False

    def has(self, wanted: int, best: int | None, most: int) -> bool:
        """Return whether there are so many matches, or so many of the greatest score that there is."""
        if len(self.matches) >= wanted:
            return True
        return best is not None and sum(one.score == most for one in self.matches) >= best


class Search:
    """Searches on one server."""

    def __init__(self, app: Teamchat, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        storage: SpeaksDialect = app.storage  # type: ignore[assignment]
        self._index = index_of(storage.dialect)

    async def check(self, caller: Caller, conversation_id: str | None) -> None:
        """Raise `Forbidden` for a direct conversation of others (decision D-03)."""
        if conversation_id is not None:
            async with self._app.storage.read() as tx:
                with suppress(NotFound):
                    await self._app.conversation(tx, caller, conversation_id)

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Count a search of somebody. Raises `TooManyRequests` for one too many."""
        with self._limits.taken(caller.user.id):
            yield

    async def recent(self, caller: Caller, request: Request, limit: int, cursor: str | None) -> Results:
        """Return the newest matches, `limit` at most, from the cursor on."""
        before = ABOVE_ALL if cursor is None else checked_cursor(cursor)
        plan, progress = await self._work(caller, request, before, limit + 1)
        found, rest = progress.matches[:limit], progress.matches[limit:]
        if rest:
            following: str | None = found[-1].id
        else:
            following = None if progress.is_done else progress.floor
        hits = await self._hits(caller, plan, [one.id for one in found])
        return Results(hits, following, bool(rest) or progress.is_done)

    async def relevance(self, caller: Caller, request: Request, limit: int) -> Results:
        """Return the best of the newest matches."""
        plan, progress = await self._work(caller, request, ABOVE_ALL, MOST_SCORED, best=limit)
        best = sorted(progress.matches, key=lambda one: one.id, reverse=True)
        best.sort(key=lambda one: one.score, reverse=True)
        hits = await self._hits(caller, plan, [one.id for one in best[:limit]])
        return Results(hits, None, progress.is_done)

    async def _work(
        self, caller: Caller, request: Request, before: str, wanted: int, best: int | None = None
    ) -> tuple[Plan, _Progress]:
        """Look for the `wanted` newest matches; with `best` only until so many are as good as can be.

        Those are what stands first by relevance: whatever is older and as good stands behind them.
        """
        zone = zone_of(request.zone)
        progress = _Progress(before)
        async with self._app.storage.read() as tx:
            plan = await Planner(self._app, tx, caller, zone).plan(request)
        log_start, _ = await self._app.storage.log_bounds()
        with trio.move_on_after(WORK_SECONDS):
            async with self._app.storage.read() as tx:
                candidates = Candidates(self._app.corpus, self._index, tx, caller, plan, log_start)
                await candidates.begin(before)
                while (page := await candidates.page()) is not None:
                    for piece in page.pieces():
                        progress.matches += await self._matching(tx, caller, plan, piece, best is not None)
                        progress.floor = piece.floor
                        if progress.has(wanted, best, plan.terms.most):
                            progress.matches = progress.matches[:wanted]
                            progress.is_done = True
                            return plan, progress
                        await trio.lowlevel.checkpoint()
                progress.is_done = True
        return plan, progress

    async def _matching(
        self, tx: Transaction, caller: Caller, plan: Plan, page: Page, is_scored: bool
    ) -> list[_Match]:
        """Return those of a page that match, in its order."""
        said = page.said
        if said is None:
            said = await self._app.corpus.seen(tx, caller, page.ids)
        found: list[tuple[Said, int]] = []
        for number, id_ in enumerate(page.ids, 1):
            one = said.get(id_)
            if one is not None and plan.takes(one):
                texts = normals({"content": one.content})
                if plan.terms.match(texts):
                    found.append((one, plan.terms.score(texts) if is_scored else 0))
            if number % _AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
        passed = await self._tested(tx, caller, plan, [one for one, _ in found])
        return [_Match(one.id, score) for one, score in found if one.id in passed]

    async def _tested(self, tx: Transaction, caller: Caller, plan: Plan, found: Sequence[Said]) -> set[str]:
        """Return which of these messages are what is asked for besides."""
        passed = {one.id for one in found}
        for either in plan.tests:
            some: set[str] = set()
            for test in either:
                some |= await self._true_of(tx, caller, test, [one for one in found if one.id in passed])
            passed &= some
        for test in plan.not_tests:
            passed -= await self._true_of(tx, caller, test, [one for one in found if one.id in passed])
        return passed

    async def _true_of(self, tx: Transaction, caller: Caller, test: Test, found: Sequence[Said]) -> set[str]:
        corpus = self._app.corpus
        ids = [one.id for one in found]
        if test.word == "has:link":
            return {one.id for one in found if has_link(one.content)}
        if test.word in ("has:thread", "is:thread"):
            replies = {one.id for one in found if one.parent_id is not None and test.word == "is:thread"}
            return replies | await corpus.have_replies(tx, ids)
        decorated = [one.id for one in found if one.is_decorated]
        if test.word == "has:image":
            return await corpus.have_images(tx, decorated)
        if test.word == "has:reaction":
            return await corpus.have_reactions(tx, decorated)
        return set(await self._app.message_tests[test.word](tx, caller, ids, test.user_id)) if ids else set()

    async def _hits(self, caller: Caller, plan: Plan, ids: Sequence[str]) -> list[Hit]:
        """Return messages as they are now, those that the caller sees still and that match still."""
        if not ids:
            return []
        async with self._app.storage.read() as tx:
            messages = await self._app.messages(tx, caller, ids)
            rooms = sorted({one.channel_id for one in messages})
            places = await self._app.corpus.places(tx, caller, rooms)
        return [
            Hit(one, Where(*places[one.channel_id]), plan.terms.places({"content": one.content}))
            for one in messages
            if one.channel_id in places and plan.terms.match(normals({"content": one.content}))
        ]


def checked_cursor(cursor: str) -> str:
    """Return a cursor that was given out. Raises `BadRequest` for any other."""
    if not _CURSOR.fullmatch(cursor):
        raise BadRequest("cursor is none that was given out.")
    return cursor
