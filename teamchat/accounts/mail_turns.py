"""Whose mail is sent next: everybody who asks for mails gets a turn, whatever others have asked for.

A requester is a client's network, a user, or the operator at the command line (an empty name). Each process
that sends mail keeps its own accounts of them in memory, because they are about the slots of that process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

import trio

from teamchat.accounts.attempts import network_of

HALF_LIFE_SECONDS = 300.0
"""After this time what a requester has used of the slots counts half."""
_FORGOTTEN_SECONDS = 0.01


def network_requester(ip: str) -> str:
    """Return who somebody is that is not signed in: their address, or its /64."""
    return f"network:{network_of(ip)}"


def user_requester(user_id: str) -> str:
    """Return who a user is that asks for a mail to somebody."""
    return f"user:{user_id}"


class Asked(Protocol):
    """Something that a requester waits for."""

    @property
    def requester(self) -> str: ...


_A = TypeVar("_A", bound=Asked)


class Turns:
    """Who holds how many slots, and for how many seconds each has held some lately."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._used: dict[str, tuple[float, float]] = {}

    @property
    def held(self) -> int:
        """How many slots are held."""
        return self._held.total()

    def choose(self, waiting: Sequence[_A], free: int) -> list[_A]:
        """Choose what takes the `free` slots; of one requester, what stands first in `waiting`.

        The next slot goes to who has had least of them lately.  Nobody holds more slots than are left
        free: one requester alone gets half of them, two get three quarters, and so the last one is held by
        a stranger's slow mails only if many addresses act together.
        """
        queues: dict[str, list[_A]] = {}
        for each in waiting:
            queues.setdefault(each.requester, []).append(each)
        held, chosen = self._held.copy(), []
        while able := [requester for requester, queue in queues.items() if queue and held[requester] < free]:
            # A slot that is held counts as a second, before it is known how long it takes.
            requester = min(able, key=lambda each: self.used(each) + held[each])
            chosen.append(queues[requester].pop(0))
            held[requester] += 1
            free -= 1
        return chosen

    @contextmanager
    def holding(self, requester: str) -> Iterator[None]:
        """Hold a slot, and account for the time it takes."""
        began = trio.current_time()
        self._held[requester] += 1
        try:
            yield
        finally:
            self._held[requester] -= 1
            self._account(requester, trio.current_time() - began)

    def used(self, requester: str) -> float:
        """Return for how many seconds a requester has held slots; what is past counts ever less."""
        seconds, noted_at = self._used.get(requester, (0.0, 0.0))
        return seconds * float(0.5 ** ((trio.current_time() - noted_at) / HALF_LIFE_SECONDS))

    def _account(self, requester: str, seconds: float) -> None:
        self._used[requester] = (self.used(requester) + seconds, trio.current_time())
        # Else a name would stay for every network that ever asked.
        self._used = {each: used for each, used in self._used.items() if self.used(each) > _FORGOTTEN_SECONDS}
        self._held += Counter()  # keeps those above zero
