"""The page on watching a server: its log, its metrics, and alerts that ask for what is really there."""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime
from importlib.util import find_spec
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from teamchat.settings import load
from tests.docs.machine import Machine, Running, say
from tests.docs.pages import DOCS, ROOT, blocks

PAGE = "how-to/watch-a-server.md"
[LINE] = blocks(PAGE, "json")
LOGS, METRICS = blocks(PAGE, "toml")
[MAKE_TOKEN] = blocks(PAGE, "sh")
SCRAPE, ALERTS = map(yaml.safe_load, blocks(PAGE, "yaml"))
OF_PROMETHEUS = {"up": {"job", "instance"}}
LABELS = {"teamchat_streams_ended": {"reason"}, "teamchat_files_looked_at": {"outcome"}}
"""What is chosen by where nothing was counted yet."""


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the page makes its token with openssl")
def test_what_is_watched_is_there(machine: Machine) -> None:
    (machine.root / "etc" / "teamchat").mkdir(parents=True)
    machine.types(MAKE_TOKEN)
    config = machine.write("teamchat.toml", LOGS + METRICS)
    settings = load(config, {})
    assert (settings.logs.level, settings.logs.format, settings.server.access_log) == ("info", "json", True)
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        say(ada, "a quiet word")
        with ada.stream("GET", "/events") as events:
            next(events.iter_lines())
        for address in ("/health", "/ready"):
            with server.client() as anybody:
                answer = anybody.get(address)
            assert answer.status_code == 200
            assert answer.headers["Content-Type"].startswith("text/plain")
            assert answer.headers["Content-Type"].startswith("text/plain")
        with server.client() as anybody:
            assert anybody.get("/metrics").status_code == 401
        shown = metrics(server, (machine.root / "etc/teamchat/metrics-token").read_text().strip())
        assert server.end() == 0
    the_log_is_as_the_page_says(server.log.read_text())
    for rule in ALERTS["groups"][0]["rules"]:
        assert {*rule} <= {"alert", "expr", "for", "annotations"}
        assert rule["annotations"]["summary"]
        for name, labels in asked_for(rule["expr"]):
            assert labels <= shown[name] | {"job", "instance"}, rule["alert"]
    for expression in re.findall(r"`(sum .*?)`", (DOCS / PAGE).read_text()):
        assert all(name in shown for name, _ in asked_for(expression))


def metrics(server: Running, token: str) -> dict[str, set[str]]:
    """Return the names of all samples, each with its labels; of what was not counted yet, the name alone."""
    with server.client(token) as prometheus:
        answer = prometheus.get("/metrics")
    assert answer.status_code == 200
    shown = dict(OF_PROMETHEUS)
    for family in text_string_to_metric_families(answer.text):
        ending = "_total" if family.type == "counter" else ""
        shown.setdefault(family.name + ending, set(LABELS.get(family.name, ())))
        for sample in family.samples:
            shown.setdefault(sample.name, set()).update(sample.labels)
    return shown


def asked_for(expression: str) -> list[tuple[str, set[str]]]:
    """Return the metrics in an expression of Prometheus's, each with the labels it is chosen by."""
    found = re.findall(r"\b((?:teamchat|process)_\w+|up\b)(?:\{(.*?)\})?", expression)
    assert found, expression
    return [(name, set(re.findall(r'(\w+)(?:=~|!~|!=|=)"', labels))) for name, labels in found]


def the_log_is_as_the_page_says(log: str) -> None:
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    always = ["time", "level", "logger", "event"]
    assert all([*line][:4] == always for line in lines)
    [request] = [line for line in lines if line.get("method") == "POST" and "/channels/" in line["path"]]
    assert request["logger"] == "teamchat.access"
    assert {*request} >= {"method", "path", "status", "ms", "client", "bytes"}
    assert "a quiet word" not in log


def test_the_line_of_the_log_on_the_page_is_one_of_this_version() -> None:
    line = json.loads(LINE)
    assert [*line][:4] == ["time", "level", "logger", "event"]
    assert datetime.fromisoformat(line["time"]).utcoffset() is not None
    assert find_spec(line["logger"])
    assert any(f'"{line["event"]}"' in file.read_text() for file in (ROOT / "teamchat").rglob("*.py"))


def test_what_the_alerts_choose_by_is_what_is_told() -> None:
    text = json.dumps(ALERTS)
    sources = "".join(file.read_text() for file in (ROOT / "teamchat").rglob("*.py"))
    for reason in re.findall(r'reason=\\"(.*?)\\"', text):
        assert f'"{reason}"' in sources
    for endpoint in re.findall(r'endpoint!=\\"(.*?)\\"', text):
        assert (
            f"`{endpoint}`" in (DOCS / "reference" / "http.md").read_text()
            or endpoint in (DOCS / "reference" / "http.md").read_text()
        )
    [job] = SCRAPE["scrape_configs"]
    assert {*job} == {"job_name", "scheme", "authorization", "static_configs"}
    assert {*re.findall(r'job=\\"(.*?)\\"', text)} == {job["job_name"]}
