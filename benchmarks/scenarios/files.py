"""Files: one large one up and down against a bare copy in Trio, and many at once beside posts.

The copy is of the same bytes over the same loopback to the same disk, synced at its end; the two take turns,
and medians are told.  Wanted: three fifths of its speed both ways.  Then uploads at once, from a process of
their own, while posts go on at an even pace: the server's memory may grow by 40 MiB, and the 99th percentile
of the posts' answers to twice the quiet one.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.chat import Chat
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle, ms, percentile
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.yardsticks.uploading import HOST, download, received, upload

MIB = 1024 * 1024
_UNLIMITED = {"files": {"maxBytes": 2**40, "reserveBytes": 0}}


def run(sizes: Sizes) -> Report:
    """Measure both."""
    report = Report("Files (MiB/s; posts in ms)")
    with Loop() as loop, tempfile.TemporaryDirectory() as directory, _copying(directory) as copying:
        with running(Path(directory), sections=_UNLIMITED) as server:
            report.rows |= _one(sizes, server, Chat(loop, server), copying)
        with running(Path(directory), sections=_UNLIMITED) as server:
            report.rows[f"{sizes.uploads} uploads at once"] = _many(sizes, loop, server, Chat(loop, server))
    return report


def _one(sizes: Sizes, server: Server, chat: Chat, copying: Server) -> dict[str, Row]:
    ids: list[str] = []
    size, port, token, place = sizes.file_bytes, server.port, chat.token, chat.channel_id
    ways: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "up": (lambda: ids.append(upload(port, token, place, size)), lambda: _copy(copying.port, b"u", size)),
        "down": (lambda: download(port, token, ids[0]), lambda: _copy(copying.port, b"d", size)),
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


def _many(sizes: Sizes, loop: Loop, server: Server, chat: Chat) -> Row:
    arguments = [server.port, chat.token, chat.channel_id, sizes.upload_bytes, sizes.uploads]
    command = [sys.executable, "-m", "benchmarks.yardsticks.uploading", *map(str, arguments)]
    with chat.poster() as poster:
        poster.paced(sizes.rate, sizes.posts)
        quiet = poster.paced(sizes.rate, sizes.posts)
        before = most = server.memory()
        since, began = len(poster.begun), time.monotonic()
        poster.start(sizes.rate)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as uploading:
            while uploading.poll() is None:
                loop.pause(0.05)
                most = max(most, server.memory())
        seconds = time.monotonic() - began
        poster.stop()
        if uploading.returncode:
            raise RuntimeError("an upload failed")
        busy = poster.times(since)
    return {
        "teamchat": round(sizes.uploads * sizes.upload_bytes / MIB / seconds),
        "MiB more": round((most - before) / MIB, 1),
        "p99 quiet": ms(percentile(quiet, 0.99)),
        "p99 busy": ms(percentile(busy, 0.99)),
        "median quiet": ms(middle(quiet)),
        "median busy": ms(middle(busy)),
    }


def _seconds(server: Server, work: Callable[[], object]) -> tuple[float, float]:
    """Return how long it takes, and how much of the processor the server takes meanwhile."""
    before, began = server.processor_seconds(), time.monotonic()
    work()
    return time.monotonic() - began, server.processor_seconds() - before


def _copy(port: int, way: bytes, size: int) -> None:
    data = bytes(MIB)
    with socket.create_connection((HOST, port)) as connection:
        connection.sendall(way + size.to_bytes(8))
        for offset in range(0, size if way == b"u" else 0, MIB):
            connection.sendall(memoryview(data)[: size - offset])
        received(connection)


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
