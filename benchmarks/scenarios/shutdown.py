"""How long SIGTERM takes with streams open, and with clients that do not read.

Before the signal, large posts fill the buffers of the clients that read nothing, but not so far that they
are cut.  "streams ended" is when the last reader's response ended, "with a last chunk" how many ended as HTTP
wants it and were not torn off; "exit" is when the process was gone.  Each round has a server of its own.
Wanted: all streams ended within 2 s and with a last chunk, exit within 10 s, status 0, stalled or not.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks import server as servers
from benchmarks.chat import Chat
from benchmarks.counting import Tail
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, medians
from benchmarks.server import END_DEADLINE, Server
from benchmarks.sizes import Sizes
from benchmarks.streams import Streams

UNREAD = 700 * 1024  # bytes posted before the signal; under what a stream may be behind
LOOKS = 0.005  # seconds between two looks at whether the process is gone


def run(sizes: Sizes) -> Report:
    """Measure with readers alone, and with readers and clients that stall."""
    report = Report(f"SIGTERM with {sizes.listeners:,} readers, times in seconds")
    for stalled in (0, sizes.stalled_at_end):
        rounds = [_measure(sizes, stalled) for _ in range(sizes.rounds)]
        report.rows[f"{stalled} stalled"] = medians(rounds)
    return report


def _measure(sizes: Sizes, stalled: int) -> Row:
    tails = [Tail() for _ in range(sizes.listeners)]
    with tempfile.TemporaryDirectory() as directory, Loop() as loop:
        server = servers.start(Path(directory))
        try:
            chat = Chat(loop, server)
            with (
                Streams(loop, chat.port, hear=tails.__getitem__) as readers,
                chat.listen(stalled, stalling=True),
            ):
                readers.open(chat.listening(sizes.listeners))
                _fill(chat, readers, sizes)
                return _end(loop, server, readers, tails)
        finally:
            server.release()


def _fill(chat: Chat, readers: Streams, sizes: Sizes) -> None:
    count = UNREAD // sizes.large
    with chat.poster(size=sizes.large) as poster:
        poster.paced(sizes.rate, count)
        readers.wait(count)


def _end(loop: Loop, server: Server, readers: Streams, tails: list[Tail]) -> Row:
    process, began = server.process, time.perf_counter()
    process.send_signal(signal.SIGTERM)
    loop.run(lambda: readers.ended == len(readers.all), END_DEADLINE)
    gone = loop.run(lambda: _is_gone(process), END_DEADLINE)
    exit_seconds = time.perf_counter() - began
    ends = [stream.ended_at for stream in readers.all if stream.ended_at is not None]
    return {
        "streams ended": max(ends, default=began) - began,
        "with a last chunk": sum(tail.is_final for tail in tails),
        "exit": exit_seconds,
        "status": process.returncode if gone else -1,
    }


def _is_gone(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is not None
