"""What unfolds under a check on the page: what was found, the exchanges, the events, a line to repeat it."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from teamchat_conformance.report.document import Checked, Document, Heard, Played, Sent
from teamchat_conformance.report.markup import Html, el, facts
from teamchat_conformance.report.transcript import (
    brief,
    curl,
    cut,
    failing,
    request_text,
    response_text,
    sent_line,
    taken_apart,
    telling,
)

MARKS = {
    "pass": "✓", "note": "≈", "recorded": "○", "fail": "✕", "error": "!", "blocked": "▲",
    "not-exercised": "–", "not-applicable": "–", "skipped": "–",
}  # fmt: skip
"""A sign for each verdict, beside its word: nothing is told by colour alone."""

_GOOD = ("pass", "recorded", "not-applicable", "skipped")
_MOST_PAYLOAD = 240
_MOST_VALUE = 800
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


@dataclass(frozen=True)
class Detail:
    """How much the page tells: exchanges of a cause, characters of a body and of quoted words, events.

    `causes` is of how many causes the exchanges are shown.
    """

    exchanges: int
    body: int
    events: int
    words: int
    causes: int = 1_000


def body_of(check: Checked, detail: Detail) -> Html:
    """Return what unfolds under a check; its exchanges are shown with its cause."""
    words = cut(" … ".join(check.words), detail.words) if detail.words else ""
    where = el("p", check.spec, f": “{words}”" if words else "", class_="spec")
    if check.verdict in _GOOD:
        return where if words else Html()
    return el("div", where, el("p", cut(check.message, 2 * detail.body)), class_="body")


def shown(document: Document, check: Checked, timelines: Timelines | None, detail: Detail) -> Html:
    """Return all about a check, with its exchanges."""
    return el("div", _parts(document, check, timelines, detail), class_="body")


def _parts(document: Document, check: Checked, timelines: Timelines | None, detail: Detail) -> Iterator[Html]:
    played = document.played(check)
    yield facts(_facts(check, played, detail))
    if played is None or timelines is None:
        return
    found = telling(played, check)
    exchanges = found[: detail.exchanges]
    for sent in exchanges:
        yield _exchange(sent, detail.body)
    if len(found) > len(exchanges):
        yield el(
            "p", f"{len(exchanges)} of {len(found)} exchanges, the one that decided first.", class_="cut"
        )
    if exchanges and not check.is_monitored:
        heard = timelines.between(exchanges[-1].started, _end(played, exchanges[0]))
        yield _timeline(heard, exchanges[-1].started, detail.events)
    if exchanges and (line := curl(exchanges[0], played.base_url)):
        yield el("p", el("span", "repeat"), el("code", cut(line, 2 * detail.body)), class_="repeat")


def _end(played: Played, sent: Sent) -> float:
    """Return until when an event may still belong to an exchange: the next scenario's are not its own."""
    later = (one.started for one in played.exchanges[sent.number :] if one.scenario != sent.scenario)
    return min(sent.ended + _AFTER_SECONDS, next(later, float("inf")))


def _facts(check: Checked, played: Played | None, detail: Detail) -> Iterator[tuple[str, str]]:
    said = taken_apart(check.message)
    failed = failing(played, check) if played else None
    yield "must be seen", check.text
    yield "stands in", f"{check.spec} ({check.level})"
    yield "words", cut(" … ".join(check.words), detail.words) if detail.words else ""
    yield "needs", "; ".join(check.needs)
    yield "sent", sent_line(failed) if failed else said.sent
    yield "wanted", said.wanted
    yield "got" if said.sent else "said", cut(said.got, detail.body)
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
    if not heard or not most:
        return Html()
    first = heard[:most]
    title = "Events while this went on" + (f", the first {most} of {len(heard)}" if len(heard) > most else "")
    head = el("tr", (el("th", name, scope="col") for name in ("after", "observer", "type", "payload")))
    rows = (_event(observer, event, began) for observer, event in first)
    table = el("table", el("thead", head), el("tbody", rows))
    return el("figure", el("figcaption", title), _lanes(first, began), table, class_="events")


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
