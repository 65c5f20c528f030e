"""How soon a server on PostgreSQL is there, and posts again after its database was restarted.

A start takes from the process to "ready", on a database without tables and on one that has them.  The
database is ended in good order or as in a crash, while posts are refused, and started again; the time runs
from the moment when it takes connections to the first post that is answered with 200, and posts come one
after another without a pause.  Wanted: a start within 2 s, a post within 0.3 s.
"""

from __future__ import annotations

import signal
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks import server as servers
from benchmarks.chat import Chat
from benchmarks.client import ask
from benchmarks.loop import Loop
from benchmarks.report import Report, middle
from benchmarks.sizes import Sizes
from tests.postgres import DURABLE, Postgres

STARTS = "start, no tables yet", "start, tables there"
ENDS = {"database ended in good order": signal.SIGINT, "database crashed": signal.SIGQUIT}
_DEADLINE = 30.0  # seconds


def run(sizes: Sizes) -> Report:
    """Start servers, then restart the database of one."""
    found: dict[str, list[float]] = {name: [] for name in (*STARTS, *ENDS)}
    processor: dict[str, list[float]] = {name: [] for name in STARTS}
    database = Postgres(settings=DURABLE)
    try:
        for _ in range(sizes.rounds):
            url = database.url(database.new_database())
            for name in STARTS:
                seconds, taken = _start(url)
                found[name].append(seconds)
                processor[name].append(taken)
        with ExitStack() as stack:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            loop = stack.enter_context(Loop())
            storage = {"backend": "postgres", "url": url}
            server = stack.enter_context(servers.running(data, storage=storage))
            chat = Chat(loop, server)
            for _ in range(sizes.rounds):
                for name, how in ENDS.items():
                    found[name].append(_restart(chat, database, how))
    finally:
        database.remove()
    report = Report("Restarts on PostgreSQL, in seconds")
    for name, times in found.items():
        report.rows[name] = {"median": round(middle(times), 3), "longest": round(max(times), 3)}
        if name in processor:
            report.rows[name]["processor time"] = round(middle(processor[name]), 3)
    return report


def _start(url: str) -> tuple[float, float]:
    """Start a server; return the seconds that took, and those of processor time."""
    with tempfile.TemporaryDirectory() as directory:
        began = time.perf_counter()
        with servers.running(Path(directory), storage={"backend": "postgres", "url": url}) as server:
            return time.perf_counter() - began, server.processor_seconds()


def _restart(chat: Chat, database: Postgres, how: signal.Signals) -> float:
    """Restart the database and return how long the first post takes to succeed."""
    post = chat.post("a post")
    ask(chat.loop, chat.port, post).json()
    database.stop(how)
    if ask(chat.loop, chat.port, post).status == 200:
        raise RuntimeError("a post was stored without a database")
    database.start()
    began = time.perf_counter()
    while ask(chat.loop, chat.port, post).status != 200:
        if time.perf_counter() - began > _DEADLINE:
            raise RuntimeError("no post succeeds any more")
    return time.perf_counter() - began
