"""The page on keeping messages for a time: what is older goes at the start, as if it had been deleted."""

from __future__ import annotations

import json
import time

from teamchat.settings import load
from teamchat.testing import DEADLINE
from tests.docs.machine import Machine, said_in, say
from tests.docs.pages import blocks

[A_YEAR] = blocks("how-to/keep-messages-for-a-time.md", "toml")
SLACK = {
    "users.json": [{"id": "U1", "name": "grace", "profile": {"email": "grace@example.org"}}],
    "channels.json": [{"id": "C1", "name": "general", "created": 1_500_000_000, "members": ["U1"]}],
    "general/2017-07-14.json": [
        {"type": "message", "user": "U1", "text": "long ago", "ts": "1500000000.000000"}
    ],
}


def test_what_is_too_old_goes_at_the_start_with_its_thread(machine: Machine) -> None:
    for name, content in SLACK.items():
        machine.write(f"slack/{name}", json.dumps(content))
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        machine.types("teamchat import slack")
        young = say(ada, "young")
        [old, _] = said_in(ada)
        assert old["content"] == "long ago"
        for parent in (old, young):
            assert ada.post(f"/messages/{parent['id']}/thread", json={"content": "now"}).status_code == 200
        assert server.end() == 0
    assert load(machine.write("teamchat.toml", A_YEAR), {}).chat.retention_days == 365
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        deadline = time.monotonic() + DEADLINE
        while len(said_in(ada)) > 1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        [kept] = said_in(ada)
        assert kept["id"] == young["id"]
        assert kept["threadMeta"]["replyCount"] == 1
        assert ada.get(f"/messages/{old['id']}/thread").status_code == 404
        assert {user["email"] for user in ada.get("/users").json()["users"]} >= {"grace@example.org"}
        assert server.end() == 0
    logged = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    [told] = [line for line in logged if line["event"] == "messages that were too old have been removed"]
    assert told["count"] == 1
