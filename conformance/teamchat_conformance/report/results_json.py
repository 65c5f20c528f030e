"""The report as JSON, for programs. `SCHEMA_VERSION` tells its form.

Every check is in it, and of the exchanges and events those that led to one that is not as it should be: a run
makes ten thousand requests, and with all of them the file would be of no use.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from teamchat_conformance.report.document import SHOWN_WHOLE, Checked, Document, Heard, Played, Sent, Stream
from teamchat_conformance.report.transcript import cut, telling

MOST_BYTES = 3_000_000
_AFTER_SECONDS = 0.5
_FEW_EVENTS = 500


@dataclass(frozen=True)
class _Detail:
    """How much is told of each check that is not as it should be."""

    exchanges: int
    body: int
    events: int


# The first that keeps the file within its size is taken.
_DETAILS = (_Detail(6, 4_000, 4_000), _Detail(3, 1_000, 1_000), _Detail(1, 500, 200), _Detail(1, 100, 0))


def rendered(document: Document) -> str:
    """Return the JSON, of at most `MOST_BYTES` bytes unless what is said of each check needs more."""
    text = ""
    for detail in _DETAILS:
        text = json.dumps(tree(document, detail), ensure_ascii=False, separators=(",", ":"), default=vars)
        if len(text.encode()) < MOST_BYTES:
            break
    return f"{text}\n"


def tree(document: Document, detail: _Detail = _DETAILS[0]) -> dict[str, Any]:
    """Return it as a tree, in which what is a record of the report stands as itself."""
    return {
        "schemaVersion": document.schema_version,
        "suite": {
            "name": "teamchat-conformance",
            "version": document.suite_version,
            "python": document.python,
        },
        "claim": vars(document.claim) | {"line": document.claim.line},
        "counts": document.counts,
        "passed": document.passed,
        "failed": document.failed,
        "skipped": document.skipped,
        "warnings": document.warnings,
        "seconds": round(document.seconds, 3),
        "causes": document.causes,
        "checks": [_check(check) for check in document.checks],
        "observations": {
            check.id: {told.profile: told.value for told in check.told if told.outcome == "recorded"}
            for check in document.checks
            if check.level == "recorded" and check.verdict == "recorded"
        },
        "monitors": {
            check.id: {"verdict": check.verdict, "samples": [told.value for told in check.told]}
            for check in document.checks
            if check.is_monitored
        },
        "profiles": [_profile(document, played, detail) for played in document.profiles],
    }


def _check(check: Checked) -> dict[str, Any]:
    told = vars(check) | {"profile": check.decisive.profile if check.decisive else ""}
    told["told"] = [vars(one) for one in check.told if one.outcome != "skipped"]
    return {key: value for key, value in told.items() if key not in ("decided_by", "title")}


def _profile(document: Document, played: Played, detail: _Detail) -> dict[str, Any]:
    shown = {
        sent.number: sent
        for check in document.checks
        if check.verdict in SHOWN_WHOLE and document.played(check) is played
        for sent in telling(played, check)[: detail.exchanges]
    }
    exchanges = [_cut(shown[number], detail.body) for number in sorted(shown)]
    streams = _streams(played.streams, exchanges, detail.events)
    return vars(played) | {"exchanges": exchanges, "streams": streams}


def _cut(sent: Sent, most: int) -> dict[str, Any]:
    return vars(sent) | {"request_body": cut(sent.request_body, most), "body": cut(sent.body, most)}


def _streams(
    streams: Iterable[Stream], exchanges: Iterable[dict[str, Any]], most: int
) -> list[dict[str, Any]]:
    """Return the streams with all events, if they are few, or those that came while an exchange went on."""
    known = list(streams)
    spans = [(one["started"], one["ended"] + _AFTER_SECONDS) for one in exchanges]
    are_few = sum(len(stream.events) for stream in known) <= _FEW_EVENTS
    told = []
    for stream in known:
        events: list[Heard] = [
            event
            for event in stream.events
            if are_few or any(began <= event.at <= ended for began, ended in spans)
        ]
        kept, most = events[:most], max(0, most - len(events))
        told.append(vars(stream) | {"events": kept, "heard": len(stream.events)})
    return told
