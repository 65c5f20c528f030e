"""Counting in windows, in the table ``attempts``: a subject's first count opens its window.

A window ends when its time has passed. It also ends if it begins further in the future than its own length,
because then the clock was set back. Some subjects have windows of another length; so code that sweeps removes
either those or all the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from teamchat.errors import TooManyRequests
from teamchat.interfaces import Storage, Transaction
from teamchat.storage.parts import delete_in_parts
from teamchat.storage.statements import values

if TYPE_CHECKING:
    from teamchat.settings import RateLimit

APART = "oauth-"
"""How subjects begin whose windows have a length of their own, such as those of sign-ins at providers."""

_COUNT = """select failures, window_start from attempts
    where subject = $1 and window_start > $2 and window_start <= $3"""
_TAKE_BACK = """update attempts set failures = case when failures > $2 then failures - $2 else 0 end
    where subject = $1"""
# Guessing at many accounts leaves some hundred thousand.
_SWEEP_APART, _SWEEP_OTHERS = (
    f"""delete from attempts where subject in (select subject from attempts
    where (window_start <= $1 or window_start > $2) and subject {how} $3 limit {{}}) returning 1"""  # noqa: S608
    for how in ("like", "not like")
)


def counting(table: str, subject: str, count: str, subjects: int = 1) -> str:
    """Return the statement that counts $4 more for so many subjects, $5 and on, and returns their rows.

    It is $1 now; a window is open that began after $2, and not after $3. The arguments name a table of
    windows and its columns.
    """
    is_open = f"{table}.window_start > $2 and {table}.window_start <= $3"
    return f"""insert into {table} ({subject}, window_start, {count})
        values {values("({0}, $1, $4)", 1, subjects, after=4)}
        on conflict ({subject}) do update set
          {count} = case when {is_open} then {table}.{count} + $4 else $4 end,
          window_start = case when {is_open} then {table}.window_start else $1 end
        returning {subject}, window_start, {count}"""  # noqa: S608


_ADD = counting("attempts", "subject", "failures")


class Counters:
    """Counts by subject, in windows of one length."""

    def __init__(self, limit: RateLimit, clock: Callable[[], int]) -> None:
        self._window_ms = limit.window_seconds * 1000
        self._clock = clock

    async def admit(self, tx: Transaction, subject: str, most: int) -> None:
        """Count once more; raise `TooManyRequests` if `subject` has been counted `most` times."""
        await self.refuse_full(tx, subject, most)
        await self.add(tx, subject)

    async def refuse_full(self, tx: Transaction, subject: str, most: int) -> None:
        """Raise `TooManyRequests` if `subject` has been counted `most` times."""
        since, until = self._open()
        for count, start in await tx.fetch(_COUNT, subject, since, until):
            if count >= most:
                raise TooManyRequests(retry_after=-((since - start) // 1000))

    async def count(self, tx: Transaction, subject: str) -> int:
        """Return how often `subject` has been counted."""
        rows = await tx.fetch(_COUNT, subject, *self._open())
        return int(rows[0][0]) if rows else 0

    async def add(self, tx: Transaction, subject: str) -> int:
        """Count once more and return the count."""
        [(_, _, count)] = await tx.fetch(_ADD, self._clock(), *self._open(), 1, subject)
        return int(count)

    async def take_back(self, tx: Transaction, subject: str, count: int) -> None:
        """Count less by so many."""
        await tx.fetch(_TAKE_BACK, subject, count)

    async def sweep(self, storage: Storage, *, apart: bool = False) -> None:
        """Remove the counts whose window is over, some in a transaction: those apart, or all others."""
        sql = _SWEEP_APART if apart else _SWEEP_OTHERS
        await delete_in_parts(storage, sql, *self._open(), f"{APART}%")

    def _open(self) -> tuple[int, int]:
        """Return after when, and until when, a window begins that is open now."""
        now = self._clock()
        return now - self._window_ms, now + self._window_ms
