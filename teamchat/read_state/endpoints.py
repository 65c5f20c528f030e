"""The endpoints of read states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from teamchat.model import Caller
from teamchat.read_state.places import ReadState
from teamchat.read_state.reading import Reading, Unreading
from teamchat.web import Answer, Section

if TYPE_CHECKING:
    from teamchat.read_state.service import ReadStates


class ThreadCounts(Struct, frozen=True, rename="camel"):
    """How many followed threads have unread replies, and how many of these replies mention one."""

    unread_threads: int
    mention_count: int


class Places(Answer, frozen=True):
    """Read states, at the position `as_of` of the log; `left` are places that one is in no more.

    `badge` is what a client shows as the number of all that is unread, and `mark` what it asks with next.
    """

    places: Sequence[ReadState]
    left: Sequence[str]
    threads: ThreadCounts
    badge: int
    mark: str
    as_of: str


class OnePlace(Answer, frozen=True):
    """A read state, at the position `as_of` of the log."""

    state: ReadState
    as_of: str


class Read(Answer, frozen=True):
    """The read state, and whether this request has changed it."""

    state: ReadState
    changed: bool


class Unread(Answer, frozen=True):
    """The read state."""

    state: ReadState


class ReadingAll(Struct, frozen=True):
    """Up to which message places were shown, by their ids: 1,000 at most."""

    positions: Mapping[str, str]


class ReadAll(Answer, frozen=True):
    """How many read states have changed."""

    changed: int


def section_for(states: ReadStates) -> Section:
    """Return the endpoints."""
    section = Section("read state")

    @section.endpoint("GET", "/me/places", within_places=True, answer=Places, query=("since",))
    async def list_places(caller: Caller, since: str | None) -> Places:
        """List the places that one is a member of, with what is unread there."""
        found = await states.overview(caller, since)
        threads = ThreadCounts(len(found.threads), sum(one.mention_count for one in found.threads))
        return Places(found.states, found.left, threads, found.badge, found.mark, str(found.as_of))

    @section.endpoint("GET", "/me/places/:placeId", answer=OnePlace)
    async def get_place(caller: Caller, place_id: str) -> OnePlace:
        """Read how much is unread in one place."""
        state, as_of = await states.state(caller, place_id)
        return OnePlace(state, str(as_of))

    @section.endpoint("PUT", "/me/places/:placeId/read", body=Reading, answer=Read, first=states.check_member)
    async def read_place(caller: Caller, place_id: str, body: Reading) -> Read:
        """Note that a place was shown up to a message."""
        return Read(*await states.read(caller, place_id, body.position, body.generation))

    @section.endpoint(
        "PUT", "/me/places/:placeId/unread", body=Unreading, answer=Unread, first=states.check_member
    )
    async def unread_place(caller: Caller, place_id: str, body: Unreading) -> Unread:
        """Mark a place as unread from a message on."""
        return Unread(await states.unread(caller, place_id, body.first))

    @section.endpoint("PUT", "/me/read", within_places=True, body=ReadingAll, answer=ReadAll)
    async def read_places(caller: Caller, body: ReadingAll) -> ReadAll:
        """Note that many places were shown."""
        return ReadAll(await states.read_all(caller, body.positions))

    return section
