"""Files: one large one up and down against a bare copy in Trio, and many at once beside posts.

The copy is of the same bytes over the same loopback to the same disk, synced at its end; the two take turns,
and medians are told.  Wanted: three fifths of its speed both ways.  Then uploads at once, from a process of
their own, in turns with as many bare copies, while posts go on at an even pace: the server's memory may grow
by 40 MiB, and the 99th percentile of the posts' answers to twice the quiet one.  What it is beside the copies
is what the disk and the processors leave.
"""

from __future__ import annotations

import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chat import Chat
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle, ms, percentile
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.yardsticks.uploading import copy, download, upload

MIB = 1024 * 1024
_UNLIMITED = {"files": {"maxBytes": 2**40, "reserveBytes": 0}}


def run(sizes: Sizes) -> Report:
    """Measure both."""
    report = Report("Files (MiB/s; posts in ms)")
    with Loop() as loop, tempfile.TemporaryDirectory() as directory, _copying(directory) as copying:
        with running(Path(directory), sections=_UNLIMITED) as server:
            report.rows |= _one(sizes, server, Chat(loop, server), copying)
        with running(Path(directory), sections=_UNLIMITED) as server:
            row = _many(sizes, loop, server, Chat(loop, server), copying)
            report.rows[f"{sizes.uploads} uploads at once"] = row
    return report


def _one(sizes: Sizes, server: Server, chat: Chat, copying: Server) -> dict[str, Row]:
    ids: list[str] = []
    size, port, token, place = sizes.file_bytes, server.port, chat.token, chat.channel_id
    ways: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "up": (lambda: ids.append(upload(port, token, place, size)), lambda: copy(copying.port, b"u", size)),
        "down": (lambda: download(port, token, ids[0]), lambda: copy(copying.port, b"d", size)),
    }
    rows: dict[str, Row] = {}
    for way, (here, bare) in ways.items():
        found = [(*_seconds(server, here), *_seconds(copying, bare)) for _ in range(sizes.rounds)]
        seconds, processor, others, bare_processor = (middle(values) for values in zip(*found, strict=True))
        rows[way] = {
            "teamchat": round(size / MIB / seconds),
            "bare copy": round(size / MIB / others),
            "share": round(others / seconds, 2),
            "processor s": round(processor, 2),
            "of the copy": round(bare_processor, 2),
        }
    return rows


def _many(sizes: Sizes, loop: Loop, server: Server, chat: Chat, copying: Server) -> Row:
    to_server: tuple[int | str, ...] = (server.port, chat.token, chat.channel_id)
    quiet: list[float] = []
    found: dict[bool, _Beside] = {True: _Beside(), False: _Beside()}
    with chat.poster() as poster:
        poster.paced(sizes.rate, sizes.posts)
        before = server.memory()
        for _ in range(sizes.rounds):
            quiet += poster.paced(sizes.rate, sizes.posts)
            for is_bare, beside in found.items():
                since, began = len(poster.begun), time.monotonic()
                poster.start(sizes.rate)
                with _uploading(sizes, (copying.port,) if is_bare else to_server) as uploading:
                    while uploading.poll() is None:
                        loop.pause(0.05)
                        beside.memory = max(beside.memory, server.memory())
                beside.seconds.append(time.monotonic() - began)
                poster.stop()
                if uploading.returncode:
                    raise RuntimeError("an upload failed")
                beside.posts += poster.times(since)
    size = sizes.uploads * sizes.upload_bytes / MIB
    bare, busy = found[True], found[False]
    return {
        "teamchat": round(size / middle(busy.seconds)),
        "bare copy": round(size / middle(bare.seconds)),
        "share": round(middle(bare.seconds) / middle(busy.seconds), 2),
        "MiB more": round((busy.memory - before) / MIB, 1),
        "p99 quiet": ms(percentile(quiet, 0.99)),
        "p99 beside the copy": ms(percentile(bare.posts, 0.99)),
        "p99 busy": ms(percentile(busy.posts, 0.99)),
        "median quiet": ms(middle(quiet)),
        "median busy": ms(middle(busy.posts)),
    }


@dataclass
class _Beside:
    """What is seen while many upload: how long that takes, what posts take, and the server's memory."""

    seconds: list[float] = field(default_factory=list)
    posts: list[float] = field(default_factory=list)
    memory: int = 0


def _uploading(sizes: Sizes, where: Iterable[int | str]) -> subprocess.Popen[bytes]:
    """Have clients upload at once, to a server or to the bare copy."""
    arguments = map(str, (sizes.upload_bytes, sizes.uploads, *where))
    command = [sys.executable, "-m", "benchmarks.yardsticks.uploading", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def _seconds(server: Server, work: Callable[[], object]) -> tuple[float, float]:
    """Return how long it takes, and how much of the processor the server takes meanwhile."""
    before, began = server.processor_seconds(), time.monotonic()
    work()
    return time.monotonic() - began, server.processor_seconds() - before


@contextmanager
def _copying(directory: str) -> Iterator[Server]:
    """Run the bare copy."""
    command = [sys.executable, "-m", "benchmarks.yardsticks.copying", directory]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        select.select([process.stdout], [], [], 30)
        try:
            yield Server(int(process.stdout.readline()), process)
        finally:
            process.terminate()
