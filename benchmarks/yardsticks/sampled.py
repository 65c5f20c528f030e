"""``python -m benchmarks.yardsticks.sampled FILE serve …``: ``teamchat``, watched where its time goes.

At a first SIGUSR1 it begins to look, every few milliseconds of processor time, at which module the event loop
is in, and at a second one it writes to FILE, as JSON, how many seconds of processor time went to each step.
A function of Python's own or of a package counts for the step that has called it; Trio is a step itself.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType

from teamchat.cli import main

_INTERVAL = 0.001  # seconds
STEPS = (
    ("/trio/", "Trio"),
    ("/teamchat/http/http1/transport", "system calls of the socket"),
    ("/teamchat/http/", "the head (llhttp), the connection"),
    ("/teamchat/web/guard", "who asks"),
    ("/teamchat/accounts/", "who asks"),
    ("/teamchat/web/", "routes, checks, the answer"),
    ("/teamchat/storage/sqlite/transaction", "statements"),
    ("/teamchat/storage/", "transactions, the log's end"),
    ("/teamchat/stream/", "handing events out"),
    ("/teamchat/capabilities/", "capabilities"),
    ("/teamchat/mentions/", "capabilities"),
    ("/teamchat/read_state/", "capabilities"),
    ("/teamchat_search/", "search, beside the post"),
    ("/teamchat_", "capabilities"),
    ("/teamchat/", "the chat's rules, events"),
)
"""Parts of modules' paths, the first that fits of which counts, and the steps that they are."""
COMMIT = "the commit, in its thread"
OTHER = "all else"


class Sampler:
    """Counts processor time of the main thread by step. It begins and ends with `toggle`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: defaultdict[str, float] | None = None
        self._seen = self._process = 0.0

    def toggle(self, *_: object) -> None:
        """Begin; or end, and write what was found."""
        if self._seconds is None:
            self._seconds = defaultdict(float)
            self._seen, self._process = time.thread_time(), time.process_time()
            signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)
            return
        signal.setitimer(signal.ITIMER_PROF, 0)
        in_all = time.process_time() - self._process
        self._seconds[COMMIT] = in_all - sum(self._seconds.values())
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._seconds))
        new.rename(self._file)
        self._seconds = None

    def look(self, _: int, frame: FrameType | None) -> None:
        """Count the time since the last look for the step that the main thread is in."""
        if self._seconds is None:
            return
        # Other threads' time is none of it: what they took the timer counts, and this clock does not.
        now = time.thread_time()
        self._seconds[_step_of(frame)] += now - self._seen
        self._seen = now


def _step_of(frame: FrameType | None) -> str:
    while frame is not None:
        path = frame.f_code.co_filename
        for part, step in STEPS:
            if part in path:
                return step
        frame = frame.f_back
    return OTHER


if __name__ == "__main__":
    sampler = Sampler(Path(sys.argv.pop(1)))
    signal.signal(signal.SIGUSR1, sampler.toggle)
    signal.signal(signal.SIGPROF, sampler.look)
    sys.exit(main())
