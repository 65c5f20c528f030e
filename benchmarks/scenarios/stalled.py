"""Whether clients that stop reading harm those that read.

The same readers get large posts at an even pace, in rounds by themselves and in rounds beside clients that
read nothing after CONNECTED and have small receive buffers.  The last delivery to the readers should take as
long in both.  The server should give each stalled client up beyond 1 MiB that waits for it: "cut" counts the
descriptors that the server closed meanwhile, "seconds to cut" is when the last of them went, and "MiB a
stalled stream" is the most by which the server's memory grew, over the number of stalled clients.  Wanted:
the readers' 99th percentile under 250 ms and within a fifth of what it is alone, at most 1 MiB a stalled
stream, and all cut.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from benchmarks.asking import Asker
from benchmarks.chat import Chat, latencies, serving
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, medians, middle, ms, percentile
from benchmarks.server import Server
from benchmarks.sizes import Sizes
from benchmarks.streams import Streams

MIB = 1024 * 1024
EVERY = 0.1  # seconds between two looks at the server process
WARM_UP = 5  # posts


@dataclass
class Watch:
    """Looks at the server process now and then, for as long as `until` lies ahead."""

    loop: Loop
    server: Server
    until: float
    memory: list[int] = field(default_factory=list)
    descriptors: list[tuple[float, int]] = field(default_factory=list)

    def look(self) -> None:
        """Look, and look again a little later."""
        now = time.perf_counter()
        self.memory.append(self.server.memory())
        self.descriptors.append((now, self.server.descriptors()))
        if now < self.until:
            self.loop.at(now + EVERY, self.look)

    def closed(self) -> int:
        """Return how many descriptors were closed since the first look."""
        return max(0, self.descriptors[0][1] - self.descriptors[-1][1])

    def seconds_to_close(self) -> float:
        """Return how long after the first look the fewest were open for the first time."""
        fewest = min(count for _, count in self.descriptors)
        return next(moment for moment, count in self.descriptors if count == fewest) - self.descriptors[0][0]


def run(sizes: Sizes) -> Report:
    """Alternate between rounds without stalled clients and rounds with them, on one server."""
    readers = sizes.listeners - sizes.stalled
    report = Report(f"Stalled clients: {readers:,} readers, posts of {sizes.large:,} characters, times in ms")
    alone: list[Row] = []
    beside: list[Row] = []
    with (
        Loop() as loop,
        serving(loop) as (server, chat),
        chat.listen(readers) as streams,
        chat.poster(size=sizes.large) as poster,
    ):
        poster.paced(sizes.rate, WARM_UP)
        streams.wait(WARM_UP)
        for _ in range(sizes.rounds):
            alone.append(_latency(sizes, streams, poster))
            beside.append(_beside_stalled(sizes, chat, server, streams, poster))
    report.rows["readers alone"] = medians(alone)
    report.rows[f"beside {sizes.stalled:,} stalled"] = medians(beside)
    return report


def _latency(sizes: Sizes, streams: Streams, poster: Asker) -> Row:
    since = len(poster.begun)
    poster.paced(sizes.rate, sizes.posts)
    streams.wait(len(poster.begun))
    last = latencies(streams, poster, since)[1]
    return {"last, median": ms(middle(last)), "last, p99": ms(percentile(last, 0.99))}


def _beside_stalled(sizes: Sizes, chat: Chat, server: Server, streams: Streams, poster: Asker) -> Row:
    with chat.listen(sizes.stalled, stalling=True):
        watch = Watch(chat.loop, server, time.perf_counter() + sizes.posts / sizes.rate)
        watch.look()
        row = _latency(sizes, streams, poster)
        watch.until = 0.0
        watch.look()
    grown = max(watch.memory) - watch.memory[0]
    return row | {
        "MiB a stalled stream": round(grown / MIB / sizes.stalled, 2),
        "cut": watch.closed(),
        "seconds to cut": round(watch.seconds_to_close(), 1) if watch.closed() else "",
    }
