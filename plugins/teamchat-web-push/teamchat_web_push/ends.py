"""Sessions that ended while Web Push was off, as the log tells of them (extension J-2).

While it is on, a subscription ends in the transaction that ends its session
(`teamchat_web_push.subscriptions.Ending`), and nothing is left to do here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from teamchat import LoggedEvent
from teamchat.model import now_ms
from teamchat.storage.statements import chunks

if TYPE_CHECKING:
    from teamchat import Storage

_SESSIONS_ENDED = "_SESSIONS_ENDED"
_USER_GONE = "_USER_GONE"
_IS_OVER = """not exists (select 1 from sessions
where sessions.id = web_push_subscriptions.session_id and sessions.expires_at > $1)"""


class _SessionsEnded(Struct, frozen=True, rename="camel"):
    session_ids: Sequence[str]
    have_expired: bool = False
    all_of: str = ""


class _UserGone(Struct, frozen=True, rename="camel"):
    user_id: str


class Ends:
    """Ends the subscriptions of sessions that somebody has ended; one that merely expired keeps its own."""

    def __init__(self, storage: Storage, clock: Callable[[], int] = now_ms) -> None:
        self._storage = storage
        self._clock = clock

    async def hear(self, event: LoggedEvent) -> None:
        """Take an event of the log."""
        if event.type == _USER_GONE:
            await self._end_of_user(msgspec.json.decode(event.payload, type=_UserGone).user_id)
        elif event.type == _SESSIONS_ENDED:
            ended = msgspec.json.decode(event.payload, type=_SessionsEnded)
            if not ended.have_expired:
                for marks, piece in chunks(ended.session_ids):
                    await self._end(f"session_id in ({marks})", *piece)
            if ended.all_of:
                await self._end_of_user(ended.all_of)

    async def end_doubtful(self) -> None:
        """End each whose session is over, for whatever reason: the log does not reach back to the reason."""
        await self._end(_IS_OVER, self._clock())

    async def _end_of_user(self, user_id: str) -> None:
        """End a user's, but those of sessions that go on or began after the event."""
        await self._end(f"{_IS_OVER} and user_id = $2", self._clock(), user_id)

    async def _end(self, which: str, *parameters: str | int) -> None:
        async with self._storage.read() as tx:
            found = await tx.fetch(
                f"select 1 from web_push_subscriptions where {which} limit 1",  # noqa: S608
                *parameters,
            )
        if found:
            async with self._storage.write() as tx:
                await tx.fetch(f"delete from web_push_subscriptions where {which}", *parameters)  # noqa: S608
