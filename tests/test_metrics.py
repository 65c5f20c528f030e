"""What a process counts about itself: the numbers are right, and counting is all it does."""

from __future__ import annotations

import pytest
import trio

from teamchat.observability import metrics
from teamchat.observability.metrics import SECONDS, Counter, CounterTable, Distribution, HistogramTable
from teamchat.web.metrics import ENDPOINT, RequestMeter


@pytest.mark.parametrize(
    ("value", "place"), [(0.0, 0), (0.001, 0), (0.0011, 1), (10.0, len(SECONDS) - 1), (10.1, len(SECONDS))]
)
def test_a_class_holds_what_is_at_most_its_bound(value: float, place: int) -> None:
    distribution = Distribution(SECONDS)
    distribution.observe(value)
    assert distribution.counts.index(1) == place
    assert sum(distribution.counts) == 1
    assert distribution.total == value


def test_each_combination_of_labels_is_counted_by_itself() -> None:
    table = CounterTable("a", "b", ("endpoint", "status"))
    for labels in (("x", "200"), ("x", "200"), ("x", "404"), ("y", "200")):
        table.add(*labels)
    assert dict(table) == {("x", "200"): 2, ("x", "404"): 1, ("y", "200"): 1}


def test_each_combination_of_labels_has_a_distribution_of_its_own() -> None:
    table = HistogramTable("a", "b", ("endpoint",))
    for seconds, endpoint in ((0.5, "x"), (0.25, "x"), (1.0, "y")):
        table.observe(seconds, endpoint)
    assert {labels: (sum(found.counts), found.total) for labels, found in table} == {
        ("x",): (2, 0.75),
        ("y",): (1, 1.0),
    }


def test_every_measure_is_listed_once_and_by_a_name_that_prometheus_takes() -> None:
    names = [metric.name for metric in metrics.ALL]
    assert len(set(names)) == len(names)
    kinds = (Counter, CounterTable, Distribution, HistogramTable)
    listed = {id(metric) for metric in metrics.ALL}
    made = [each for each in vars(metrics).values() if isinstance(each, kinds)]
    assert {id(each) for each in made} == listed
    for metric in metrics.ALL:
        assert metric.name.startswith("teamchat_")
        assert not metric.name.endswith(("_total", "_count", "_sum", "_bucket"))
        assert metric.help.endswith(".")


def count_of(*labels: str) -> int:
    return dict(metrics.requests).get(labels, 0)


@pytest.mark.parametrize(
    ("method", "path", "rule", "labels"),
    [
        ("GET", "/channels/123/messages", "/channels/<channelId>/messages", "/channels/<channelId>/messages"),
        ("GET", "/whatever/somebody/typed", None, "none"),
        ("GET", "/events", "/events", "/events"),
    ],
)
async def test_a_request_is_counted_by_the_rule_of_its_endpoint(
    method: str, path: str, rule: str | None, labels: str
) -> None:
    async def app(scope, receive, send) -> None:
        if rule is not None:
            scope[ENDPOINT] = rule
        await send({"type": "http.response.start", "status": 418, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    sent = []

    async def send(message) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(message["type"])

    before = count_of(labels, method, "418")
    scope = {"type": "http", "method": method, "path": path}
    await RequestMeter(app)(scope, trio.sleep_forever, send)
    assert count_of(labels, method, "418") == before + 1
    assert sent == ["http.response.start", "http.response.body"]


async def test_a_method_of_somebodys_own_is_other_and_a_lifespan_is_no_request() -> None:
    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 405, "headers": []})

    async def send(message) -> None:
        await trio.lowlevel.checkpoint()

    before = len(dict(metrics.requests))
    await RequestMeter(app)({"type": "lifespan"}, trio.sleep_forever, send)
    assert len(dict(metrics.requests)) == before
    await RequestMeter(app)({"type": "http", "method": "BREW", "path": "/x"}, trio.sleep_forever, send)
    assert count_of("none", "other", "405") == 1
