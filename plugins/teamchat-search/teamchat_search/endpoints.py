"""The endpoints of search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import BadRequest
from teamchat.model import Caller, Channel, Message, UserName
from teamchat.web import Answer, Section, read_limit
from teamchat_search.asking import Request, checked
from teamchat_search.search import MOST_RESULTS, Results

if TYPE_CHECKING:
    from teamchat_search.names import Names
    from teamchat_search.search import Search

_NUMBER = re.compile(r"[0-9]{1,15}")
_SORTS = ("recent", "relevance")
_QUERY = (
    *("q", "channelId", "conversationId", "authorId", "from", "to"),
    *("sort", "limit", "cursor", "tz"),
)


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


class People(Answer, frozen=True):
    """Users by name, 20 at most."""

    users: Sequence[UserName]


class ChannelsFound(Answer, frozen=True):
    """Channels by name and topic, 20 at most."""

    channels: Sequence[Channel]


def section_for(search: Search, names: Names) -> Section:
    """Return the endpoints."""
    section = Section("search")

    @section.endpoint("GET", "/search/messages", answer=MessageHits, query=_QUERY)
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
        await search.check(caller, conversation_id)
        request = Request(
            query=checked(q),
            channel_id=channel_id,
            conversation_id=conversation_id,
            author_id=author_id,
            since=_number("from", from_),
            until=_number("to", to),
            zone=tz,
        )
        most = min(read_limit(limit), MOST_RESULTS)
        if sort not in (None, *_SORTS):
            raise BadRequest("sort is neither recent nor relevance.")
        if sort == "relevance" and cursor is not None:
            raise BadRequest("cursor is for sort recent alone.")
        async with search.turn(caller):
            if sort == "relevance":
                return _answered(await search.relevance(caller, request, most))
            return _answered(await search.recent(caller, request, most, cursor))

    @section.endpoint("GET", "/search/people", answer=People, query=("q", "placeId"))
    async def search_people(caller: Caller, q: str | None, place_id: str | None) -> People:
        """Find users by their names."""
        return People(await names.people(caller, q or "", place_id))

    @section.endpoint("GET", "/search/channels", answer=ChannelsFound, query=("q",))
    async def search_channels(caller: Caller, q: str | None) -> ChannelsFound:
        """Find channels by name and topic."""
        return ChannelsFound(await names.channels(caller, q or ""))

    return section


def _answered(results: Results) -> MessageHits:
    hits = [
        MessageHit(hit.message, HitPlace(*hit.place), [Highlight(*one) for one in hit.highlights])
        for hit in results.hits
    ]
    return MessageHits(hits, results.next, results.is_complete)


def _number(name: str, value: str | None) -> int | None:
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise BadRequest(f"{name} must be a time in epoch milliseconds.")
    return int(value)
