"""The endpoints of the feed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat.errors import BadRequest
from teamchat.model import Caller, Message
from teamchat.web import Answer, Section
from teamchat.web.reader import read_limit

if TYPE_CHECKING:
    from teamchat.mentions.activity.feed import Found
    from teamchat.mentions.activity.service import Feed, FeedPage


class Item(Struct, frozen=True, rename="camel"):
    """Something that concerns one, `at` a time in epoch milliseconds.

    `kind` is ``mention``, ``reply``, ``reaction``, ``added`` or ``reminder``; being added has no `message`.
    `actors` are users, or webhooks, the one who acted last first; of a reminder there are none. `reaction` is
    the newest one.
    """

    id: str
    kind: str
    at: int
    place_id: str
    actors: Sequence[str]
    message: Message | UnsetType = UNSET
    reaction: str | UnsetType = UNSET


class Activity(Answer, frozen=True):
    """Items, newest first, at the position `as_of` of the log, and how many are unread altogether."""

    items: Sequence[Item]
    unread_count: int
    as_of: str


class ReadingActivity(Struct, frozen=True):
    """Up to which item the feed was shown."""

    position: str
    generation: Annotated[int, Meta(ge=0, lt=2**53)] | None = None


class ReadActivity(Answer, frozen=True):
    """How many items are unread."""

    unread_count: int


def section_for(feed: Feed) -> Section:
    """Return the endpoints."""
    section = Section("activity")

    @section.endpoint(
        "GET",
        "/me/activity",
        within_places=True,
        answer=Activity,
        query=("kinds", "unread", "limit", "before"),
    )
    async def list_activity(
        caller: Caller, kinds: str | None, unread: str | None, limit: str | None, before: str | None
    ) -> Activity:
        """List what concerns one: mentions, replies, reactions, being added, reminders."""
        if unread not in (None, "true", "false"):
            raise BadRequest("unread is neither true nor false.")
        found = await feed.page(caller, kinds, before, read_limit(limit), only_unread=unread == "true")
        return Activity([_item(one, found) for one in found.items], found.unread, str(found.as_of))

    @section.endpoint("PUT", "/me/activity/read", body=ReadingActivity, answer=ReadActivity)
    async def read_activity(caller: Caller, body: ReadingActivity) -> ReadActivity:
        """Note that the feed was shown up to an item."""
        return ReadActivity(await feed.read(caller, body.position, body.generation))

    return section


def _item(found: Found, page: FeedPage) -> Item:
    message = UNSET if found.message_id is None else page.messages[found.message_id]
    at = int(found.id[:12], 16)
    return Item(
        found.id,
        found.kind,
        at,
        found.room_id,
        found.actors,
        message,
        UNSET if found.reaction is None else found.reaction,
    )
