"""A small workspace as Slack exports it, with something of every kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.operations.conftest import PIXEL

SLACK: dict[str, Any] = {
    "users.json": [
        {"id": "U1", "name": "grace", "is_owner": True,
         "profile": {"display_name": "Grace Hopper", "email": "grace@navy.example"},
         "updated": 1_500_000_000},
        {"id": "U2", "name": "alan", "profile": {"real_name": "Alan Turing", "email": "alan@example.org"}},
        {"id": "U3", "name": "gone", "deleted": True, "profile": {"email": "gone@example.org"}},
        {"id": "U4", "name": "no-email", "profile": {}},
        {"id": "UB", "name": "deploybot", "is_bot": True, "profile": {}},
    ],
    "channels.json": [
        {"id": "C1", "name": "general", "created": 1_400_000_000, "creator": "U1"},
        {"id": "C2", "name": "engineering", "created": 1_400_000_001, "creator": "U2", "is_archived": True,
         "topic": {"value": "What we build"}, "purpose": {"value": ""}, "pins": [
             {"id": "1500000000.000200", "type": "C", "created": 1_500_000_500, "user": "U2", "owner": "U1"},
             {"id": "1500000060.000000", "type": "C", "created": 1_500_000_400, "user": "U8"},
             {"id": "1500000000.000001", "type": "C", "created": 1_500_000_400, "user": "U1"},
             {"id": "F2", "type": "F", "created": 1_500_000_400, "user": "U1"}]},
    ],
    "groups.json": [{"id": "G1", "name": "secret", "created": 1_400_000_002, "creator": "U1",
                     "members": ["U1", "U3"]}],
    "mpims.json": [{"id": "M1", "name": "mpdm-grace--alan--gone-1", "created": 1_400_000_002,
                    "members": ["U1", "U2", "U3"]}],
    "canvases.json": [{"id": "F9", "title": "A plan"}],
    "dms.json": [
        {"id": "D1", "created": 1_400_000_003, "members": ["U1", "U2"]},
        {"id": "D2", "created": 1_400_000_004, "members": ["U1", "U1"]},
    ],
    "engineering/2017-07-14.json": [
        {"type": "message", "subtype": "channel_join", "user": "U1", "ts": "1500000000.000001",
         "text": "joined"},
        {"type": "message", "user": "U1", "ts": "1500000000.000200", "thread_ts": "1500000000.000200",
         "text": "Hi <@U2>, see <https://example.org/?a=1&amp;b=2|the page> &lt;now&gt; in <#C1|general>",
         "edited": {"user": "U1", "ts": "1500000009.000000"},
         "reactions": [{"name": "+1::skin-tone-3", "users": ["U2", "U9"], "count": 2},
                       {"name": "shipit", "users": ["U1"], "count": 1}]},
        {"type": "message", "user": "U2", "ts": "1500000000.000100",
         "text": "earlier within the millisecond"},
        {"type": "message", "user": "U2", "ts": "1500000060.000000", "thread_ts": "1500000000.000200",
         "text": "a reply"},
        {"type": "message", "user": "U3", "ts": "1500000050.000000", "thread_ts": "1500000000.000200",
         "subtype": "thread_broadcast", "text": "an earlier reply"},
        {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "Deploy",
         "ts": "1500000100.000000", "text": "", "attachments": [{"fallback": "Deployed &amp; done"}]},
        {"type": "message", "user": "U7", "ts": "1500000200.000000", "text": "from outside",
         "user_profile": {"real_name": "A Guest"}},
        {"type": "message", "user": "U1", "ts": "1500000300.000000", "text": "",
         "files": [{"id": "F1", "name": "pixel.svg"}, {"id": "F2", "name": "plan.pdf",
                    "url_private": "https://files.example.org/plan.pdf?t=xoxe-secret"}]},
        {"type": "message", "user": "U1", "ts": "1500000400.000000", "thread_ts": "1400000000.000000",
         "text": "a reply to what is not there"},
    ],
    "general/2017-07-14.json": [
        {"type": "message", "user": "U4", "ts": "1500000001.000000", "text": "hello"},
    ],
    "secret/2017-07-14.json": [
        {"type": "message", "user": "U1", "ts": "1500000002.000000", "text": "psst"},
    ],
    "D1/2017-07-15.json": [
        {"type": "message", "user": "U2", "ts": "1500080000.000000", "text": "between us"},
    ],
}  # fmt: skip


def write_workspace(directory: Path) -> Path:
    """Write the export, unpacked, and the bytes of an image beside it."""
    for name, content in SLACK.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(json.dumps(content))
    (directory / "__uploads" / "F1").mkdir(parents=True)
    (directory / "__uploads" / "F1" / "pixel.svg").write_bytes(PIXEL)
    return directory
