"""The page on MikroChat names checks that there are, and is made anew by the command that it gives."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from datetime import date

from teamchat_conformance.registry import load
from tests.docs.pages import DOCS, ROOT, blocks

PAGE = "reference/mikrochat.md"
[COMMAND] = blocks(PAGE, "console")
KEPT = json.loads((DOCS / "mikrochat.json").read_text("utf-8"))


def test_the_command_names_a_program_and_the_versions_that_the_page_is_about() -> None:
    _, program, *arguments = shlex.split(COMMAND.removeprefix("$ "))
    assert [one.partition("=")[0] for one in arguments] == [run["version"] for run in KEPT["runs"]]
    said = subprocess.run(
        [sys.executable, program, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "VERSION=PATH" in said


def test_every_check_that_the_page_names_is_one_and_some_of_each_cause_are_required() -> None:
    checks = load().checks
    for run in KEPT["runs"]:
        for cause in run["causes"]:
            assert cause["clearest"] in checks
            assert {checks[id].level for id in cause["checks"]} >= {"required"}, cause["title"]
            assert cause["required"] <= len(cause["checks"])


def test_the_page_says_when_and_by_what_it_was_made() -> None:
    text = (DOCS / PAGE).read_text("utf-8")
    assert date.fromisoformat(KEPT["date"]).isoformat() in text
    for run in KEPT["runs"]:
        assert re.search(rf"MikroChat {re.escape(run['version'])}\b|and {re.escape(run['version'])}\b", text)
