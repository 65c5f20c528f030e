"""How many deliveries a second there can be, beside what no server can pass.

Posts come as fast as they are answered, on several connections; the rate is all deliveries over the time
from the first post to the last delivery, so that what was put off counts too.  In the same run, in turn, two
programs that decide nothing send ready-made chunks of the same size to as many streams (`yardsticks`), and
the same process reads them.  A ratio over 1 is no error: the server joins events that wait into one write,
and the yardsticks send each by itself.  "events a read" tells how many came at once: joined by the server,
or in the socket of a reader that was behind; 1 means that the reader kept up.  The last rows are what the
reading process can take when nobody else works, one event a read and as many as the server's: a rate near
the latter is the reader's.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks import capacity, yardsticks
from benchmarks.asking import Asker
from benchmarks.chat import latencies, serving
from benchmarks.client import request
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, medians, middle, ms
from benchmarks.sizes import Sizes
from benchmarks.streams import Streams

PRODUCT = "teamchat"
READER = "the reading process alone"
WARM_UP = 20  # posts


def run(sizes: Sizes) -> Report:
    """Alternate between the server and the yardsticks; tell medians and ratios."""
    report = Report(f"Saturation: {sizes.listeners:,} streams, posts as fast as they are answered")
    series: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as directory, Loop() as loop, serving(loop) as (_, chat):
        senders = yardsticks.senders(Path(directory))
        with chat.listen(sizes.listeners) as streams, chat.poster(connections=sizes.connections) as poster:
            poster.paced(100, WARM_UP)
            streams.wait(WARM_UP)
            for _ in range(sizes.rounds):
                row, size = _product(sizes, streams, poster)
                series.setdefault(PRODUCT, []).append(row)
                for name, command in senders.items():
                    series.setdefault(name, []).append(_yardstick(loop, command, sizes, size))
            if streams.ended:
                report.notes.append(f"{streams.ended} streams were cut for being too slow.")
    _tell(report, series)
    _tell_reader(report, sizes, size)
    if yardsticks.BROADCASTER not in series:
        report.notes.append("There is no C compiler here (cc), and so no yardstick in C.")
    return report


def _product(sizes: Sizes, streams: Streams, poster: Asker) -> tuple[Row, int]:
    """Measure the server for a while; return also the bytes of one delivery."""
    already, reads, size = streams.deliveries, streams.reads, streams.bytes
    posts, began = len(poster.begun), time.perf_counter()
    poster.flood(sizes.seconds)
    streams.wait(len(poster.begun))
    seconds = streams.tally.last[-1] - began
    delivered = streams.deliveries - already
    row: Row = {
        "deliveries/s": round(delivered / seconds),
        "events a read": round(delivered / (streams.reads - reads), 1),
        "posts/s": round((len(poster.begun) - posts) / seconds),
        "last, median ms": ms(middle(latencies(streams, poster, posts)[1])),
    }
    return row, round((streams.bytes - size) / delivered)


def _yardstick(loop: Loop, command: list[str], sizes: Sizes, size: int) -> Row:
    count = sizes.listeners
    with yardsticks.sending(command, count, size) as port, Streams(loop, port) as streams:
        streams.open([request("GET", "/")] * count)
        already, reads, began = streams.deliveries, streams.reads, time.perf_counter()
        loop.pause(sizes.seconds)
        delivered, seconds = streams.deliveries - already, time.perf_counter() - began
        return {
            "deliveries/s": round(delivered / seconds),
            "events a read": round(delivered / (streams.reads - reads), 1),
        }


def _tell(report: Report, series: dict[str, list[Row]]) -> None:
    for name, rows in series.items():
        row = medians(rows)
        if name != PRODUCT:
            ratios = [
                float(own["deliveries/s"]) / float(its["deliveries/s"])
                for own, its in zip(series[PRODUCT], rows, strict=True)
            ]
            row["teamchat against it"] = round(middle(ratios), 2)
        report.rows[name] = row


def _tell_reader(report: Report, sizes: Sizes, size: int) -> None:
    joined = max(1, round(float(report.rows[PRODUCT]["events a read"])))
    for name, events in ((READER, 1), (f"{READER}, joined", joined)):
        rate = capacity.deliveries(sizes.listeners, size, joined=events)
        report.rows[name] = {"deliveries/s": round(rate), "events a read": events}
