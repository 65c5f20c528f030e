"""The processes that serve one storage, and which of them are alive.

No clock is compared with that of another process. A member's row has a count of beats, which the member
increases every ten seconds. Whoever looks at it four times in a row, at that pace, and finds it unchanged
takes the member for dead, and removes its row with everything that belongs to it. Looks that fail do not
count: when a storage comes back, nobody is dead. A member that was removed although it is alive (its machine
slept) enters again at its next beat. A member that ends removes its row itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import trio

from teamchat.events import MemberJoined
from teamchat.interfaces import Storage, Transaction
from teamchat.model import now_ms
from teamchat.model.ids import new_id
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage

BEAT_SECONDS = 10.0
MOST_UNCHANGED = 4
"""After so many looks without a beat in between a member is dead."""
_LEAVE_SECONDS = 2.0

_log = get_logger(__name__)


class Members:
    """This process as a member, and what it knows of the others."""

    def __init__(self, storage: Storage) -> None:
        self.id = new_id()
        self.others = 0
        """How many other members there were at the last look."""
        self._storage = storage
        self._seen: Mapping[str, tuple[int, int]] = {}  # id: beats, and how often they were found so
        self._wanted = trio.Event()

    async def join_in(self, tx: Transaction) -> None:
        """Become a member, in a transaction that is open, and notify the others."""
        await self.enter_in(tx)
        others = [row for row in await beats_in(tx) if row[0] != self.id]
        self.others = len(others)
        if others:
            await self.call_in(tx)

    async def call_in(self, tx: Transaction) -> None:
        """Have every member that is alive beat now, in a transaction that is open."""
        await tx.append(MemberJoined(self.id).to())

    async def enter_in(self, tx: Transaction) -> bool:
        """Count a beat, in a transaction that is open. Return whether this member had to enter (again)."""
        if await tx.fetch("update members set beats = beats + 1 where id = $1 returning beats", self.id):
            return False
        await tx.fetch("insert into members (id, joined_at, beats) values ($1, $2, 0)", self.id, now_ms())
        return True

    async def leave(self) -> None:
        """Be a member no longer; what can't be removed now is removed by the others, or at the next start."""
        with trio.move_on_after(_LEAVE_SECONDS, shield=True):
            try:
                async with self._storage.write() as tx:
                    await tx.fetch("delete from members where id = $1", self.id)
            except Exception as error:
                _log.info("this process could not be signed off", exc_info=error)

    def look_soon(self) -> None:
        """Look at the others now: somebody joined."""
        self._wanted.set()

    async def run(self, looked: Callable[[bool], object]) -> None:
        """Beat and look, until cancelled.

        `looked` is called after each look, with whether this process had been removed by the others.
        """
        outage = Outage(_log, "the storage can't be told that this process lives")
        while True:
            with trio.move_on_after(BEAT_SECONDS) as pause:
                await self._wanted.wait()
            self._wanted = trio.Event()
            with outage.noted(Exception):
                looked(await self.beat(counts=pause.cancelled_caught))

    async def beat(self, *, counts: bool = True) -> bool:
        """Count a beat, look at the others' and remove the dead. Return whether this one was removed.

        A look that comes early does not count: the others had no time to beat.
        """
        async with self._storage.write() as tx:
            was_removed = await self.enter_in(tx)
            seen = self._looked_at(dict(await beats_in(tx)), int(counts))
            dead = [member for member, (_, times) in seen.items() if times >= MOST_UNCHANGED]
            for member in dead:
                await tx.fetch("delete from members where id = $1", member)
        self._seen = {member: what for member, what in seen.items() if member not in dead}
        self.others = len(self._seen)
        return was_removed

    def _looked_at(self, beats: Mapping[str, int], step: int) -> dict[str, tuple[int, int]]:
        seen = {}
        for member, count in beats.items():
            before, times = self._seen.get(member, (-1, 0))
            seen[member] = (count, times + step if count == before else 0)
        seen.pop(self.id, None)
        return seen


async def beats_in(tx: Transaction) -> list[tuple[str, int]]:
    """Return the members and their beats."""
    return [(member, beats) for member, beats in await tx.fetch("select id, beats from members")]


async def silent(
    read: Callable[[], Awaitable[list[tuple[str, int]]]], seconds: float, pause: float = 0.5
) -> Mapping[str, int] | None:
    """Watch all members for `seconds`, and return those that stood still, or None once one beats.

    Ends early when there is none left: all have signed off.
    """
    first = dict(await read())
    deadline = trio.current_time() + seconds
    while True:
        now = dict(await read())
        if any(beats != first.get(member) for member, beats in now.items()):
            return None
        if not now or trio.current_time() >= deadline:
            return now
        await trio.sleep(pause)
