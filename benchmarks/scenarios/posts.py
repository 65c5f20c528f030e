"""What listeners cost the one who posts.

Two servers live at once, one with nobody listening and one with many streams, and posts come to each in turn
at the same even pace.  A post is answered once it is durable, and handing it out comes after; the difference
is what the handing out takes away from the next request.
"""

from __future__ import annotations

from benchmarks.chat import serving
from benchmarks.loop import Loop
from benchmarks.report import Report, middle, ms, percentile
from benchmarks.sizes import Sizes

WARM_UP = 20  # posts


def run(sizes: Sizes) -> Report:
    """Alternate between the two servers."""
    with (
        Loop() as loop,
        serving(loop) as (_, quiet),
        serving(loop) as (_, busy),
        busy.listen(sizes.listeners),
        quiet.poster() as to_quiet,
        busy.poster() as to_busy,
    ):
        posters = {"nobody listens": to_quiet, f"{sizes.listeners:,} streams": to_busy}
        for poster in posters.values():
            poster.paced(sizes.rate, WARM_UP)
        times: dict[str, list[list[float]]] = {name: [] for name in posters}
        for _ in range(sizes.rounds):
            for name, poster in posters.items():
                times[name].append(poster.paced(sizes.rate, sizes.posts))
    report = Report(f"Durable posts at {sizes.rate:g}/s: the time of an answer in ms")
    for name, rounds in times.items():
        report.rows[name] = {
            "median": ms(middle([middle(one) for one in rounds])),
            "p99": ms(middle([percentile(one, 0.99) for one in rounds])),
        }
    return report
