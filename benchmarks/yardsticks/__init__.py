"""What a result is held against: programs that do nothing but send what is ready.

`SENDER` is a bare Python loop of `socket.send`, one chunk to every connected socket, again and again;
`BROADCASTER` is the same in C.  No server that sends each event by itself can pass them, for they decide
nothing, encode nothing, and answer nobody.  `ANSWERER` gives one prepared answer to every request, and so
shows what the request load can drive.  A push service that takes everything is what pushes are sent to.

Each runs in a process of its own, prints its port, and ends when it is told to.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SENDER = "a bare loop of send in Python"
BROADCASTER = "a bare loop of send in C"

_SOURCE = Path(__file__).parent / "broadcast.c"


@contextmanager
def sending(command: list[str], streams: int, size: int) -> Iterator[int]:
    """Run a yardstick that sends chunks of `size` bytes once so many streams are connected; give its port."""
    with _running([*command, str(streams), str(size)]) as port:
        yield port


@contextmanager
def answering() -> Iterator[int]:
    """Run the answerer and give its port."""
    with _running([sys.executable, "-m", f"{__name__}.answerer"]) as port:
        yield port


@contextmanager
def taking_pushes() -> Iterator[int]:
    """Run the push service and give its port."""
    with _running([sys.executable, "-m", f"{__name__}.push_service"]) as port:
        yield port


def senders(directory: Path) -> dict[str, list[str]]:
    """Return the commands of the senders there can be here, by name; C needs a compiler."""
    found = {SENDER: [sys.executable, "-m", f"{__name__}.sender"]}
    compiler = shutil.which("cc")
    if compiler is not None:
        program = directory / "broadcast"
        subprocess.run([compiler, "-O2", "-Wall", "-o", program, _SOURCE], check=True)
        found[BROADCASTER] = [str(program)]
    return found


@contextmanager
def _running(command: list[str]) -> Iterator[int]:
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()
