"""Pages of a room's messages and of a thread's replies (decision D-08, extension H-1).

Pages are cut by ids alone. So deleted messages leave no hole, and an id that does not exist, or not yet, is a
position like any other. A page that is cut `around` an id has up to half its size before the id, then the
message itself, then up to half; if one side has fewer, the other does not get more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from teamchat.chat import records
from teamchat.errors import BadRequest
from teamchat.interfaces import Row, Transaction
from teamchat.model import Message
from teamchat.model.ids import could_be_id, is_conversation_id
from teamchat.model.pages import PAGE_MOST, Page
from teamchat.storage.log import last_in

# Greater than every id that will be made before the year 10889.
_AFTER_ALL = "f" * 32
_OF_ROOM = "m.room_id = $1 and m.parent_id is null and m.id >= $2"
_OF_THREAD = "m.parent_id = $1 and m.id >= $2"


class MessagePage(NamedTuple):
    """Messages, oldest first, and whether there are others before and after them.

    `as_of` is the number of the event up to which all that happened is in them.
    """

    messages: list[Message]
    has_before: bool
    has_after: bool
    as_of: int


class _List(NamedTuple):
    """The messages of a room or of a thread, as far as somebody sees them."""

    condition: str
    container_id: str
    first_seen: str

    async def older(self, tx: Transaction, than: str, limit: int) -> list[Row]:
        """Return the newest with a lesser id, the newest first."""
        where = f"where {self.condition} and m.id < $3 order by m.id desc limit $4"
        return list(await tx.fetch(records.WHOLE + where, self.container_id, self.first_seen, than, limit))

    async def newer(self, tx: Transaction, than: str, limit: int, *, equal: bool) -> list[Row]:
        """Return the oldest with a greater id, or also an `equal` one, the oldest first."""
        sign = ">=" if equal else ">"
        where = f"where {self.condition} and m.id {sign} $3 order by m.id limit $4"
        return list(await tx.fetch(records.WHOLE + where, self.container_id, self.first_seen, than, limit))

    async def has(self, tx: Transaction, sign: str, than: str) -> bool:
        """Whether any id is ``<=`` or ``>=`` this one."""
        # In order, or PostgreSQL goes through the whole table for it.
        end = f"m.id {sign} $3 order by m.id {'desc' if sign == '<=' else 'asc'} limit 1"
        sql = f"select m.id from messages m where {self.condition} and {end}"  # noqa: S608
        return bool(await tx.fetch(sql, self.container_id, self.first_seen, than))


async def page_of_room(
    tx: Transaction, room_id: str, page: Page, logged: int, first_seen: str = ""
) -> MessagePage:
    """Return a page of a room's messages; nothing of before `first_seen` is told: who asks does not see it.

    `logged` is what `Storage.log_bounds` said of the log's end before the transaction. Raises `BadRequest`
    for a page that can't be.
    """
    return await _page(tx, _List(_OF_ROOM, room_id, first_seen), page, logged)


async def page_of_thread(tx: Transaction, parent_id: str, page: Page, logged: int) -> MessagePage:
    """Return a page of the replies to a message, as `page_of_room` does."""
    return await _page(tx, _List(_OF_THREAD, parent_id, ""), page, logged)


def check_page(page: Page) -> None:
    """Raise `BadRequest` for a limit below 1, what is no message's id, and more than one id."""
    if page.limit < 1:
        raise BadRequest("limit must be 1 or more.")
    given = {
        name: position
        for name, position in (("before", page.before), ("after", page.after), ("around", page.around))
        if position is not None
    }
    if len(given) > 1:
        raise BadRequest(f"{' and '.join(given)} can't be given together.")
    for name, position in given.items():
        if not could_be_id(position) or is_conversation_id(position):
            raise BadRequest(f"{name} is not the id of a message.")


async def _page(tx: Transaction, listed: _List, page: Page, logged: int) -> MessagePage:
    check_page(page)
    limit = min(page.limit, PAGE_MOST)
    # One more is asked for than is given: it tells whether there are more.
    if page.around is not None:
        rows, has_before, has_after = await _around(tx, listed, page.around, limit)
    elif page.after is not None:
        rows = await listed.newer(tx, page.after, limit + 1, equal=False)
        has_before, has_after = await listed.has(tx, "<=", page.after), len(rows) > limit
        rows = rows[:limit]
    else:
        rows = await listed.older(tx, page.before or _AFTER_ALL, limit + 1)
        has_before = len(rows) > limit
        has_after = page.before is not None and await listed.has(tx, ">=", page.before)
        rows = rows[:limit][::-1]
    return MessagePage(await records.whole(tx, rows), has_before, has_after, await last_in(tx, logged))


async def _around(
    tx: Transaction, listed: _List, position: str, limit: int
) -> tuple[Sequence[Row], bool, bool]:
    most_before = limit // 2
    before = await listed.older(tx, position, most_before + 1)
    after = await listed.newer(tx, position, limit - most_before + 1, equal=True)
    is_there = bool(after) and after[0][0] == position
    kept = after[: limit - most_before - (not is_there)]
    return [*before[:most_before][::-1], *kept], len(before) > most_before, len(after) > len(kept)
