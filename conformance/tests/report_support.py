"""Runs that never were, to be told: a recorder filled by hand, findings as they are wished for."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from teamchat_conformance.http import Exchange, Recorder
from teamchat_conformance.instance import Instance, parse
from teamchat_conformance.registry import Area, Registry
from teamchat_conformance.runner import Options, Result
from teamchat_conformance.sse import Event, Observer
from teamchat_conformance.verdicts import Finding, Outcome

RUN_ID = "k3v9a0bc"
ADMIN_ID = "u-the-admin"


def registry() -> Registry:
    """Return four checks of two areas: two required, one recommended, one recorded."""
    area = Area("XX", "things")
    area.required("XX-ONE-01", "§4 Things", "a thing is made")
    area.required("XX-ONE-02", "§4 Things", "a thing is private", "mail")
    area.recommended("XX-TWO-01", "§2", "a thing is quick")
    other = Area("YY", "other things")
    other.recorded("YY-ODD-01", "§3", "what a thing does")
    return Registry([area, other])


IDS = ("XX-ONE-01", "XX-ONE-02", "XX-TWO-01", "YY-ODD-01")


def findings(**outcomes: Outcome) -> dict[str, Finding]:
    """Return findings: all pass but those named, with underscores for hyphens."""
    found = {id: Finding(id, "pass") for id in IDS}
    found["YY-ODD-01"] = Finding("YY-ODD-01", "recorded", value={"status": 200})
    for name, outcome in outcomes.items():
        id = name.replace("_", "-")
        found[id] = Finding(id, outcome, f"it was {outcome}")
    return found


def a_result(
    found: Mapping[str, Finding] | None = None,
    recorder: Recorder | None = None,
    *,
    profile: str = "",
    observers: list[Observer] | None = None,
    **described: Any,
) -> Result:
    instance: Instance = parse(
        {"instance": {"name": "a server", "version": "1.2", "base_url": "http://127.0.0.1:3000"}, **described}
    )
    given = recorder or a_recorder()
    return Result(
        instance,
        profile,
        Options(seed=7),
        given.run_id,
        dict(findings() if found is None else found),
        given,
        observers or [],
        1.5,
        [],
    )


def a_recorder() -> Recorder:
    return Recorder(RUN_ID, clock=iter(range(100_000)).__next__)


def exchange(
    recorder: Recorder,
    method: str,
    target: str,
    *,
    sent: Any = None,
    got: Any = None,
    status: int = 200,
    media_type: str = "application/json",
    **headers: str,
) -> Exchange:
    """Put an exchange on the record. Bodies are bytes, or what becomes JSON."""
    made = recorder.begin("user U", method, target, list(headers.items()), _bytes(sent))
    made.ended, made.status = recorder.now(), status
    made.headers = [("content-type", media_type)]
    made.body = _bytes(got)
    return made


def observer(recorder: Recorder, *events: tuple[str, Any]) -> Observer:
    """Return an observer that has got these events."""
    made = Observer("user V", "u-v", recorder)
    for kind, payload in events:
        data = json.dumps({"type": kind, "payload": payload})
        made.events.append(Event(kind, payload, data, (f"data: {data}",), recorder.now()))
    return made


def with_message(result: Result, id: str, outcome: Outcome, message: str, *exchanges: int) -> Result:
    """Return a result in which a check has come to this."""
    found = {**result.findings, id: Finding(id, outcome, message, list(exchanges))}
    return dataclasses.replace(result, findings=found)


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return b"" if body is None else json.dumps(body).encode()
