"""What an idle stream costs, how long it takes to open many, and whether others notice.

Resident memory of the server process is read when everyone has signed in, and again when all streams are open
and some rest has passed; the difference, over the number of streams, is what one costs.  A client that asks
for the list of channels at an even pace, while they open and while they are open, tells what others notice.
Wanted: at most 64 KiB a stream, 10,000 open within a minute, and the request's 99th percentile under 200 ms.
"""

from __future__ import annotations

from benchmarks.chat import serving
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, ms, percentile
from benchmarks.sizes import Sizes
from benchmarks.streams import Streams

KIB, MIB = 1024, 1024 * 1024
AT_ONCE = 100


def run(sizes: Sizes) -> Report:
    """Measure each number of streams on a server of its own."""
    report = Report(
        f"Idle streams: memory, and a request meanwhile ({AT_ONCE} streams open at once, times in ms)"
    )
    for count in sizes.streams:
        report.rows[f"{count:,} streams"] = _measure(sizes, count)
    return report


def _measure(sizes: Sizes, count: int) -> Row:
    with Loop() as loop, serving(loop) as (server, chat), chat.asker(chat.get("/channels")) as probe:
        requests = chat.listening(count)
        probe.paced(sizes.rate, sizes.posts)
        before = server.memory()
        with Streams(loop, chat.port) as streams:
            since = len(probe.begun)
            probe.start(sizes.rate)
            streams.open(requests, at_once=AT_ONCE)
            probe.stop()
            opening = probe.times(since)
            loop.pause(sizes.settle)
            after = server.memory()
            idle = probe.paced(sizes.rate, sizes.posts)
        return {
            "MiB before": round(before / MIB),
            "MiB after": round(after / MIB),
            "KiB a stream": round((after - before) / KIB / count, 1),
            "seconds to open": round(streams.opening_seconds, 2),
            "request p99, opening": ms(percentile(opening, 0.99)),
            "request p99, open": ms(percentile(idle, 0.99)),
        }
