"""What a running process counts about itself, on one page, for whoever wants to read it.

Counting must cost next to nothing: adding to an attribute or to an item of a table. Nothing here waits, locks
or imports a library. No metric knows a user, an address or a text: labels come from what the program itself
has, so their number is limited. Everything is counted from the start of the process, by its one event loop.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of the classes that times are counted in, in seconds."""

Labels = tuple[str, ...]


class Counter:
    """A number that only grows: ``counter.value += 1``."""

    __slots__ = ("help", "name", "value")

    def __init__(self, name: str, help: str) -> None:
        self.name = name
        self.help = help
        self.value: float = 0


class Gauge(Counter):
    """A number that goes up and down."""

    __slots__ = ()


class CounterTable:
    """A counter for each combination of labels, such as an endpoint and a status."""

    __slots__ = ("_values", "help", "labels", "name")

    def __init__(self, name: str, help: str, labels: Labels) -> None:
        self.name = name
        self.help = help
        self.labels = labels
        self._values: dict[Labels, int] = {}

    def add(self, *labels: str) -> None:
        """Count one."""
        self._values[labels] = self._values.get(labels, 0) + 1

    def __iter__(self) -> Iterator[tuple[Labels, int]]:
        """Yield the labels and the number of each."""
        return iter(self._values.items())


class Distribution:
    """How often values fell into which class; a class holds what is at most its bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Histogram(Distribution):
    """A distribution of times, in seconds, with a name."""

    __slots__ = ("help", "name")

    def __init__(self, name: str, help: str) -> None:
        super().__init__(SECONDS)
        self.name = name
        self.help = help


class HistogramTable:
    """A distribution for each combination of labels."""

    __slots__ = ("_values", "help", "labels", "name")

    def __init__(self, name: str, help: str, labels: Labels) -> None:
        self.name = name
        self.help = help
        self.labels = labels
        self._values: dict[Labels, Distribution] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Count one value, in seconds."""
        found = self._values.get(labels)
        if found is None:
            found = self._values[labels] = Distribution(SECONDS)
        found.observe(value)

    def __iter__(self) -> Iterator[tuple[Labels, Distribution]]:
        """Yield the labels and the distribution of each."""
        return iter(self._values.items())


class Switch:
    """Whether something is measured that costs more than a number."""

    __slots__ = ("is_on",)

    def __init__(self) -> None:
        self.is_on = False


Measured = Counter | CounterTable | Histogram | HistogramTable

count_requests = Switch()
"""To be turned on, by whoever shows the metrics of requests, before the server begins to serve."""
connections = Gauge("teamchat_connections", "Connections of clients that are open.")
requests = CounterTable("teamchat_requests", "Requests that were answered.", ("endpoint", "method", "status"))
request_seconds = HistogramTable(
    "teamchat_request_seconds", "Time from a request to the beginning of its answer.", ("endpoint", "method")
)
deliveries = Counter("teamchat_deliveries", "Batches of events handed to streams, each stream counted.")
streams_ended = CounterTable("teamchat_streams_ended", "Event streams that have ended.", ("reason",))
commits = Histogram("teamchat_commit_seconds", "Time the storage took to commit what was written.")
writes = Counter("teamchat_writes", "Writing transactions; those that come together share a commit.")
log_reads = Counter("teamchat_log_reads", "Reads of the event log for what is new.")
passwords_waiting = Gauge("teamchat_passwords_waiting", "Passwords being checked, or waiting for it.")
loop_lag = Histogram("teamchat_loop_lag_seconds", "How much later than asked for the event loop woke a task.")
pushes = CounterTable("teamchat_pushes", "Pushes that push services have answered, or not.", ("outcome",))
uploads = CounterTable("teamchat_uploads", "Uploads of files, by what became of them.", ("outcome",))
files_looked_at = CounterTable("teamchat_files_looked_at", "New files that were looked at.", ("outcome",))
file_bytes_received = Counter("teamchat_file_bytes_received", "Bytes of files that have arrived.")
file_reads = Counter("teamchat_file_reads", "Answers that had bytes of files or of their thumbnails.")
file_bytes_sent = Counter("teamchat_file_bytes_sent", "Bytes of files and thumbnails that were sent.")
files_stored = Gauge("teamchat_files_stored", "Files and thumbnails in the store of files.")
files_stored_bytes = Gauge("teamchat_files_stored_bytes", "Bytes that these have together.")
files_free_bytes = Gauge("teamchat_files_free_bytes", "Bytes that the store has room for, if it can tell.")
files_free_bytes.value = math.nan  # 0 would say that the disk is full.
files_reserve_bytes = Gauge("teamchat_files_reserve_bytes", "Bytes of the disk that files leave free.")

ALL: tuple[Measured, ...] = (
    connections,
    requests,
    request_seconds,
    deliveries,
    streams_ended,
    commits,
    writes,
    log_reads,
    passwords_waiting,
    loop_lag,
    pushes,
    uploads,
    files_looked_at,
    file_bytes_received,
    file_reads,
    file_bytes_sent,
    files_stored,
    files_stored_bytes,
    files_free_bytes,
    files_reserve_bytes,
)
"""Every metric, in the order they are shown."""
