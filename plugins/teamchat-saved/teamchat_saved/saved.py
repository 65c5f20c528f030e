"""Keeping messages for later, and reading what one keeps (extension H-3).

What a user does not see any more is hidden, and back when they see it again; limits do not count it, and no
cursor names it (extension rules X-2, X-3).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat import BadRequest, Changes, Transaction
from teamchat.model import Caller, Cursor, Message, now_ms, text
from teamchat.storage.log import last_in
from teamchat.storage.statements import chunks
from teamchat_saved.events import SavedChanged

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST_SAVED = 5000
"""How many messages a user keeps at most, of those that they see."""
MOST_NOTE = 500
_LAST = Cursor(1 << 53, "g")
_ONE = "select note, saved_at, remind_at, is_reminded from saved where user_id = $1 and message_id = $2"
_PAGE = """select message_id, note, saved_at, remind_at from saved where user_id = $1
and (saved_at, message_id) < ($2, $3) order by saved_at desc, message_id desc limit $4"""
_STORE = """insert into saved (user_id, message_id, room_id, note, saved_at, remind_at, is_reminded)
values ($1, $2, $3, $4, $5, $6, $7) on conflict (user_id, message_id)
do update set note = excluded.note, remind_at = excluded.remind_at, is_reminded = excluded.is_reminded"""


class Keeping(Struct, frozen=True, rename="camel"):
    """What is kept beside a message. What is left out stays as it was; `remind_at` null takes it away."""

    note: str | UnsetType = UNSET
    remind_at: Annotated[int, Meta(ge=0, lt=2**53)] | UnsetType | None = UNSET


class Item(Struct, frozen=True, rename="camel"):
    """A message that is kept. Times are epoch milliseconds; a `remind_at` that is past was told."""

    message: Message
    note: str
    saved_at: int
    remind_at: int | None


class Page(NamedTuple):
    """Items, the cursor to those that follow, and the position in the log that they are as of."""

    items: Sequence[Item]
    next: str | None
    as_of: int


class _Row(NamedTuple):
    note: str = ""
    saved_at: int = 0
    remind_at: int | None = None
    is_reminded: int = 0


class Saved:
    """What the users of a server keep."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def check_sees(self, caller: Caller, message_id: str) -> None:
        """Raise `NotFound` for no message that the caller sees."""
        async with self._app.storage.read() as tx:
            await self._app.message(tx, caller, message_id)

    async def keep(self, caller: Caller, message_id: str, body: Keeping) -> Item:
        """Keep a message, or what is said of one that is kept.

        Raises `NotFound` for no message that the caller sees, `BadRequest` for a time that is past.
        """
        async with self._app.storage.write() as tx:
            seen = await self._app.message(tx, caller, message_id)
            rows = await tx.fetch(_ONE, caller.user.id, seen.id)
            before = _Row(*rows[0]) if rows else None
            row = self._changed(before or _Row(saved_at=now_ms()), body)
            if before is None:
                await self._check_count(tx, caller)
            if row != before:
                await tx.fetch(_STORE, caller.user.id, seen.id, seen.room.id, *row)
                event = SavedChanged(seen.id, saved=True, remind_at=row.remind_at)
                await tx.append(event.to((caller.user.id,)))
            [message] = await self._app.messages(tx, caller, [seen.id])
        return Item(message, row.note, row.saved_at, row.remind_at)

    def _changed(self, row: _Row, body: Keeping) -> _Row:
        if body.note is not UNSET:
            row = row._replace(note=text.note("note", body.note, most=MOST_NOTE))
        if body.remind_at is UNSET or body.remind_at == row.remind_at:
            return row
        if body.remind_at is not None and body.remind_at <= now_ms():
            raise BadRequest("remindAt is not in the future.")
        if body.remind_at is not None and "activity" not in self._app.announced().capabilities:
            raise BadRequest("This server has no activity, in which reminders would arrive.")
        return row._replace(remind_at=body.remind_at, is_reminded=0)

    async def _check_count(self, tx: Transaction, caller: Caller) -> None:
        rows = await tx.fetch("select message_id from saved where user_id = $1", caller.user.id)
        ids = [message_id for (message_id,) in rows]
        if len(ids) >= MOST_SAVED and len(await self._app.corpus.seen(tx, caller, ids)) >= MOST_SAVED:
            raise BadRequest(f"There are {MOST_SAVED} saved messages already; remove one first.")

    async def drop(self, caller: Caller, message_id: str) -> None:
        """Keep a message no longer, if it is kept. Raises `NotFound` for no message that the caller sees."""
        async with self._app.storage.write() as tx:
            seen = await self._app.message(tx, caller, message_id)
            if await tx.fetch(
                "delete from saved where user_id = $1 and message_id = $2 returning message_id",
                *(caller.user.id, seen.id),
            ):
                event = SavedChanged(seen.id, saved=False, remind_at=None)
                await tx.append(event.to((caller.user.id,)))

    async def page(self, caller: Caller, limit: int, cursor: str | None) -> Page:
        """Return what the caller keeps, newest first. Raises `BadRequest` for a cursor that is none."""
        before = _LAST if cursor is None else Cursor.checked(cursor)
        logged = await self._app.storage.position()
        found: list[Item] = []
        async with self._app.storage.read() as tx:
            while len(found) <= limit:
                rows = await tx.fetch(_PAGE, caller.user.id, *before, limit + 1)
                messages = await self._app.messages(tx, caller, [row[0] for row in rows])
                by_id = {one.id: one for one in messages}
                found += [Item(by_id[row[0]], *row[1:]) for row in rows if row[0] in by_id]
                if len(rows) <= limit:
                    break
                before = Cursor(rows[-1][2], rows[-1][0])
            as_of = await last_in(tx, logged)
        items = found[:limit]
        following = Cursor(items[-1].saved_at, items[-1].message.id).text if len(found) > limit else None
        return Page(items, following, as_of)


class Going(Changes):
    """What becomes of it with its user; with its message it goes by itself."""

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Nothing is kept for who is no user any more."""
        await tx.fetch("delete from saved where user_id = $1", user_id)


async def are_saved(tx: Transaction, caller: Caller, ids: Sequence[str], __: str) -> Collection[str]:
    """Return those of these messages that who searches keeps."""
    found: set[str] = set()
    for marks, piece in chunks(ids, after=1):
        rows = await tx.fetch(
            f"select message_id from saved where user_id = $1 and message_id in ({marks})",  # noqa: S608
            *(caller.user.id, *piece),
        )
        found |= {message_id for (message_id,) in rows}
    return found
