"""Telling streams who comes and goes, and keeping when people were seen last (extensions I-3 and I-5).

Each process does it for its own streams, from what all processes know of each other's: nothing is carried.
What changes is joined for two seconds, so a user who flickers is one frame and a stream gets one write.
While the server is busy it is all put off, and told as it is then.
"""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import trio

from teamchat import StorageError
from teamchat.model import now_ms
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat_presence.events import PresenceUpdate
from teamchat_presence.presence import UserPresence, load_of, presence_of
from teamchat_presence.statuses import Choice, last_seen, status_of, turns_at
from teamchat_presence.stored import Kept, choosers, kept_of, see

if TYPE_CHECKING:
    from teamchat import Teamchat

TICK_SECONDS = 2.0
QUIET_SECONDS = 10.0
"""After a start nothing is told for so long: everybody comes back at once."""
CHOICES_SECONDS = 6.0
"""How often it is looked for who has chosen another status, or paused: at any process."""
KEEP_SECONDS = 600.0
"""How old what is kept of somebody who is there may get."""
MOST_AT_ONCE = 256
"""How many users' changes are told together, and rows written, before others have their turn."""
_WORKED_OUT_AT_ONCE = 32  # users, before requests go on

_log = get_logger(__name__)
_Told = tuple[str, bool]


class Watching:
    """The service that tells streams of presence."""

    name = "presence"

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._load = load_of(app)
        self._changed = app.activity.follow()
        self._waiting: dict[str, None] = {}
        self._told: dict[str, _Told] = {}
        self._turns: list[tuple[float, str]] = []
        self._choices: dict[str, Choice] = {}
        self._kept_at: dict[str, float] = {}
        self._unkept: dict[str, None] = {}

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Tell until cancelled."""
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._load.run)
            nursery.start_soon(self._every, CHOICES_SECONDS, self._read_choices)
            nursery.start_soon(self._every, TICK_SECONDS, self.keep)
            await trio.sleep(QUIET_SECONDS)
            await self._every(TICK_SECONDS, self.tell)

    async def tell(self) -> None:
        """Tell what has changed since the last time."""
        self._take(self._changed.take())
        now = trio.current_time()
        while self._turns and self._turns[0][0] <= now:
            self._take([heapq.heappop(self._turns)[1]])
        while self._waiting and not self._load.is_high:
            users = list(islice(self._waiting, MOST_AT_ONCE))
            async with self._app.storage.read() as tx:
                kept = await kept_of(tx, users)
            for user in users:
                del self._waiting[user]
            await self._app.signal_about(await self._updates(users, kept))

    async def keep(self) -> None:
        """Keep when those were seen last who have left, or whose row is old."""
        if not self._unkept or self._load.is_high:
            return
        users = list(islice(self._unkept, MOST_AT_ONCE))
        now, time = trio.current_time(), now_ms()
        seen = {user: last_seen(self._app.activity.of(user), now, time) for user in users}
        async with self._app.storage.write() as tx:
            await see(tx, {user: at for user, at in seen.items() if at is not None})
        for user in users:
            del self._unkept[user]

    def _take(self, users: Iterable[str]) -> None:
        for user in users:
            self._waiting[user] = None

    async def _updates(self, users: Sequence[str], kept: dict[str, Kept]) -> dict[str, PresenceUpdate]:
        updates = {}
        for number, user in enumerate(users):
            if not number % _WORKED_OUT_AT_ONCE:
                await trio.lowlevel.checkpoint()
                now, time = trio.current_time(), now_ms()
            self._expect(user)
            seen = self._app.activity.of(user)
            found = presence_of(user, seen, kept[user], now, time) if user in kept else _removed(user)
            told = found.status, found.is_dnd is True
            if self._told.get(user, ("offline", False)) != told:
                updates[user] = PresenceUpdate(user, found.status, found.is_dnd, found.last_seen)
            if told == ("offline", False):
                self._told.pop(user, None)
            else:
                self._told[user] = told
        return updates

    def _expect(self, user: str) -> None:
        """Come back to somebody when their status changes by itself, and keep when they were seen."""
        now, seen = trio.current_time(), self._app.activity.of(user)
        turn = turns_at(seen, now)
        if turn is not None:
            heapq.heappush(self._turns, (turn, user))
        is_gone = status_of(seen, now) == "offline"
        if is_gone or now - self._kept_at.get(user, float("-inf")) > KEEP_SECONDS:
            self._unkept[user] = None
            self._kept_at[user] = now
        if is_gone:
            self._kept_at.pop(user, None)

    async def _read_choices(self) -> None:
        """Tell of who has chosen otherwise since the last look; a pause that has ended is one too."""
        async with self._app.storage.read() as tx:
            choices = await choosers(tx, now_ms())
        both = self._choices.keys() | choices.keys()
        self._take(one for one in both if self._choices.get(one) != choices.get(one))
        self._choices = choices

    async def _every(self, seconds: float, do: Callable[[], Awaitable[None]]) -> None:
        outage = Outage(_log, "presence can't be read or kept, and is tried again")
        while True:
            await trio.sleep(seconds)
            with outage.noted(StorageError):
                await do()


def _removed(user_id: str) -> UserPresence:
    """Return what is told of who is no user any more."""
    return UserPresence(user_id, "offline")
