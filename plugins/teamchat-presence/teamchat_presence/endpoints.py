"""The endpoints of presence and of typing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from teamchat.model import Caller
from teamchat.web import Answer, NoContent, Section
from teamchat_presence.presence import UserPresence
from teamchat_presence.statuses import ChosenStatus

if TYPE_CHECKING:
    from teamchat_presence.presence import Presence
    from teamchat_presence.typing import Typists


class PresenceAnswer(Answer, frozen=True):
    """Who of those asked for is there."""

    presence: Sequence[UserPresence]


class MyPresence(Answer, frozen=True):
    """The status that one has chosen: ``auto`` tells others what is so, ``offline`` hides one."""

    status: ChosenStatus


class StatusChoice(Struct, frozen=True):
    """What others are to be told."""

    status: ChosenStatus


class TypingTold(Struct, frozen=True, rename="camel"):
    """Whether one types, in a place or in a thread there."""

    is_typing: bool
    thread_id: str | None = None


def presence(service: Presence) -> Section:
    """Return the endpoints of presence."""
    section = Section("presence")

    # After a restart thousands ask, and messages pass them by (I-5).
    @section.endpoint(
        "GET", "/presence", within_places=True, answer=PresenceAnswer, query=["userIds"], gives_way=True
    )
    async def get_presence(caller: Caller, user_ids: str | None) -> PresenceAnswer:
        """Read who of these users is there, or of those one shares a place with."""
        return PresenceAnswer(await service.of(caller, user_ids))

    @section.endpoint("GET", "/presence/me", within_places=True, answer=MyPresence)
    async def get_my_presence(caller: Caller) -> MyPresence:
        """Read the status that one has chosen."""
        return MyPresence(await service.chosen(caller))

    @section.endpoint("PUT", "/presence/me", body=StatusChoice, answer=MyPresence)
    async def choose_my_presence(caller: Caller, body: StatusChoice) -> MyPresence:
        """Choose what others are told of oneself."""
        await service.choose(caller, body.status)
        return MyPresence(body.status)

    return section


def typing(typists: Typists) -> Section:
    """Return the endpoint of typing."""
    section = Section("typing")

    @section.endpoint(
        "POST", "/places/:placeId/typing", body=TypingTold, answer=NoContent, first=typists.check
    )
    async def tell_typing(caller: Caller, place_id: str, body: TypingTold) -> NoContent:
        """Tell who watches a place that one types there, or has stopped."""
        await typists.tell(caller, place_id, body.thread_id, is_typing=body.is_typing)
        return NoContent()

    return section
