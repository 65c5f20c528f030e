"""Asking who is there, and choosing what others are told of oneself (extensions I-2 and I-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import trio
from msgspec import UNSET, Struct, UnsetType

from teamchat import BadRequest, Seen
from teamchat.model import Caller, now_ms
from teamchat_presence.load import Load
from teamchat_presence.statuses import NO_CHOICE, ChosenStatus, Status, last_seen, shown, status_of
from teamchat_presence.stored import Kept, choose, choosers, kept_of

if TYPE_CHECKING:
    from teamchat import Activity, Teamchat

MOST_USERS = 200

_loads: WeakKeyDictionary[Activity, Load] = WeakKeyDictionary()


def load_of(app: Teamchat) -> Load:
    """Return the one of a server: its service watches, and its endpoints ask."""
    return _loads.setdefault(app.activity, Load())


class UserPresence(Struct, frozen=True, rename="camel"):
    """Whether somebody is there. `last_seen` is in epoch milliseconds, rounded to the minute."""

    user_id: str
    status: Status
    is_dnd: bool | UnsetType = UNSET
    last_seen: int | UnsetType = UNSET


class Presence:
    """Who is there on a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._load = load_of(app)

    async def of(self, caller: Caller, user_ids: str | None) -> list[UserPresence]:
        """Return the presence of users, whose ids are separated by commas; unknown ones are left out.

        With None, of those with whom the caller shares a place, 200 at most. Raises `BadRequest` for more,
        `Unavailable` while the server is busy.
        """
        self._load.check()
        wanted: Sequence[str]
        async with self._app.storage.read() as tx:
            if user_ids is None:
                there = self._app.activity.there()
                # That somebody is named who shares no smaller place would tell that they are there.
                hidden = {one for one, choice in (await choosers(tx, now_ms())).items() if choice.is_hidden}
                wanted = await self._app.company(tx, caller, sorted(there - hidden), MOST_USERS)
            else:
                wanted = _named(user_ids)
            kept = await kept_of(tx, wanted)
            seen_of, now, time = self._app.activity.of, trio.current_time(), now_ms()
            return [
                presence_of(one, seen_of(one), kept[one], now, time, is_own=one == caller.user.id)
                for one in wanted
                if one in kept
            ]

    async def chosen(self, caller: Caller) -> ChosenStatus:
        """Return the status that the caller has chosen."""
        async with self._app.storage.read() as tx:
            kept = await kept_of(tx, [caller.user.id])
        return kept[caller.user.id].choice.status if kept else "auto"

    async def choose(self, caller: Caller, status: ChosenStatus) -> None:
        """Choose what others are told: what is so, or that one is away or offline."""
        async with self._app.storage.write() as tx:
            await choose(tx, caller.user.id, status)


def presence_of(
    user_id: str, seen: Seen, kept: Kept, now: float, time: int, *, is_own: bool = False
) -> UserPresence:
    """Return what is told of a user; to themselves, what is so.

    `now` is by the clock of `trio.current_time`, `time` the same in epoch milliseconds.
    """
    if kept.choice is NO_CHOICE and not kept.is_deactivated and now < seen.online_until:
        # Most of those who are asked for: a third of the work.
        return UserPresence(user_id, "online")
    choice = kept.choice._replace(shares_presence=True, status="auto") if is_own else kept.choice
    # Who is shut out is gone at once; of anybody else a short break shows nothing.
    status, is_dnd = shown("offline" if kept.is_deactivated else status_of(seen, now), choice, time)
    # Of who chose to be away it would tell that they are not.
    is_told = choice.status == "auto" and choice.shares_presence and status != "online"
    last = last_seen(seen, now, time, kept.seen_at) if is_told else None
    return UserPresence(user_id, status, is_dnd or UNSET, UNSET if last is None else last)


def _named(user_ids: str) -> Sequence[str]:
    named = list(dict.fromkeys(one for one in user_ids.split(",") if one))
    if len(named) > MOST_USERS:
        raise BadRequest(f"userIds names more than {MOST_USERS} users.")
    return named
