"""One worker process, as the supervisor sees it.

It is a new interpreter, not a fork. A fork copies one thread of a process that has several, with locks that
the others held and will never release; it would carry SQLite's connections into a process that does not hold
their locks; and a worker started a week later would begin with everything that had accumulated until then. A
new interpreter costs a second, and has what it was given (the line and the listening sockets) and nothing
else.

A worker never outlives its supervisor. It ends when its line does; if the supervisor drops it in any other
way, it is killed and waited for. A serving worker that is not heard of any more is killed too: its event loop
is blocked, or the kernel has stopped it, and its clients wait in vain. That is counted in looks at the line,
not in time: while the machine sleeps, or the supervisor itself is stopped, no look is missed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import trio

from teamchat.observability.logs import get_logger
from teamchat.server.workers.line import BEAT_SECONDS, Alive, Failed, Line
from teamchat.settings import Settings

MOST_MISSED = 24
"""In so many looks, one every `BEAT_SECONDS`, a worker must have been heard of."""
_LAST_WORDS_SECONDS = 1.0  # for what a worker reported before it died, which may not be read yet

_log = get_logger(__name__)


class Worker:
    """A worker that was started. Made by `started`."""

    def __init__(self, process: trio.Process, line: Line) -> None:
        self._process = process
        self._line = line
        self.pid = process.pid
        self.was_ready = False
        self._was_heard = False
        self.reason: str | None = None
        """Why it has ended, in a sentence for the operator, if it said so."""

    async def live(self, is_ready: Callable[[], object]) -> None:
        """Wait until it has ended; call `is_ready` once it serves."""
        async with trio.open_nursery() as watching:
            watching.start_soon(self._kill_if_silent)
            async with trio.open_nursery() as listening:
                listening.start_soon(self._listen, is_ready)
                await self._process.wait()
                listening.cancel_scope.deadline = trio.current_time() + _LAST_WORDS_SECONDS
            watching.cancel_scope.cancel()

    async def end(self) -> None:
        """Have it finish what it does, and end."""
        await self._line.end()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    @property
    def was_asked_to_end(self) -> bool:
        """Whether it ended as it should: somebody sent it SIGTERM."""
        return self._process.returncode == 0

    def how_it_ended(self) -> str:
        """Name the signal that killed it, or its exit status."""
        status = self._process.returncode
        if status is None or status >= 0:
            return f"exit status {status}"
        try:
            return f"killed by {signal.Signals(-status).name}"
        except ValueError:  # Most of the real-time signals have no name.
            return f"killed by signal {-status}"

    async def _listen(self, is_ready: Callable[[], object]) -> None:
        while (report := await self._line.hear()) is not None:
            self._was_heard = True
            if isinstance(report, Failed):
                self.reason = report.sentence
            elif not isinstance(report, Alive):
                self.was_ready = True
                is_ready()

    async def _kill_if_silent(self) -> None:
        missed = 0
        while missed < MOST_MISSED:
            self._was_heard = False
            await trio.sleep(BEAT_SECONDS)
            missed = missed + 1 if self.was_ready and not self._was_heard else 0
        _log.error("a worker is not heard of any more and is killed", process=self.pid)
        self.kill()


@asynccontextmanager
async def started(settings: Settings, listeners: Sequence[trio.SocketListener]) -> AsyncIterator[Worker]:
    """Start a worker and hand it the settings; leave no process behind, whatever happens."""
    line, theirs = Line.pair()
    try:
        with theirs:
            process = await _open(theirs.fileno(), *(listener.socket.fileno() for listener in listeners))
        try:
            await line.give(settings)
            yield Worker(process, line)
        finally:
            if process.returncode is None:
                process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
    finally:
        line.close()


async def _open(*descriptors: int) -> trio.Process:
    """Run ``teamchat.server.workers`` in a process group of its own: Ctrl-C is for the supervisor alone."""
    return await trio.lowlevel.open_process(
        [sys.executable, *_where_to_look(), "-m", "teamchat.server.workers", *map(str, descriptors)],
        stdin=subprocess.DEVNULL,
        pass_fds=descriptors,
        env={name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"},
        process_group=0,
    )


def _where_to_look() -> list[str]:
    """Have the new interpreter look for modules in the current directory only if this one does."""
    return [] if sys.path[0] in {"", os.getcwd()} else ["-P"]
