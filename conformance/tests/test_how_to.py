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
import yaml

from teamchat_conformance import instance
from teamchat_conformance.registry import load
from tests.docs.pages import DOCS, ROOT, blocks

GUIDE = "how-to/test-an-implementation.md"
README = "../conformance/README.md"
INSTALL, EVERY_MODE = blocks(GUIDE, "console")
START, LOOK = blocks(README, "console")
[STEPS] = blocks(GUIDE, "yaml")
MAIL, OAUTH, LAUNCH = blocks(GUIDE, "toml")
# A server that calls the port's key otherwise.
MY_SERVER = """#!{python}
import json, os, sys
from pathlib import Path

file = Path(sys.argv[2])
tree = json.loads(file.read_text())
tree["server"] = tree.get("server", {}) | tree.pop("listen")
file.write_text(json.dumps(tree))
os.execvp("teamchat", ["teamchat", "serve", "--config", str(file)])
"""


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which the commands of this Python's own installation are found."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    secrets = {"MAIL_PASSWORD": "of the mail account", "OAUTH_SECRET": "of the client"}
    return os.environ | {"PATH": path} | secrets | more


def ran(script: str, directory: Path, **more: str) -> str:
    """Type it, see it succeed, and return what it printed."""
    done = subprocess.run(
        ["bash", "-emuc", script],
        cwd=directory,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands(console: str) -> list[str]:
    """Return what is typed at the prompts of a block."""
    return re.findall(r"^\$ (.*)$", console, re.MULTILINE)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


@pytest.mark.slow
def test_the_first_run_of_the_guide_is_green(tmp_path: Path) -> None:
    script = "\n".join(blocks(GUIDE, "sh")).replace("3000", str(free_port()))
    script = script.replace("--report conformance-report", "--area SET --report conformance-report")
    script = script.replace("--area GEN,CHAN", "--area CHAN").replace(
        "\nuntil", "\ntrap 'kill %1; wait' EXIT\nuntil"
    )
    said = ran(script, tmp_path)
    assert said.splitlines()[-1].endswith("skipped")
    assert len(re.findall(r"^\d+ passed, 0 failed, \d+ skipped$", said, re.MULTILINE)) == 2
    written = {path.name for path in (tmp_path / "conformance-report").iterdir()}
    assert written == {"results.json", "junit.xml", "report.html", "badge.svg", "badge.json"}
    told = json.loads((tmp_path / "conformance-report" / "results.json").read_text("utf-8"))
    assert {check["area"] for check in told["checks"] if check["verdict"] == "pass"} >= {"SET"}


@pytest.mark.parametrize("text", [MAIL, OAUTH, LAUNCH])
def test_the_descriptions_of_the_guide_are_descriptions(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    assert instance.parse(tomllib.loads(text))


def test_the_guide_names_every_section_of_a_description() -> None:
    named = set(re.findall(r"`\[+([a-z.]+)\]+`", (DOCS / GUIDE).read_text("utf-8")))
    assert named - {"oauth.provider"} == set(instance.Instance.__dataclass_fields__)


@pytest.mark.slow
def test_the_failure_in_the_guide_is_of_a_check_that_says_so() -> None:
    [shown] = blocks(GUIDE, "text")
    id, level, spec = re.findall(r"FAIL (\S+)  (\w+), (.+)", shown)[0]
    check = load().checks[id]
    assert (check.level, check.spec) == (level, spec)
    assert f"check   {check.text}\n" in shown


@pytest.mark.slow
@pytest.mark.parametrize("command", commands(LOOK))
def test_the_commands_of_the_readme_run(command: str, tmp_path: Path) -> None:
    assert "MSG-" in ran(command, tmp_path)


@pytest.mark.slow
def test_the_suite_is_installed_by_the_command_that_all_pages_have(tmp_path: Path) -> None:
    [install] = commands(INSTALL)
    assert install == commands(START)[0] == yaml.safe_load(STEPS)[0]["run"]
    alone = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    ran(install, ROOT, PIP_TARGET=str(tmp_path), PIP_DISABLE_PIP_VERSION_CHECK="1", **alone)
    assert (tmp_path / "teamchat_conformance" / "cli.py").is_file()


@pytest.mark.slow
def test_a_server_that_runs_is_tested_with_nothing_but_its_address_and_an_admin(tmp_path: Path) -> None:
    _, command = commands(START)
    port = str(free_port())
    script = f"""teamchat serve --port {port} &
trap 'kill %1; wait' EXIT
until curl -sf http://127.0.0.1:{port}/health; do sleep 0.1; done
{command.replace("3000", port)} --area SET"""
    ada = {"TEAMCHAT_CHAT__INITIALUSER__EMAIL": "ada@example.org", "INITIAL_USER_PASSWORD": "a long password"}
    assert re.search(r"[1-9]\d* passed, 0 failed", ran(script, tmp_path, PASSWORD="a long password", **ada))


@pytest.mark.slow
def test_every_mode_is_shown_by_a_server_that_the_suite_starts(tmp_path: Path) -> None:
    _, run, upload = yaml.safe_load(STEPS)
    assert commands(EVERY_MODE) == [run["run"].replace(" --strict", "")]
    (tmp_path / "description.toml").write_text(LAUNCH)
    program = tmp_path / "my-server"
    program.write_text(MY_SERVER.replace("{python}", sys.executable))
    program.chmod(0o755)
    script = f"PATH={tmp_path}:$PATH {run['run']} --area SET"
    assert re.search(r"[1-9]\d* passed, 0 failed", ran(script, tmp_path))
    assert (tmp_path / upload["with"]["path"] / "report.html").is_file()


def test_the_readme_counts_the_areas() -> None:
    number = re.search(r"About (\d+) checks in (\d+) areas", (DOCS / README).read_text("utf-8"))
    assert number
    assert int(number[2]) == len(load().areas)
    assert abs(int(number[1]) - len(load().checks)) < 50
