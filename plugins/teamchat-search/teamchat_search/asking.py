"""What is asked for, and what of it names something that the caller sees (extension F-2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct

from teamchat import BadRequest, Forbidden, NotFound, Said, Transaction
from teamchat.model import Caller, text
from teamchat_search.grammar import Item, parsed
from teamchat_search.matching import Terms
from teamchat_search.normal import normal_of_query

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST_QUERY = 500
_ID = re.compile(r"(?:dm:)?[0-9a-f]{32}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LINK = re.compile(r"https?://\S", re.IGNORECASE)
_OWN_TESTS = frozenset({"has:image", "has:link", "has:reaction", "has:thread", "is:thread"})
"""What can be asked of messages whatever capabilities there are."""
_EVER = 1 << 62


class Request(Struct, frozen=True, kw_only=True):
    """A request as it came, whose numbers are read."""

    query: str
    channel_id: str | None = None
    conversation_id: str | None = None
    author_id: str | None = None
    since: int | None = None
    until: int | None = None
    zone: str | None = None


class Test(NamedTuple):
    """One word about a message: ``has:pin``, or ``mentions:`` and a user."""

    word: str
    user_id: str = ""


class Plan(NamedTuple):
    """What a message must be: all of it, as far as it is not None.

    `spans` are times from the first to before the second, of each list one at least; `tests` are lists of
    which one must be true.
    """

    terms: Terms = Terms()
    rooms: frozenset[str] | None = None
    authors: frozenset[str] | None = None
    not_rooms: frozenset[str] = frozenset()
    not_authors: frozenset[str] = frozenset()
    spans: Sequence[Sequence[tuple[int, int]]] = ()
    not_spans: Sequence[tuple[int, int]] = ()
    tests: Sequence[Sequence[Test]] = ()
    not_tests: Sequence[Test] = ()

    @property
    def times(self) -> tuple[int, int]:
        """Return from when to before when a message can be."""
        first = max((min(start for start, _ in one) for one in self.spans), default=0)
        last = min((max(end for _, end in one) for one in self.spans), default=_EVER)
        return first, last

    def takes(self, said: Said) -> bool:
        """Return whether who said it, where and when is as asked for."""
        if self.rooms is not None and said.room_id not in self.rooms:
            return False
        if self.authors is not None and said.author_id not in self.authors:
            return False
        if said.room_id in self.not_rooms or said.author_id in self.not_authors:
            return False
        at = said.created_at
        return all(_in_one(at, one) for one in self.spans) and not _in_one(at, self.not_spans)


def _in_one(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)


def checked(query: str | None) -> str:
    """Return a query that can be asked. Raises `BadRequest`."""
    if query is None:
        raise BadRequest("q is missing.")
    if len(query) > MOST_QUERY:
        raise BadRequest(f"q is longer than {MOST_QUERY} characters.")
    query = text.storable("q", query)
    if not parsed(query):
        raise BadRequest("q is blank.")
    return query


def zone_of(name: str | None) -> ZoneInfo:
    """Return a time zone by its IANA name, UTC for none. Raises `BadRequest`."""
    try:
        return ZoneInfo(name or "UTC")
    except (ValueError, KeyError, OSError):
        raise BadRequest("tz is no time zone that is known.") from None


class Planner:
    """Makes a plan of a request, in a transaction that is open."""

    def __init__(self, app: Teamchat, tx: Transaction, caller: Caller, zone: ZoneInfo) -> None:
        self._app, self._tx, self._caller, self._zone = app, tx, caller, zone

    async def plan(self, request: Request) -> Plan:
        """Return the plan. Raises `Forbidden` for a conversation of others."""
        rooms, authors, spans = await self._parameters(request)
        terms: list[str] = []
        excluded: list[str] = []
        either: dict[str, list[object]] = {}
        neither: dict[str, list[object]] = {}
        for item in parsed(request.query):
            meant = None if item.name is None else await self._meant(item)
            if meant is None:
                (excluded if item.is_excluded else terms).append(normal_of_query(item.as_term.text))
            else:
                (neither if item.is_excluded else either).setdefault(item.name or "", []).extend(meant)
        named, writers = _ids(either, "in"), _ids(either, "from")
        return Plan(
            terms=Terms(tuple(dict.fromkeys(terms)), tuple(dict.fromkeys(excluded))),
            rooms=_both(rooms, named),
            authors=_both(authors, writers),
            not_rooms=_ids(neither, "in") or frozenset(),
            not_authors=_ids(neither, "from") or frozenset(),
            spans=[*spans, *(_spans(either[name]) for name in _TIMES if name in either)],
            not_spans=[span for name in _TIMES for span in _spans(neither.get(name, []))],
            tests=[_tests(either[name]) for name in _TESTS if name in either],
            not_tests=[test for name in _TESTS for test in _tests(neither.get(name, []))],
        )

    async def _parameters(
        self, request: Request
    ) -> tuple[frozenset[str] | None, frozenset[str] | None, list[list[tuple[int, int]]]]:
        rooms: frozenset[str] | None = None
        if request.conversation_id is not None:
            rooms = frozenset(await self._room(request.conversation_id, is_conversation=True))
        if request.channel_id is not None:
            rooms = _both(rooms, frozenset(await self._room(request.channel_id)))
        authors = None if request.author_id is None else frozenset({request.author_id})
        since = request.since or 0
        until = _EVER if request.until is None else request.until + 1
        is_bound = request.since is not None or request.until is not None
        return rooms, authors, [[(since, until)]] if is_bound else []

    async def _room(self, room_id: str, *, is_conversation: bool = False) -> list[str]:
        find = self._app.conversation if is_conversation else self._app.channel
        try:
            return [(await find(self._tx, self._caller, room_id)).id]
        except NotFound:
            return []

    async def _meant(self, item: Item) -> Sequence[object] | None:
        """Return what an operand names; None if it names nothing, and the word is a term."""
        name, operand = item.name or "", item.text.strip()
        if name in _TIMES:
            return self._span(name, operand)
        if name == "from":
            return await self._author(operand)
        if name == "in":
            return await self._rooms(operand)
        if name == "mentions":
            people = await self._person(operand) if "mentions:" in self._app.message_tests else None
            return None if people is None else [Test("mentions:", one) for one in people]
        word = f"{name}:{operand.lower()}"
        return [Test(word)] if word in _OWN_TESTS or word in self._app.message_tests else None

    async def _author(self, operand: str) -> Sequence[str] | None:
        if _ID.fullmatch(operand):
            rows = await self._tx.fetch("select id from users where id = $1", operand)
            return [id_ for (id_,) in rows] or None
        return await self._person(operand)

    async def _person(self, operand: str) -> Sequence[str] | None:
        if operand.lower() == "me":
            return [self._caller.user.id]
        if not operand.startswith("@"):
            return None
        rows = await self._tx.fetch(
            "select id from users where user_name_key = $1 and removed_at is null",
            text.fold(text.squeezed(operand[1:])),
        )
        return [id_ for (id_,) in rows] or None

    async def _rooms(self, operand: str) -> Sequence[str] | None:
        corpus = self._app.corpus
        if operand.lower() == "dm":
            own = await corpus.own_rooms(self._tx, self._caller)
            return [one.id for one in own if one.kind == "direct"]
        if operand.startswith("#"):
            name = text.squeezed(operand[1:])
            return await corpus.channels_named(self._tx, self._caller, name) or None
        if not _ID.fullmatch(operand):
            return None
        try:
            return [(await self._app.room(self._tx, self._caller, operand)).id]
        except (NotFound, Forbidden):
            return None

    def _span(self, name: str, operand: str) -> Sequence[tuple[int, int]] | None:
        if not _DAY.fullmatch(operand):
            return None
        try:
            day = date.fromisoformat(operand)
            begin, end = self._midnight(day), self._midnight(day + timedelta(days=1))
        except (ValueError, OverflowError):
            return None
        return [{"before": (0, begin), "after": (end, _EVER), "on": (begin, end)}[name]]

    def _midnight(self, day: date) -> int:
        begin = datetime(day.year, day.month, day.day, tzinfo=self._zone)
        return int(begin.timestamp() * 1000)


_TIMES = ("before", "after", "on")
_TESTS = ("has", "is", "mentions")


def has_link(content: str) -> bool:
    """Return whether a text has an address of the web in it."""
    return _LINK.search(content) is not None


def _ids(found: Mapping[str, Sequence[object]], name: str) -> frozenset[str] | None:
    return frozenset(map(str, found[name])) if name in found else None


def _spans(found: Sequence[object]) -> list[tuple[int, int]]:
    return [one for one in found if isinstance(one, tuple) and not isinstance(one, Test)]


def _tests(found: Sequence[object]) -> list[Test]:
    return [one for one in found if isinstance(one, Test)]


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
