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
from teamchat_search.matching import Apart, Place, as_one, fields, normals

if TYPE_CHECKING:
    from teamchat import SpeaksDialect, Teamchat

WORK_SECONDS = 2.0
MOST_SCORED = 5000
"""Of how many matches, the newest ones, the best are chosen."""
MOST_RESULTS = 200
_CURSOR = re.compile(r"([0-9a-f]{12,32}|g)(?:\.([0-9]{1,3}))?")
_AT_ONCE, _CHARACTERS_AT_ONCE = 32, 8192
"""How many messages are looked at before others are let in, and about how many characters of them."""


class Where(NamedTuple):
    """The place of a message."""

    id: str
    kind: str
    name: str | None


class Hit(NamedTuple):
    """A message that matches, or that `number` of what it was parted into, and where in it the terms are."""

    message: Message
    number: int
    place: Where
    highlights: Sequence[Place]


class Results(NamedTuple):
    """Hits; the cursor to those that follow, or None; and whether all was looked through."""

    hits: Sequence[Hit]
    next: str | None
    is_complete: bool


class _Match(NamedTuple):
    id: str
    number: int
    score: int


class Cursor(NamedTuple):
    """Where a search goes on: before a message, or within it, behind a number of what it is parted into."""

    id: str
    number: int | None = None

    @classmethod
    def checked(cls, text: str) -> Cursor:
        """Read a cursor that was given out. Raises `BadRequest` for any other."""
        found = _CURSOR.fullmatch(text)
        if found is None:
            raise BadRequest("cursor is none that was given out.")
        return cls(found[1], None if found[2] is None else int(found[2]))

    @property
    def text(self) -> str:
        """The cursor as it is given out."""
        return self.id if self.number is None else f"{self.id}.{self.number}"

    @property
    def before(self) -> str:
        """What the ids are less than that are looked at."""
        return self.id if self.number is None else f"{self.id}0"

    def is_before(self, id_: str, number: int) -> bool:
        """Return whether something comes after the cursor, among what is looked at."""
        return self.number is None or id_ < self.id or number > self.number


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

    async def recent(
        self, caller: Caller, request: Request, limit: int, cursor: str | None, apart: Apart = as_one
    ) -> Results:
        """Return the newest matches, `limit` at most, from the cursor on."""
        begin = Cursor(ABOVE_ALL) if cursor is None else Cursor.checked(cursor)
        plan, progress = await self._work(caller, request, apart, begin, limit + 1)
        found, rest = progress.matches[:limit], progress.matches[limit:]
        if rest:
            last = found[-1]
            is_parted = rest[0].id == last.id
            following: str | None = Cursor(last.id, last.number if is_parted else None).text
        else:
            following = None if progress.is_done else progress.floor
        hits = await self._hits(caller, plan, apart, found)
        return Results(hits, following, bool(rest) or progress.is_done)

    async def relevance(self, caller: Caller, request: Request, limit: int, apart: Apart = as_one) -> Results:
        """Return the best of the newest matches."""
        plan, progress = await self._work(caller, request, apart, Cursor(ABOVE_ALL), MOST_SCORED, best=limit)
        best = sorted(progress.matches, key=lambda one: one.number)
        best.sort(key=lambda one: (one.score, one.id), reverse=True)
        hits = await self._hits(caller, plan, apart, best[:limit])
        return Results(hits, None, progress.is_done)

    async def _work(
        self,
        caller: Caller,
        request: Request,
        apart: Apart,
        begin: Cursor,
        wanted: int,
        best: int | None = None,
    ) -> tuple[Plan, _Progress]:
        """Look for the `wanted` newest matches; with `best` only until so many are as good as can be.

        Those are what stands first by relevance: whatever is older and as good stands behind them.
        """
        zone = zone_of(request.zone)
        progress = _Progress(begin.before)
        async with self._app.storage.read() as tx:
            plan = await Planner(self._app, tx, caller, zone).plan(request)
        log_start, _ = await self._app.storage.log_bounds()
        with trio.move_on_after(WORK_SECONDS):
            async with self._app.storage.read() as tx:
                candidates = Candidates(self._app.corpus, self._index, tx, caller, plan, log_start)
                await candidates.begin(begin.before)
                while (page := await candidates.page()) is not None:
                    for piece in page.pieces():
                        found = await self._matching(tx, caller, plan, apart, piece, best is not None)
                        progress.matches += [one for one in found if begin.is_before(one.id, one.number)]
                        progress.floor = piece.floor
                        if progress.has(wanted, best, plan.terms.most):
                            progress.matches = progress.matches[:wanted]
                            progress.is_done = True
                            return plan, progress
                        await trio.lowlevel.checkpoint()
                progress.is_done = True
        return plan, progress

    async def _matching(
        self, tx: Transaction, caller: Caller, plan: Plan, apart: Apart, page: Page, is_scored: bool
    ) -> list[_Match]:
        """Return what of a page matches, in its order."""
        said = page.said
        if said is None:
            said = await self._app.corpus.seen(tx, caller, page.ids)
        looked_at = [one for one in map(said.get, page.ids) if one is not None and plan.takes(one)]
        more = await self._app.message_texts(tx, [one.id for one in looked_at])
        found: dict[str, Said] = {}
        matches: list[_Match] = []
        characters = 0
        for count, one in enumerate(looked_at, 1):
            characters += len(one.content)
            for number, texts in apart(fields(one.content, more.get(one.id, ()))):
                forms = normals(texts)
                if plan.terms.match(forms):
                    found[one.id] = one
                    matches.append(_Match(one.id, number, plan.terms.score(forms) if is_scored else 0))
            if count % _AT_ONCE == 0:
                characters = 0
                await trio.lowlevel.checkpoint()
            elif characters >= _CHARACTERS_AT_ONCE:  # To end here would lose what was found.
                characters = 0
                await trio.lowlevel.cancel_shielded_checkpoint()
        passed = await self._tested(tx, caller, plan, list(found.values()))
        return [one for one in matches if one.id in passed]

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

    async def _hits(self, caller: Caller, plan: Plan, apart: Apart, found: Sequence[_Match]) -> list[Hit]:
        """Return what was found as it is now, as far as the caller sees it still and it matches still."""
        if not found:
            return []
        async with self._app.storage.read() as tx:
            read = await self._app.messages(tx, caller, list(dict.fromkeys(one.id for one in found)))
            messages = {one.id: one for one in read}
            more = await self._app.message_texts(tx, list(messages))
            places = await self._app.corpus.places(tx, caller, sorted({one.channel_id for one in read}))
        hits: list[Hit] = []
        for id_, number, _ in found:
            message = messages.get(id_)
            if message is None or message.channel_id not in places:
                continue
            texts = dict(apart(fields(message.content, more.get(id_, ())))).get(number)
            if texts is not None and plan.terms.match(normals(texts)):
                where = Where(*places[message.channel_id])
                hits.append(Hit(message, number, where, plan.terms.places(texts)))
                await trio.lowlevel.checkpoint()  # Of a long text it takes some ten milliseconds.
        return hits
