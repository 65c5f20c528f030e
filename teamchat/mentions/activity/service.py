"""Reading the feed, and recording how far it was read (E-9).

A position is a point in the order of items, whether or not there is an item. Users without one have read
everything from before their account was created, or before the server had a feed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.mentions.activity import feed
from teamchat.mentions.activity.events import ActivityRead
from teamchat.mentions.activity.feed import KINDS, LAST, Found
from teamchat.model import Caller, Message
from teamchat.model.ids import could_be_id, is_conversation_id
from teamchat.read_state.positions import moment
from teamchat.read_state.tables import COUNTED_UP_TO
from teamchat.storage.log import last_in

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat

_MARK = """select r.position, r.generation, u.created_at,
(select position from activity_start where id = 1) from users u
left join activity_read r on r.user_id = u.id where u.id = $1"""
_STORE = """insert into activity_read (user_id, position, generation) values ($1, $2, $3)
on conflict (user_id) do update set position = excluded.position, generation = excluded.generation"""


class FeedPage(NamedTuple):
    """Items with the messages that they are about, by id, and how many are unread altogether."""

    items: Sequence[Found]
    messages: dict[str, Message]
    unread: int
    as_of: int


class Feed:
    """The feeds of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._storage = app.storage

    async def page(
        self, caller: Caller, kinds: str | None, before: str | None, limit: int, *, only_unread: bool
    ) -> FeedPage:
        """Return the newest items before one. Raises `BadRequest` for kinds that there are not, or no id."""
        asked = set(KINDS if kinds is None else kinds.split(","))
        if asked - set(KINDS):
            raise BadRequest(f"kinds has others than {', '.join(KINDS)}.")
        if before is not None:
            check_item("before", before)
        last = await self._storage.position()
        async with self._storage.read() as tx:
            as_of = await last_in(tx, last)
            position, _ = await _mark(tx, caller)
            after = position if only_unread else ""
            items = await feed.page(tx, caller, asked, before or LAST, after, limit)
            ids = list(dict.fromkeys(one.message_id for one in items if one.message_id is not None))
            messages = {one.id: one for one in await self._app.messages(tx, caller, ids)}
            unread = await feed.count(tx, caller, position, COUNTED_UP_TO)
        return FeedPage(items, messages, unread, as_of)

    async def read(self, caller: Caller, position: str, generation: int | None) -> int:
        """Note that the feed was shown up to an item, and return how many are unread; other devices are told.

        It never moves back, nor beyond the newest item: a wrong clock would hide what comes.
        """
        check_item("position", position)
        async with self._storage.write() as tx:
            before, known = await _mark(tx, caller)
            present = before
            newest = await feed.page(tx, caller, KINDS, LAST, present, 1)
            reached = min(position, newest[0].id) if newest else present
            if reached > present and (generation is None or generation >= known):
                await tx.fetch(_STORE, caller.user.id, reached, known)
                present = reached
            unread = await feed.count(tx, caller, present, COUNTED_UP_TO)
        if present > before:
            self._app.signal(ActivityRead(present, unread), [caller.user.id])
        return unread


def check_item(name: str, item_id: str) -> None:
    """Raise `BadRequest` for what can't be the id of an item."""
    if not could_be_id(item_id) or is_conversation_id(item_id):
        raise BadRequest(f"{name} is not the id of an item.")


async def _mark(tx: Transaction, caller: Caller) -> tuple[str, int]:
    """Return how far the caller has read: position and generation."""
    [(position, generation, created_at, start)] = await tx.fetch(_MARK, caller.user.id)
    if position is None:
        return max(moment(created_at), start), 0
    return str(position), int(generation)
