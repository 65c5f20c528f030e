"""The process above the workers: it binds, prepares, starts the workers, replaces them and ends them.

* The sockets are bound once, and all workers accept connections from the same queue. If each had a socket of
  its own (SO_REUSEPORT), the clients waiting in the queue of a worker that dies would be lost with it.
* What is wrong with the configuration is printed once, on one line, before there is any worker; so is what
  the first worker finds wrong, as long as none has ever served.
* The server is reported ready once all workers serve, so that whatever follows finds it as it will be; or
  `OTHERS_SECONDS` after the first one does, if another does not start.
* A worker that ends is replaced at once; one that ends again soon after its start, after a pause that grows
  up to `LONGEST_PAUSE_SECONDS`. The others serve meanwhile.
* On a signal all workers stop like a single server. They have `DRAIN_SECONDS`, then they are killed. When
  this process has ended, so have they, however it ended.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import trio

from teamchat.errors import OperatorError
from teamchat.http.sockets import port_of
from teamchat.observability.logs import get_logger
from teamchat.server import GRACE_SECONDS, prepared, process, say_ready
from teamchat.server.workers.worker import Worker, started
from teamchat.settings import Settings

if TYPE_CHECKING:
    from teamchat.plugins import Plugins

DRAIN_SECONDS = GRACE_SECONDS + 10
STEADY_SECONDS = 10.0
"""A worker that lived so long did not end because of how it was started."""
OTHERS_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0

_log = get_logger(__name__)


def run(settings: Settings, plugins: Plugins, count: int) -> None:
    """Serve with so many workers until SIGTERM or SIGINT. Raises an `OperatorError` if none can start."""
    process.prepare()
    supervisor = Supervisor(settings, count)
    trio.run(process.until_signalled, partial(supervisor.run, plugins), supervisor.kill_all)


class Pauses:
    """How long to wait before a worker is replaced: not at all, unless it keeps ending after its start."""

    def __init__(self) -> None:
        self._short_lives = 0

    def after(self, lived: float) -> float:
        """Return the seconds to wait after a worker that lived for so many."""
        if lived >= STEADY_SECONDS:
            self._short_lives = 0
            return 0.0
        self._short_lives += 1
        if self._short_lives == 1:
            return 0.0
        return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self._short_lives - 2, 30))


class Supervisor:
    """Keeps `count` workers running."""

    def __init__(self, settings: Settings, count: int) -> None:
        self._settings = settings
        self._missing = set(range(count))
        """The slots whose worker has not been ready yet."""
        self._count = count
        self._workers: set[Worker] = set()
        self._first_ready = trio.Event()
        self._all_ready = trio.Event()
        self._stop = trio.Event()

    async def run(self, plugins: Plugins, stop: trio.Event) -> None:
        """Serve until `stop`."""
        self._stop = stop
        async with prepared(self._settings, plugins) as listeners, trio.open_nursery() as nursery:
            async with trio.open_nursery() as workers:
                for slot in range(self._count):
                    workers.start_soon(self._keep, slot, listeners)
                nursery.start_soon(self._announce, port_of(listeners))
                await stop.wait()
                for listener in listeners:
                    listener.socket.close()
                for worker in tuple(self._workers):
                    await worker.end()
                workers.cancel_scope.deadline = trio.current_time() + DRAIN_SECONDS
            nursery.cancel_scope.cancel()

    def kill_all(self) -> None:
        """End every worker at once."""
        for worker in self._workers:
            worker.kill()

    async def _announce(self, port: int) -> None:
        await self._first_ready.wait()
        with trio.move_on_after(OTHERS_SECONDS):
            await self._all_ready.wait()
        say_ready(self._settings.server, port)

    async def _keep(self, slot: int, listeners: Sequence[trio.SocketListener]) -> None:
        """Have a worker in this slot until the end."""
        pauses = Pauses()
        while not self._stop.is_set():
            began = trio.current_time()
            try:
                async with started(self._settings, listeners) as worker:
                    await self._watch(worker, slot)
            except OSError as error:  # the system has no process, memory or descriptor left
                self._tell("a worker could not be started", None, error.strerror or type(error).__name__)
            else:
                self._tell("a worker ended", worker, worker.how_it_ended())
            with trio.move_on_after(pauses.after(trio.current_time() - began)):
                await self._stop.wait()

    async def _watch(self, worker: Worker, slot: int) -> None:
        self._workers.add(worker)
        try:
            if self._stop.is_set():
                await worker.end()
            await worker.live(partial(self._is_ready, slot))
        finally:
            self._workers.discard(worker)

    def _is_ready(self, slot: int) -> None:
        self._missing.discard(slot)
        self._first_ready.set()
        if not self._missing:
            self._all_ready.set()

    def _tell(self, event: str, worker: Worker | None, how: str | None) -> None:
        """Log what became of a worker, unless it should end; raise if there was never one that served."""
        if self._stop.is_set():
            return
        reason = worker.reason if worker else None
        if len(self._missing) == self._count:
            raise OperatorError(reason or f"{event.capitalize()} before any was ready ({how}).")
        level = logging.INFO if worker and worker.was_asked_to_end else logging.ERROR
        _log.log(
            level, f"{event} and is replaced", process=worker.pid if worker else None, how=how, reason=reason
        )
