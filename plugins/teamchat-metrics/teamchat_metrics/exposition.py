"""The measures of this process, in Prometheus's text format.

Reading takes a bounded time, also while the storage is away, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import trio
from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import teamchat
from teamchat import StorageError
from teamchat.observability import metrics
from teamchat.observability.metrics import Counter, CounterTable, Distribution, Gauge, Histogram, Measured

if TYPE_CHECKING:
    from teamchat import Teamchat

STORAGE_SECONDS = 1.0
"""How long the storage is asked for what is counted there; if it does not answer, that is left out."""


class Reading:
    """Reads the metrics of an application and of its process; `labels` are said of every value."""

    def __init__(self, app: Teamchat, labels: Mapping[str, str] | None = None) -> None:
        self._app = app
        self._labels = labels or {}
        self._process = ProcessCollector(registry=None)

    async def text(self) -> str:
        """Return all measures as they are now."""
        stored = await self._stored()
        found = [*self._process.collect(), *self._of_application(), *stored, *_counted()]
        return rendered(found, self._labels)

    def _of_application(self) -> Sequence[Metric]:
        hub = self._app.hub
        version = GaugeMetricFamily("teamchat_info", "The version that runs.", labels=("version",))
        version.add_metric((teamchat.__version__,), 1)
        return (
            version,
            GaugeMetricFamily("teamchat_streams", "Event streams that are open.", len(hub)),
            GaugeMetricFamily(
                "teamchat_log_position", "The number of the last event handed out.", hub.position
            ),
        )

    async def _stored(self) -> Sequence[Metric]:
        """Return what the storage is asked for: of the whole installation, not of this process."""
        try:
            with trio.move_on_after(STORAGE_SECONDS):
                waiting = await self._app.accounts.outbox.waiting()
                counts = await self._app.room_counts()
                rooms = GaugeMetricFamily("teamchat_rooms", "Rooms that there are.", labels=("kind",))
                for kind, count in counts.by_kind.items():
                    rooms.add_metric((kind,), count)
                return [
                    GaugeMetricFamily("teamchat_mails_waiting", "Mails that wait to be sent.", waiting),
                    rooms,
                    GaugeMetricFamily(
                        "teamchat_memberships",
                        "Memberships of users in channels and groups that not everybody is in.",
                        counts.memberships,
                    ),
                ]
        except StorageError:
            pass
        return []


class Families(Collector):
    """Metrics that are at hand already, as what the library renders."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Return them."""
        return self._families


def rendered(families: Sequence[Metric], labels: Mapping[str, str] | None = None) -> str:
    """Return metrics in Prometheus's text format, each value with `labels` too."""
    if labels:
        for family in families:
            family.samples = [
                sample._replace(labels={**sample.labels, **labels}) for sample in family.samples
            ]
    return generate_latest(Families(families)).decode()


def _counted() -> list[Metric]:
    return [_family(measure) for measure in metrics.ALL]


def _family(measure: Measured) -> Metric:
    if isinstance(measure, Gauge):
        return GaugeMetricFamily(measure.name, measure.help, measure.value)
    if isinstance(measure, Counter):
        return CounterMetricFamily(measure.name, measure.help, measure.value)
    if isinstance(measure, CounterTable):
        counters = CounterMetricFamily(measure.name, measure.help, labels=measure.labels)
        for labels, count in measure:
            counters.add_metric(labels, count)
        return counters
    if isinstance(measure, Histogram):
        return HistogramMetricFamily(measure.name, measure.help, _buckets(measure), measure.total)
    histograms = HistogramMetricFamily(measure.name, measure.help, labels=measure.labels)
    for labels, distribution in measure:
        histograms.add_metric(labels, _buckets(distribution), distribution.total)
    return histograms


def _buckets(distribution: Distribution) -> list[tuple[str, float]]:
    """Return the classes as Prometheus wants them: each with how many are at most its bound."""
    bounds = [*map(str, distribution.bounds), "+Inf"]
    return list(zip(bounds, map(float, accumulate(distribution.counts)), strict=True))
