"""How soon everyone sees a post, at an even pace.

Each stream is a client that reads; posts come at an even pace, each a durable write.  A post's time runs from
when it was due until the first, and until the last, of all streams had it, as the reading process saw it: its
own reading is part of the time.  "answer" is how long the one who posts waits for the response meanwhile.
When pace times streams is more than the server can hand out one by one, events join into one write, and the
last delivery says how far behind the server ran.  Wanted: a 99th percentile of the last delivery under 500 ms
with 1,000 streams and under 5 s with 10,000, and nothing missing.
"""

from __future__ import annotations

from benchmarks import capacity
from benchmarks.chat import latencies, serving
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle, ms, percentile
from benchmarks.sizes import Sizes

WARM_UP = 20  # posts


def run(sizes: Sizes) -> Report:
    """Measure each number of streams on a server of its own."""
    report = Report(f"Fan-out: {sizes.rate:g} posts/s, times in ms")
    for count in sizes.streams:
        report.rows[f"{count:,} streams"] = _measure(sizes, count)
    report.notes.append(
        f"The reading process alone takes {round(capacity.deliveries(1000, 400)):,} deliveries/s."
    )
    return report


def _measure(sizes: Sizes, count: int) -> Row:
    with Loop() as loop, serving(loop) as (_, chat), chat.listen(count) as streams, chat.poster() as poster:
        poster.paced(sizes.rate, WARM_UP)
        streams.wait(WARM_UP)
        answers = poster.paced(sizes.rate, sizes.posts)
        streams.wait(WARM_UP + sizes.posts)
        first, last = latencies(streams, poster, WARM_UP)
        return {
            "first, median": ms(middle(first)),
            "first, p99": ms(percentile(first, 0.99)),
            "last, median": ms(middle(last)),
            "last, p99": ms(percentile(last, 0.99)),
            "answer, median": ms(middle(answers)),
            "answer, p99": ms(percentile(answers, 0.99)),
            "missing": count * (WARM_UP + sizes.posts) - streams.deliveries,
        }
