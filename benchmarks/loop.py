"""The one loop that all load runs in: sockets that became ready, and actions that became due.

Nothing here waits but the selector.  A thousand streams may be ready at once, and to
read them takes milliseconds; requests and timers are therefore looked at again after every few streams, so
that the time of an answer is the server's and not this loop's.
"""

from __future__ import annotations

import heapq
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import Self

Action = Callable[[], object]

_SLICE = 32  # streams read before requests and timers are looked at again
_LONGEST_WAIT = 0.05  # seconds; how soon `run` notices that it is done though nothing came


class Loop:
    """Calls what was registered, for as long as `run` runs."""

    def __init__(self) -> None:
        self._streams = selectors.DefaultSelector()
        self._requests = selectors.DefaultSelector()
        self._streams.register(self._requests, selectors.EVENT_READ, self._answer)
        self._due: list[tuple[float, int, Action]] = []
        self._numbers = count()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._streams.close()
        self._requests.close()

    def watch(self, sock: socket.socket, action: Action, *, events: int = selectors.EVENT_READ) -> None:
        """Call `action` whenever the stream's socket is ready; a new action takes the place of the old."""
        try:
            self._streams.modify(sock, events, action)
        except KeyError:
            self._streams.register(sock, events, action)

    def watch_request(self, sock: socket.socket, action: Action) -> None:
        """Call `action` promptly when the socket has something to read."""
        self._requests.register(sock, selectors.EVENT_READ, action)

    def forget(self, sock: socket.socket) -> None:
        """Call nothing more for this socket."""
        for selector in (self._streams, self._requests):
            with suppress(KeyError, ValueError):  # It was not watched, or is closed already.
                selector.unregister(sock)

    def at(self, moment: float, action: Action) -> None:
        """Call `action` once `time.perf_counter` has reached `moment`."""
        heapq.heappush(self._due, (moment, next(self._numbers), action))

    def run(self, done: Callable[[], object], seconds: float) -> bool:
        """Go on until `done` is true or the seconds have passed; return whether it is done."""
        end = time.perf_counter() + seconds
        while not (is_done := bool(done())) and time.perf_counter() < end:
            self._turn(end)
        return is_done

    def pause(self, seconds: float) -> None:
        """Go on for some seconds."""
        self.run(lambda: False, seconds)

    def _turn(self, end: float) -> None:
        self._on_time()
        ready = self._streams.select(self._patience(end))
        for begun in range(0, len(ready), _SLICE):
            for key, _ in ready[begun : begun + _SLICE]:
                key.data()
            self._answer()
            self._on_time()

    def _patience(self, end: float) -> float:
        next_due = self._due[0][0] if self._due else end
        return max(0.0, min(next_due - time.perf_counter(), _LONGEST_WAIT))

    def _answer(self) -> None:
        for key, _ in self._requests.select(0):
            key.data()

    def _on_time(self) -> None:
        while self._due and self._due[0][0] <= time.perf_counter():
            heapq.heappop(self._due)[2]()
