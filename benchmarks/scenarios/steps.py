"""Where the processor time of one page read and of one post goes, in microseconds.

A page is the newest 50 messages, a post is durable when it is answered; all capabilities are on.  A step's
time is its share of the samples that the server takes of itself (`benchmarks.yardsticks.sampled`), times the
processor time of a request, which is measured.  "the least" is what Trio, llhttp and the system calls take
alone for an answer of that size (`benchmarks.yardsticks.bare`).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.asking import Asker
from benchmarks.chat import SIZE, Chat
from benchmarks.client import ask
from benchmarks.counting import marked
from benchmarks.loop import Loop
from benchmarks.report import Report, middle
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.yardsticks.sampled import COMMIT, OTHER, STEPS

WARM_UP = 50  # posts, and so the messages of a page
_WRITTEN_SECONDS = 10.0
KINDS = "page", "post"


def run(sizes: Sizes) -> Report:
    """Ask for pages and posts in turns, and for the same bytes of a program that does nothing else."""
    report = Report(f"Steps of a request: {sizes.connections} connections, microseconds of processor time")
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as directory, Loop() as loop:
        file = Path(directory) / "samples.json"
        command = ["-m", "benchmarks.yardsticks.sampled", str(file)]
        with running(Path(directory), command=command) as server:
            chat = Chat(loop, server)
            with chat.poster() as poster:
                poster.paced(1000, WARM_UP)
            asked = {"page": chat.get(chat.messages), "post": chat.post(marked(0, SIZE))}
            lengths = {kind: len(ask(loop, server.port, message).body) for kind, message in asked.items()}
            for _ in range(sizes.rounds):
                for kind, message in asked.items():
                    found[kind].append(_sampled(loop, server, message, file, sizes))
        steps = [*dict.fromkeys(step for _, step in STEPS), COMMIT, OTHER]
        for step in steps:
            report.rows[step] = {
                kind: _microseconds([one.get(step, 0) for one in found[kind]]) for kind in KINDS
            }
        totals = {kind: [sum(one.values()) for one in found[kind]] for kind in KINDS}
        report.rows["in all"] = {kind: _microseconds(totals[kind]) for kind in KINDS}
        report.rows["the least"] = {
            kind: _microseconds([_least(loop, lengths[kind], asked[kind], sizes)]) for kind in KINDS
        }
    return report


def _microseconds(seconds: Sequence[float]) -> float:
    return round(1e6 * middle(seconds), 1)


def _sampled(loop: Loop, server: Server, message: bytes, file: Path, sizes: Sizes) -> dict[str, float]:
    """Return the seconds of each step for one request."""
    file.unlink(missing_ok=True)
    server.process.send_signal(signal.SIGUSR1)
    with Asker(loop, server.port, lambda _: message, connections=sizes.connections) as asker:
        asker.flood(sizes.seconds)
        count = len(asker.answered)
    server.process.send_signal(signal.SIGUSR1)
    end = time.monotonic() + _WRITTEN_SECONDS
    while not file.exists():
        if time.monotonic() > end:
            raise RuntimeError("the server does not tell its samples")
        loop.pause(0.01)
    return {step: seconds / count for step, seconds in json.loads(file.read_text()).items()}


def _least(loop: Loop, size: int, message: bytes, sizes: Sizes) -> float:
    """Return the seconds of processor time that a bare program takes for a request with such an answer."""
    command = [sys.executable, "-m", "benchmarks.yardsticks.bare", str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        server = Server(int(process.stdout.readline()), process)
        try:
            with Asker(loop, server.port, lambda _: message, connections=sizes.connections) as asker:
                before = server.processor_seconds()
                asker.flood(sizes.seconds)
                return (server.processor_seconds() - before) / len(asker.answered)
        finally:
            process.terminate()
