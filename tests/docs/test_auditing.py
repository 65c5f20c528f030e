"""The page on the audit log: its commands, and what they print, on a server where something happened."""

from __future__ import annotations

import json
import tomllib

from tests.docs.machine import Machine
from tests.docs.pages import blocks

[COMMANDS] = blocks("how-to/read-the-audit-log.md", "sh")
[ENTRY] = blocks("how-to/read-the-audit-log.md", "json")
[KEPT] = blocks("how-to/read-the-audit-log.md", "toml")


def test_the_commands_of_the_page_find_what_an_admin_did(machine: Machine) -> None:
    machine.write("teamchat.toml", KEPT)
    with machine.serves("teamchat serve --config teamchat.toml") as server:
        with server.sign_in() as client:
            added = client.post("/users/add", json={"email": "grace@example.org"})
            assert added.status_code == 200, added.text
            role = client.put(f"/users/{added.json()['userId']}/role", json={"role": "admin"})
            assert role.status_code == 200, role.text
        assert "user.role" in machine.types(COMMANDS)
    entries = [json.loads(line) for line in (machine.root / "audit.jsonl").read_text().splitlines()]
    [found] = [entry for entry in entries if entry["action"] == "user.role"]
    shown = json.loads(ENTRY)
    assert found.keys() == shown.keys()
    assert (found["targetType"], found["details"]) == (shown["targetType"], shown["details"])


def test_the_page_names_the_default() -> None:
    assert tomllib.loads(KEPT) == {"audit": {"retentionDays": 400}}
