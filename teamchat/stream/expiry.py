"""Ends streams soon after their session has expired by the clock, which no event tells (decision D-37).

The expiry of a session is asked for when a stream of it opens, and again when that time has come, because it
may have been refreshed meanwhile. So an idle stream costs no statement.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice

import trio

from teamchat.errors import StorageError
from teamchat.model import now_ms
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat.stream.subscriptions import Subscriptions

CHECK_SECONDS = 5.0
"""How often it is looked for sessions that have expired; a stream outlives its own by little more."""
_ASKED_AT_ONCE = 512

Expiries = Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]
"""Returns when sessions expire, in epoch milliseconds, leaving out those that have ended or expired."""

_log = get_logger(__name__)


class Expiry:
    """Ends the streams of sessions that have expired. `clock` tells the time in epoch milliseconds."""

    def __init__(self, streams: Subscriptions, expiries: Expiries, clock: Callable[[], int] = now_ms) -> None:
        self._streams = streams
        self._expiries = expiries
        self._clock = clock
        self._known: dict[str, int] = {}

    async def run(self) -> None:
        """Look every few seconds, until cancelled."""
        outage = Outage(_log, "which sessions have expired can't be read, and is asked again")
        while True:
            await trio.sleep(CHECK_SECONDS)
            with outage.noted(StorageError):
                await self._look()

    async def _look(self) -> None:
        now, known = self._clock(), self._known
        self._known = {session: known.get(session, 0) for session in self._streams.sessions()}
        due = iter([session for session, expires_at in self._known.items() if expires_at <= now])
        while asked := list(islice(due, _ASKED_AT_ONCE)):
            alive = await self._expiries(asked)
            self._known.update(alive)
            self._streams.end_sessions(session for session in asked if session not in alive)
            await trio.lowlevel.checkpoint()  # An embedded storage answers without one.
