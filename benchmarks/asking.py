"""Many requests: at an even pace whatever the answers take, or each connection as fast as it is answered.

At an even pace a request's time begins when it was due.  If the server is so slow that
no connection is free, the request waits here, and its waiting counts; a server can't look fast by being
asked less.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Self

from benchmarks.client import Answer, Connection
from benchmarks.loop import Loop

_DRAIN_DEADLINE = 120.0  # seconds


class Asker(AbstractContextManager["Asker"]):
    """Asks what `make(number)` gives, for numbers from 0; keeps when each was begun and answered.

    An answer other than 200 ends the run, or is given to `refused` and counts as none of those answered.
    """

    def __init__(
        self,
        loop: Loop,
        port: int,
        make: Callable[[int], bytes],
        *,
        connections: int = 16,
        refused: Callable[[Answer], object] | None = None,
    ) -> None:
        self._loop = loop
        self._make = make
        self._connections = [Connection(loop, port) for _ in range(connections)]
        self._free = deque(self._connections)
        self._waiting: deque[int] = deque()
        self._flood_end = 0.0
        self._pace = 0.0
        self._refused = refused
        self.refusals = 0
        self.begun: list[float] = []
        self.answered: dict[int, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for connection in self._connections:
            connection.close()

    @property
    def outstanding(self) -> int:
        """How many requests have no answer yet."""
        return len(self.begun) - len(self.answered) - self.refusals

    def times(self, since: int = 0) -> list[float]:
        """Return the seconds that each answer took, for the requests from number `since` on."""
        return [moment - self.begun[number] for number, moment in self.answered.items() if number >= since]

    def start(self, rate: float) -> None:
        """Ask at an even pace while the loop runs, until `stop`."""
        self._pace = rate
        self._ask_at_pace(time.perf_counter())

    def stop(self) -> None:
        """Ask no more, and wait for the answers."""
        self._pace = 0.0
        self._finish(lambda: not self.outstanding, 0)

    def paced(self, rate: float, count: int) -> list[float]:
        """Ask so many times at an even pace, wait for the answers and return their times."""
        since, began = len(self.begun), time.perf_counter()
        self.at(began + number / rate for number in range(count))
        self._finish(lambda: len(self.answered) == since + count, count / rate)
        return self.times(since)

    def at(self, moments: Iterable[float]) -> None:
        """Ask once at each of these moments of `time.perf_counter`, while the loop runs."""
        for due in moments:
            self._loop.at(due, partial(self._begin, due))

    def flood(self, seconds: float) -> float:
        """Ask as fast as the answers come; return how many seconds that took."""
        began = time.perf_counter()
        self._flood_end = began + seconds
        for _ in range(len(self._free)):
            self._begin(time.perf_counter())
        self._finish(lambda: time.perf_counter() >= self._flood_end and not self.outstanding, seconds)
        return time.perf_counter() - began

    def _finish(self, done: Callable[[], bool], seconds: float) -> None:
        if not self._loop.run(done, seconds + _DRAIN_DEADLINE):
            raise RuntimeError(f"{self.outstanding} requests were not answered")

    def _ask_at_pace(self, due: float) -> None:
        if self._pace:
            self._begin(due)
            following = due + 1 / self._pace
            self._loop.at(following, partial(self._ask_at_pace, following))

    def _begin(self, moment: float) -> None:
        self._waiting.append(len(self.begun))
        self.begun.append(moment)
        self._send()

    def _send(self) -> None:
        while self._waiting and self._free:
            number, connection = self._waiting.popleft(), self._free.popleft()
            connection.ask(self._make(number), partial(self._done, connection, number))

    def _done(self, connection: Connection, number: int, answer: Answer) -> None:
        now = time.perf_counter()
        if answer.status == 200:
            self.answered[number] = now
        elif self._refused is None:
            raise RuntimeError(f"the server answered {answer.status}: {answer.body[:200]!r}")
        else:
            self.refusals += 1
            self._refused(answer)
        self._free.append(connection)
        if now < self._flood_end:
            self._begin(now)
        else:
            self._send()
