"""The endpoints of search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from teamchat import BadRequest
from teamchat.model import Caller, Channel, Message
from teamchat.web import Answer, Section, read_limit
from teamchat_search.asking import Request, checked
from teamchat_search.matching import Apart, as_one, by_file
from teamchat_search.names import FoundUser
from teamchat_search.search import MOST_RESULTS, Hit, Results

if TYPE_CHECKING:
    from teamchat_search.names import Names
    from teamchat_search.search import Search

_NUMBER = re.compile(r"[0-9]{1,15}")
_SORTS = ("recent", "relevance")
_QUERY = (
    *("q", "channelId", "conversationId", "authorId", "from", "to"),
    *("sort", "limit", "cursor", "tz"),
)


class Order(NamedTuple):
    """In which order results come, how many, and from where on."""

    sort: str | None
    limit: str | None
    cursor: str | None


class Highlight(Answer, frozen=True):
    """Where a term stands in a field of the message: from which code point on, and how many."""

    field: str
    offset: int
    length: int


class HitPlace(Answer, frozen=True):
    """Where a message stands. A direct conversation has no name."""

    id: str
    kind: str
    name: str | None


class MessageHit(Answer, frozen=True):
    """A message that matches."""

    message: Message
    place: HitPlace
    highlights: Sequence[Highlight]


class MessageHits(Answer, frozen=True):
    """Messages that match; `next` is the cursor to those that follow.

    Without `is_complete` time was up: what `next` leads to may match as well, though nothing is here.
    """

    results: Sequence[MessageHit]
    next: str | None
    is_complete: bool


class FileHit(Answer, frozen=True):
    """A file whose name matches, with the message that it stands in."""

    file: Any
    message_id: str
    place: HitPlace
    highlights: Sequence[Highlight]


class FileHits(Answer, frozen=True):
    """Files that match; `next` and `is_complete` are as in `MessageHits`."""

    results: Sequence[FileHit]
    next: str | None
    is_complete: bool


class People(Answer, frozen=True):
    """Users by name, 20 at most."""

    users: Sequence[FoundUser]


class ChannelsFound(Answer, frozen=True):
    """Channels by name and topic, 20 at most."""

    channels: Sequence[Channel]


def section_for(search: Search, names: Names) -> Section:
    """Return the endpoints."""
    section = Section("search")

    @section.endpoint("GET", "/search/messages", within_places=True, answer=MessageHits, query=_QUERY)
    async def search_messages(
        caller: Caller,
        q: str | None,
        channel_id: str | None,
        conversation_id: str | None,
        author_id: str | None,
        from_: str | None,
        to: str | None,
        sort: str | None,
        limit: str | None,
        cursor: str | None,
        tz: str | None,
    ) -> MessageHits:
        """Search the messages that one sees."""
        request = Request(
            query=checked(q),
            channel_id=channel_id,
            conversation_id=conversation_id,
            author_id=author_id,
            since=_number("from", from_),
            until=_number("to", to),
            zone=tz,
        )
        return _messages(await _found(search, caller, request, as_one, Order(sort, limit, cursor)))

    @section.endpoint("GET", "/search/files", within_places=True, answer=FileHits, query=_QUERY)
    async def search_files(
        caller: Caller,
        q: str | None,
        channel_id: str | None,
        conversation_id: str | None,
        author_id: str | None,
        from_: str | None,
        to: str | None,
        sort: str | None,
        limit: str | None,
        cursor: str | None,
        tz: str | None,
    ) -> FileHits:
        """Search the names of the files in the messages that one sees."""
        request = Request(
            query=checked(q),
            channel_id=channel_id,
            conversation_id=conversation_id,
            author_id=author_id,
            since=_number("from", from_),
            until=_number("to", to),
            zone=tz,
        )
        return _files(await _found(search, caller, request, by_file, Order(sort, limit, cursor)))

    @section.endpoint("GET", "/search/people", within_places=True, answer=People, query=("q", "placeId"))
    async def search_people(caller: Caller, q: str | None, place_id: str | None) -> People:
        """Find users by their names."""
        return People(await names.people(caller, q or "", place_id))

    @section.endpoint("GET", "/search/channels", within_places=True, answer=ChannelsFound, query=("q",))
    async def search_channels(caller: Caller, q: str | None) -> ChannelsFound:
        """Find channels by name and topic."""
        return ChannelsFound(await names.channels(caller, q or ""))

    return section


async def _found(search: Search, caller: Caller, request: Request, apart: Apart, order: Order) -> Results:
    """Search as it is asked for. Raises `BadRequest` for an order that there is not."""
    await search.check(caller, request.conversation_id)
    most = min(read_limit(order.limit), MOST_RESULTS)
    if order.sort not in (None, *_SORTS):
        raise BadRequest("sort is neither recent nor relevance.")
    if order.sort == "relevance" and order.cursor is not None:
        raise BadRequest("cursor is for sort recent alone.")
    async with search.turn(caller):
        if order.sort == "relevance":
            return await search.relevance(caller, request, most, apart)
        return await search.recent(caller, request, most, order.cursor, apart)


def _messages(results: Results) -> MessageHits:
    hits = [MessageHit(hit.message, HitPlace(*hit.place), _highlights(hit)) for hit in results.hits]
    return MessageHits(hits, results.next, results.is_complete)


def _files(results: Results) -> FileHits:
    hits = [
        FileHit(files[hit.number], hit.message.id, HitPlace(*hit.place), _highlights(hit))
        for hit in results.hits
        # Its files are a field that another capability brings to messages (G-3).
        if hit.number < len(files := getattr(hit.message, "files", None) or ())
    ]
    return FileHits(hits, results.next, results.is_complete)


def _highlights(hit: Hit) -> list[Highlight]:
    return [Highlight(*one) for one in hit.highlights]


def _number(name: str, value: str | None) -> int | None:
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise BadRequest(f"{name} must be a time in epoch milliseconds.")
    return int(value)
