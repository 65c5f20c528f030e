"""What the leak suite is told of search: which parameters name rooms, and which nothing that is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PARAMETERS: Mapping[str, str] = {
    "query channelId": "room",
    "query conversationId": "room",
    "query placeId": "room",
}
_TYPED = "free text of who asks"
HARMLESS: Mapping[str, str] = {
    "query q": _TYPED,
    "query authorId": "every user is on everybody's list of users",
    "query from": "a time of who asks",
    "query to": "a time of who asks",
    "query sort": "in which order",
    "query tz": "a time zone of who asks",
}
GIVEN: Mapping[str, str] = {
    # What stands in every text that is hidden.
    "GET /search/messages query q": "only for those who are in here",
    "GET /search/files query q": "a",
    "GET /search/people query q": "o",
    "GET /search/channels query q": "n",
}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Make nothing: a search finds what is there."""
    return {}
