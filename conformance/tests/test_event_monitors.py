"""What the monitors of streams make of what they heard."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from teamchat_conformance.event_monitors import Streams
from teamchat_conformance.http import Recorder
from teamchat_conformance.instance import parse
from teamchat_conformance.registry import load
from teamchat_conformance.sse import Observer


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ("new gone:removed new gone:private new", ""),
        ("new new", "2 times NEW_CHANNEL"),
        ("new gone:removed new new", "2 times NEW_CHANNEL"),
        ("new gone gone", "2 times DELETE_CHANNEL"),
        ("new gone new", "2 times NEW_CHANNEL"),
        ("new gone:removed gone:removed", "2 times DELETE_CHANNEL"),
    ],
)
def test_a_channel_may_be_seen_again_after_sight_of_it_was_lost(told: str, wrong: str) -> None:
    observer = Observer("U", "u", Recorder("run"))
    observer.status = 200
    hello = {"type": "CONNECTED", "payload": {}}
    for one in (hello, *map(_of_a_channel, told.split())):
        observer.take(f"data: {json.dumps(one)}\n\n".encode())
    run: Any = SimpleNamespace(observers=[observer], instance=parse({"instance": {"base_url": "http://x"}}))
    findings = {one.id: one for one in Streams(run).findings(load())}
    assert wrong in findings["SSE-ORDER-05"].message
    assert findings["SSE-ORDER-05"].outcome == ("fail" if wrong else "pass")


def _of_a_channel(word: str) -> dict[str, Any]:
    kind, _, reason = word.partition(":")
    name = {"new": "NEW_CHANNEL", "gone": "DELETE_CHANNEL"}[kind]
    return {"type": name, "payload": {"id": "c", **({"reason": reason} if reason else {})}}
