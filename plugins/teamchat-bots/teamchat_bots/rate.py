"""How fast a bot posts: ten messages a second, and edits among them, over all processes (K, Traps).

Each message takes a tenth of a second; a bot may be a second ahead of the clock, so ten come at once.  It is
counted in the transaction of the message, and what is refused was not counted.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from teamchat import Outcome, TooManyRequests, Transaction, Written

PER_SECOND = 10
AHEAD_MS = 1000
"""How far ahead of the clock a bot may be, in milliseconds."""
_EACH_MS = 1000 // PER_SECOND
# One that is further ahead than can be was counted by a clock that was set back since.
_COUNT = f"""insert into bots_rates (user_id, free_at) values ($1, $2 + {_EACH_MS})
on conflict (user_id) do update set free_at = {_EACH_MS} +
  case when bots_rates.free_at > $2 and bots_rates.free_at <= $2 + {2 * AHEAD_MS}
    then bots_rates.free_at else $2 end
returning free_at"""  # noqa: S608


class NoFields(Struct, frozen=True):
    """Bodies of messages have nothing for this."""


def is_by_a_bot(written: Written) -> bool:
    """Return whether a bot writes. A webhook is none: it has no account."""
    return written.caller is not None and written.message.author.is_bot is True


class Rate:
    """Counts what bots write. `clock` tells epoch milliseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    async def count(self, tx: Transaction, written: Written) -> Outcome:
        """Count a message. Raises `TooManyRequests` for one too many."""
        await self.take(tx, written.message.author.id)
        return Outcome()

    async def take(self, tx: Transaction, user_id: str) -> None:
        """Count one more of a bot's. Raises `TooManyRequests` if it is further ahead than it may be."""
        now = self._clock()
        [(free_at,)] = await tx.fetch(_COUNT, user_id, now)
        if free_at > now + AHEAD_MS:
            raise TooManyRequests(1, f"A bot posts {PER_SECOND} messages a second. Try again later.")
