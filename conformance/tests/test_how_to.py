"""The guide for implementers is true of this commit: its commands run, against teamchat."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from teamchat_conformance import instance
from teamchat_conformance.registry import load

ROOT = Path(__file__).parent.parent.parent
GUIDE = ROOT / "docs" / "how-to" / "test-an-implementation.md"
README = ROOT / "conformance" / "README.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    """Return an environment in which the commands of this Python's own installation are found."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {
        "PATH": path,
        "MAIL_PASSWORD": "of the mail account",
        "OAUTH_SECRET": "of the client",
    }


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def test_the_first_run_of_the_guide_is_green(tmp_path: Path) -> None:
    script = "\n".join(blocks(GUIDE, "sh")).replace("3000", str(free_port()))
    script = script.replace("--report conformance-report", "--area SET --report conformance-report")
    script = script.replace("--area GEN,CHAN", "--area CHAN").replace(
        "\nuntil", "\ntrap 'kill %1; wait' EXIT\nuntil"
    )
    done = subprocess.run(
        ["bash", "-emuc", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("skipped")
    assert len(re.findall(r"^\d+ passed, 0 failed, \d+ skipped$", done.stdout, re.MULTILINE)) == 2
    written = {path.name for path in (tmp_path / "conformance-report").iterdir()}
    assert written == {"results.json", "junit.xml", "report.html", "badge.svg", "badge.json"}
    told = json.loads((tmp_path / "conformance-report" / "results.json").read_text("utf-8"))
    assert {check["area"] for check in told["checks"] if check["verdict"] == "pass"} >= {"SET"}


@pytest.mark.parametrize("text", blocks(GUIDE, "toml"))
def test_the_descriptions_of_the_guide_are_descriptions(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    assert instance.parse(tomllib.loads(text))


def test_the_guide_names_every_section_of_a_description() -> None:
    named = set(re.findall(r"`\[+([a-z.]+)\]+`", GUIDE.read_text("utf-8")))
    assert named - {"oauth.provider"} == set(instance.Instance.__dataclass_fields__)


def test_the_failure_in_the_guide_is_of_a_check_that_says_so() -> None:
    [shown] = blocks(GUIDE, "text")
    id, level, spec = re.findall(r"FAIL (\S+)  (\w+), (.+)", shown)[0]
    check = load().checks[id]
    assert (check.level, check.spec) == (level, spec)
    assert f"check   {check.text}\n" in shown


@pytest.mark.parametrize(
    "command", re.findall(r"^\$ (teamchat-conformance (?:list|explain) .*)$", README.read_text(), re.M)
)
def test_the_commands_of_the_readme_run(command: str) -> None:
    done = subprocess.run(
        command.split(), env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "MSG-" in done.stdout


def test_the_readme_counts_the_areas() -> None:
    number = re.search(r"About (\d+) checks in (\d+) areas", README.read_text("utf-8"))
    assert number
    assert int(number[2]) == len(load().areas)
    assert abs(int(number[1]) - len(load().checks)) < 50
