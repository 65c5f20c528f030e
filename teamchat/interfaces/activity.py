"""Who has a stream open, and who is active, as far as plugins may ask (extension I-1)."""

from __future__ import annotations

from math import inf
from typing import NamedTuple, Protocol

NEVER = -inf
"""The time of something that never happened."""

ONLINE_SECONDS = 300.0
"""For how long after being active a user counts as online, while they have a stream open."""
OFFLINE_SECONDS = 60.0
"""For how long after their last stream ended a user is not offline yet, so that short breaks don't show."""


class Seen(NamedTuple):
    """What is known of a user's streams, by the clock of `trio.current_time`.

    `is_open` says whether there is one. `active_until` is when one of them was last active, or until when it
    counts as active at most; `left_at` is when the last one ended, and means nothing while one is open. A
    time that never was is minus infinity.
    """

    is_open: bool = False
    active_until: float = NEVER
    left_at: float = NEVER

    @property
    def online_until(self) -> float:
        """When the user will no longer be online if nothing happens (I-2)."""
        return min(self.active_until + ONLINE_SECONDS, self.there_until)

    @property
    def there_until(self) -> float:
        """When the user will be offline if nothing happens: never while a stream is open."""
        return inf if self.is_open else self.left_at + OFFLINE_SECONDS


class Changed:
    """The users whose streams have changed since `take` was last called, each once."""

    def __init__(self) -> None:
        self._users: set[str] = set()

    def add(self, user_id: str) -> None:
        """Add a user."""
        self._users.add(user_id)

    def take(self) -> set[str]:
        """Return the users, and forget them."""
        taken, self._users = self._users, set()
        return taken


class Activity(Protocol):
    """Who is there, in all processes on the storage, as far as this one has heard.

    What other processes report may be lost or a few seconds old.
    """

    def is_active(self, user_id: str) -> bool:
        """Return whether a user has an active stream, as its client said within the last 90 seconds (I-1).

        Returns False if that is not known, so that a notification is sent rather than missed.
        """

    def of(self, user_id: str) -> Seen:
        """Return what is known of a user's streams."""

    def there(self) -> set[str]:
        """Return the users who have a stream, or have had one within the last ten minutes."""

    def follow(self) -> Changed:
        """Return a `Changed` that from now on collects the users whose streams change."""
