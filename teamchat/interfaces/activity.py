"""Who has a stream open, and who is active at one, as plugins may ask (extension I-1)."""

from __future__ import annotations

from math import inf
from typing import NamedTuple, Protocol

NEVER = -inf
"""The time of what never was."""


ONLINE_SECONDS = 300.0
"""How long after one was active one is online, as long as a stream is open."""
OFFLINE_SECONDS = 60.0
"""How long after the last stream ended one is offline: short breaks show nothing."""


class Seen(NamedTuple):
    """What is known of a user's streams, by the clock of `trio.current_time`.

    `is_open` is whether there is one. `active_until` is when one of them was active last, or will be at the
    longest; `left_at` is when the last one ended, and means nothing while one is open. What never was is
    minus infinity.
    """

    is_open: bool = False
    active_until: float = NEVER
    left_at: float = NEVER

    @property
    def online_until(self) -> float:
        """When one is online no longer, if nothing happens (I-2)."""
        return min(self.active_until + ONLINE_SECONDS, self.there_until)

    @property
    def there_until(self) -> float:
        """When one is offline, if nothing happens: never while a stream is open."""
        return inf if self.is_open else self.left_at + OFFLINE_SECONDS


class Changed:
    """The users of whose streams something has changed since they were taken last, each once."""

    def __init__(self) -> None:
        self._users: set[str] = set()

    def add(self, user_id: str) -> None:
        """Put a user among them."""
        self._users.add(user_id)

    def take(self) -> set[str]:
        """Take what there is."""
        taken, self._users = self._users, set()
        return taken


class Activity(Protocol):
    """Who is there, in all processes on the storage, as far as this one has heard.

    What the others tell may be lost, or be some seconds old.
    """

    def is_active(self, user_id: str) -> bool:
        """Tell whether a stream of a user is active, as its client said within 90 seconds (I-1).

        False for all that is not known: so a notification rather comes than not.
        """

    def of(self, user_id: str) -> Seen:
        """Return what is known of a user's streams."""

    def there(self) -> set[str]:
        """Return the users who have a stream, or had one within the last ten minutes."""

    def follow(self) -> Changed:
        """Return where users are put, from now on, of whose streams something changes."""
