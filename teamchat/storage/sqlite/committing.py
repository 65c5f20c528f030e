"""A thread only for commits, so that a commit never waits for whatever keeps the other threads busy."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

import trio


class CommitThread:
    """Does one thing at a time, for a task that waits for it.

    The task is woken by a pipe of its own: by `trio.to_thread` and by a token of Trio's another task would
    run first, and this one a turn of the loop later.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._errors: list[BaseException] = []
        self._thread: threading.Thread | None = None
        self._done, self._is_done = os.pipe()

    async def run(self, work: Callable[[], object]) -> None:
        """Call `work` there and wait for its end, whatever is cancelled. Raises what it raises.

        Raises `RuntimeError` where the system has no thread for it.
        """
        if self._thread is None:
            thread = threading.Thread(target=self._serve, name="commits", daemon=True)
            thread.start()
            self._thread = thread
        self._work.put(work)
        with trio.CancelScope(shield=True):
            await trio.lowlevel.wait_readable(self._done)
        os.read(self._done, 1)
        if self._errors:
            raise self._errors.pop()

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()
        os.close(self._done)
        os.close(self._is_done)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except BaseException as error:
                self._errors.append(error)
            os.write(self._is_done, b".")
