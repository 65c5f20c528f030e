"""Telling those who look at a place that one types there (extension I-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat import NotFound
from teamchat.model import Caller, now_ms
from teamchat_presence.events import Typing
from teamchat_presence.stored import kept_of

if TYPE_CHECKING:
    from teamchat import Teamchat

SHOWN_MS = 6000
"""How long it shows that somebody types; clients repeat it every four seconds."""
PAUSE_SECONDS = 3.0
"""More than one within this time is dropped."""
_MOST_REMEMBERED = 4096

_Where = tuple[str, str, str | None]


class Pace:
    """Lets one beginning through in `PAUSE_SECONDS`, for each user and place, and the end that follows it."""

    def __init__(self) -> None:
        self._begun: dict[_Where, tuple[float, bool]] = {}

    def lets(self, where: _Where, *, is_typing: bool) -> bool:
        """Tell whether it is sent on."""
        now = trio.current_time()
        begun_at, is_open = self._begun.get(where, (float("-inf"), False))
        if not is_typing:
            if is_open:
                self._begun[where] = begun_at, False
            return is_open
        if now - begun_at < PAUSE_SECONDS:
            return False
        self._begun.pop(where, None)
        self._begun[where] = now, True
        while len(self._begun) > _MOST_REMEMBERED:
            del self._begun[next(iter(self._begun))]
        return True


class Typists:
    """Those who type on a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._pace = Pace()

    async def check(self, caller: Caller, place_id: str) -> None:
        """Raise `NotFound` for a place that the caller does not see; `Forbidden` as `app.room` does."""
        async with self._app.storage.read() as tx:
            await self._app.room(tx, caller, place_id)

    async def tell(self, caller: Caller, place_id: str, thread_id: str | None, *, is_typing: bool) -> None:
        """Tell that the caller types, or has stopped; not of who hides, nor in an archived place.

        Raises `NotFound` for a place or thread that the caller does not see.
        """
        user_id = caller.user.id
        async with self._app.storage.read() as tx:
            room = await self._app.room(tx, caller, place_id)
            audience = room.audience
            if thread_id is not None:
                parent = await self._app.message(tx, caller, thread_id)
                if parent.room.id != room.id or parent.parent_id is not None:
                    raise NotFound("No such message.")
                audience = parent.audience
            kept = await kept_of(tx, [user_id])
        is_told = not room.is_archived and user_id in kept and kept[user_id].choice.may_be_seen_typing
        if is_told and self._pace.lets((user_id, room.id, thread_id), is_typing=is_typing):
            until = now_ms() + (SHOWN_MS if is_typing else 0)
            self._app.signal(Typing(room.id, thread_id, user_id, until), audience)
