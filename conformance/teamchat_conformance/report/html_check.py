"""What unfolds under a check on the page: what was found, the exchanges, the events, a line to repeat it."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterator, Sequence

from teamchat_conformance.report.document import Checked, Document, Heard, Played, Sent
from teamchat_conformance.report.markup import Html, el, facts
from teamchat_conformance.report.transcript import (
    brief,
    curl,
    cut,
    request_text,
    response_text,
    taken_apart,
    telling,
)

MARKS = {
    "pass": "✓", "note": "≈", "recorded": "○", "fail": "✕", "error": "!", "blocked": "▲",
    "not-exercised": "–", "not-applicable": "–", "skipped": "–",
}  # fmt: skip
"""A sign for each verdict, beside its word: nothing is told by colour alone."""

_GOOD = ("pass", "recorded")
_MOST_EXCHANGES = {True: 2, False: 6}
_MOST_BODY = {True: 600, False: 4_000}
_MOST_EVENTS = {True: 12, False: 40}
_MOST_PAYLOAD = 240
_MOST_VALUE = 6_000
_MOST_LINE = 3_000
_AFTER_SECONDS = 0.5
_LANE, _LEFT, _WIDTH = 22, 130, 700


def pretty(value: object) -> str:
    """Return a JSON value in several lines, cut."""
    return cut(json.dumps(value, ensure_ascii=False, indent=2), _MOST_VALUE)


class Timelines:
    """The events of a run in the order in which they came, whoever got them."""

    def __init__(self, played: Played) -> None:
        self._events = sorted(
            ((event.at, stream.observer, event) for stream in played.streams for event in stream.events),
            key=lambda one: one[0],
        )
        self._times = [at for at, _, _ in self._events]

    def between(self, began: float, ended: float) -> list[tuple[str, Heard]]:
        """Return what came in a span of time."""
        first, last = bisect.bisect_left(self._times, began), bisect.bisect_right(self._times, ended)
        return [(observer, event) for _, observer, event in self._events[first:last]]


def body_of(document: Document, check: Checked, timelines: Timelines | None) -> Html:
    """Return what unfolds."""
    return el("div", _parts(document, check, timelines), class_="body")


def _parts(document: Document, check: Checked, timelines: Timelines | None) -> Iterator[Html]:
    played = document.played(check)
    yield facts(_facts(check))
    if played is None or timelines is None:
        return
    is_good = check.verdict in _GOOD
    found = telling(played, check)
    shown = found[: _MOST_EXCHANGES[is_good]]
    if len(found) > len(shown):
        yield el("p", f"{len(shown)} of {len(found)} exchanges, the one that decided first.", class_="cut")
    for sent in shown:
        yield _exchange(sent, _MOST_BODY[is_good])
    if shown and not check.is_monitored:
        heard = timelines.between(shown[-1].started, _end(played, shown[0]))
        yield _timeline(heard, shown[-1].started, _MOST_EVENTS[is_good])
    if shown and (line := curl(shown[0], played.base_url)):
        yield el("p", el("span", "repeat"), el("code", cut(line, _MOST_LINE)), class_="repeat")


def _end(played: Played, sent: Sent) -> float:
    """Return until when an event may still belong to an exchange: the next scenario's are not its own."""
    later = (one.started for one in played.exchanges[sent.number :] if one.scenario != sent.scenario)
    return min(sent.ended + _AFTER_SECONDS, next(later, float("inf")))


def _facts(check: Checked) -> Iterator[tuple[str, str]]:
    said = taken_apart(check.message)
    yield "must be seen", check.text
    yield "stands in", f"{check.spec} ({check.level})"
    yield "needs", "; ".join(check.needs)
    yield "sent", said.sent
    yield "wanted", said.wanted
    yield "got" if said.sent else "said", said.got
    if check.decisive and check.decisive.value is not None:
        yield "seen", el("pre", pretty(check.decisive.value))
    if len(check.told) > 1:
        told = (f"{one.profile}: {one.outcome}" for one in check.told if one.outcome != "skipped")
        yield "profiles", ", ".join(told)


def _exchange(sent: Sent, most: int) -> Html:
    took = f", {1000 * (sent.ended - sent.started):.0f} ms" if sent.ended else ""
    caption = f"#{sent.number} by {sent.actor} at {sent.started:.2f} s{took}, in {sent.scenario}"
    return el(
        "figure",
        el("figcaption", caption),
        el("pre", request_text(sent, most)),
        el("pre", response_text(sent, most)),
        class_="exchange",
    )


def _timeline(heard: Sequence[tuple[str, Heard]], began: float, most: int) -> Html:
    """Return the events as lanes, one for each observer, and as a table that says the same."""
    if not heard:
        return Html()
    shown = heard[:most]
    title = "Events while this went on" + (f", the first {most} of {len(heard)}" if len(heard) > most else "")
    head = el("tr", (el("th", name, scope="col") for name in ("after", "observer", "type", "payload")))
    rows = (_event(observer, event, began) for observer, event in shown)
    table = el("table", el("thead", head), el("tbody", rows))
    return el("figure", el("figcaption", title), _lanes(shown, began), table, class_="events")


def _event(observer: str, event: Heard, began: float) -> Html:
    payload = "" if event.payload is None else brief(event.payload, _MOST_PAYLOAD)
    after = f"{1000 * (event.at - began):.0f} ms"
    cells = (after, observer, el("code", event.type), el("code", payload))
    return el("tr", (el("td", cell) for cell in cells))


def _lanes(heard: Sequence[tuple[str, Heard]], began: float) -> Html:
    observers = list(dict.fromkeys(observer for observer, _ in heard))
    step = (_WIDTH - _LEFT - 12) / max(heard[-1][1].at - began, 0.001)
    return el(
        "svg",
        (_lane(name, _LANE * n) for n, name in enumerate(observers)),
        (
            _dot(event, _LEFT + 6 + step * (event.at - began), _LANE * observers.index(observer))
            for observer, event in heard
        ),
        viewBox=f"0 0 {_WIDTH} {_LANE * len(observers)}",
        aria_hidden="true",
    )


def _lane(name: str, top: int) -> Html:
    middle = str(top + _LANE // 2)
    text = el("text", name[:18], x="0", y=str(top + 15))
    return Html(text + el("line", x1=str(_LEFT), x2=str(_WIDTH), y1=middle, y2=middle))


def _dot(event: Heard, left: float, top: int) -> Html:
    middle = str(top + _LANE // 2)
    return el("circle", el("title", event.type), r="4", cx=f"{left:.1f}", cy=middle)
