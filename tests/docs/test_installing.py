"""The page on installing: its commands in their order, with stand-ins for what only root can do."""

from __future__ import annotations

import os
import re
import shlex
import stat
import tomllib
from configparser import RawConfigParser
from itertools import pairwise

import pytest
import yaml

from teamchat.settings import load
from tests.docs.machine import Machine
from tests.docs.pages import DOCS, ROOT, blocks
from tests.docs.recipes import recipe

PAGE = "how-to/install.md"
CONSOLE = blocks(PAGE, "console")
[CONFIGURED] = blocks(PAGE, "toml")
STAND_INS = {
    "make": 'mkdir -p "${2#PREFIX=}" && ln -s "$PROGRAMS" "${2#PREFIX=}/bin"',
    "sudo": 'shift 2; exec "$@"',
}


def typed(block: str, prompt: str) -> str:
    """Return what stands behind the prompts of a block of a console, with the lines that go on."""
    continued = block.replace("\\\n", " ")
    lines = re.findall(rf"^{re.escape(prompt)} (.*)$", continued, re.MULTILINE)
    assert len(lines) == len(continued.splitlines()), "every line is one that is typed"
    return "\n".join(lines)


def of_this_group(script: str) -> str:
    """Put the group of who tests in the place of the one that `useradd` would have made."""
    assert script.count(" teamchat /etc/teamchat/") == 1
    return re.sub("(-g|chgrp) teamchat", rf"\1 {os.getgid()}", script)


def prepare(machine: Machine) -> None:
    """Put programs in the way that write down how they were called."""
    for name in ("make", "useradd", "systemctl", "journalctl", "sudo"):
        program = machine.write(
            f"bin/{name}", f'#!/bin/bash\necho "{name} $*" >> calls\n{STAND_INS.get(name, "")}\n'
        )
        program.chmod(0o755)
    for place in ("etc/systemd/system", "var/lib"):
        (machine.root / place).mkdir(parents=True)
    (machine.root / "deploy").symlink_to(ROOT / "deploy")


def test_the_commands_make_a_server_that_systemd_can_start(machine: Machine) -> None:
    prepare(machine)
    programs = str(machine.root / "programs")
    machine.install("programs")
    install, start, check, _ = CONSOLE
    said = machine.types(of_this_group(typed(install, "#")), PROGRAMS=programs)
    assert "teamchat.toml is written." in said
    config = machine.root / "etc" / "teamchat" / "teamchat.toml"
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o750
    written = config.read_text()
    for section in tomllib.loads(CONFIGURED):
        [added] = re.findall(rf"^(\[{section}\]\n(?:.+\n)+)", machine.here(CONFIGURED), re.MULTILINE)
        assert f"\n[{section}]\n" in written
        written = written.replace(f"\n[{section}]\n", f"\n{added}")
    config.write_text(written)
    assert load(config, {}).auth.app_url == "https://chat.example.org"
    machine.types(typed(start, "#"))

    # What systemd does with the unit that is there now.
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(machine.root / "etc" / "systemd" / "system" / "teamchat.service")
    service = unit["Service"]
    environment = dict([machine.here(service["Environment"]).split("=", 1)])
    assert service["EnvironmentFile"].removeprefix("-/etc/teamchat/") == "secrets.env"
    machine.environment = {}
    with machine.serves(service["ExecStart"], **environment) as server:
        assert "with the password" in server.said
        data = machine.root / "var" / "lib" / "teamchat"
        assert environment["TEAMCHAT_STORAGE__PATH"] == str(data)
        assert load(config, {}).storage.path == str(data), "the commands look where the server does"
        assert "in order; people sign in by password" in machine.types(typed(check, "#"))
        assert server.end() == 0
    calls = (machine.root / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == [
        *("make", "useradd", "systemctl", "systemctl", "journalctl", "sudo"),
    ]
    assert service["User"] in calls[1].split()
    assert f"--home-dir {service['WorkingDirectory']}" in calls[1].replace(str(machine.root), "")


@pytest.mark.slow
def test_make_server_puts_the_program_where_the_page_says() -> None:
    page = (DOCS / PAGE).read_text()
    for command in (
        "make server PREFIX=/opt/teamchat",
        "make server PREFIX=/opt/teamchat PYTHON=/usr/bin/python3",
    ):
        assert command in page
        commands = recipe(command)
        assert f"{'/usr/bin/' if 'PYTHON' in command else ''}python3 -m venv /opt/teamchat" in commands
        assert any(each.startswith("/opt/teamchat/bin/pip install") for each in commands)


@pytest.mark.slow
def test_the_container_is_built_and_run_with_what_it_has() -> None:
    build, run = map(shlex.split, typed(CONSOLE[3], "$").splitlines())
    file = (ROOT / build[build.index("-f") + 1]).read_text()
    tag = build[build.index("-t") + 1]
    assert run[-1] == tag
    [volume] = re.findall(r"^VOLUME (\S+)$", file, re.MULTILINE)
    [port] = re.findall(r"^EXPOSE (\d+)$", file, re.MULTILINE)
    assert run[run.index("-v") + 1] == f"teamchat:{volume}"
    assert run[run.index("-p") + 1] == f"127.0.0.1:3000:{port}"
    environment = dict(value.split("=", 1) for flag, value in pairwise(run) if flag == "-e")
    assert load(environ=environment).auth.app_url == "https://chat.example.org"
    assert 'ENTRYPOINT ["teamchat"]' in file
    assert 'CMD ["serve"]' in file
    composed = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
    assert composed["services"]["teamchat"]["build"]["dockerfile"] == "deploy/Containerfile"


def test_a_secret_may_stand_in_a_file_beside_the_configuration(machine: Machine) -> None:
    [shown] = re.findall(r"`(jwtSecret = \{ file = .*? \})`", (DOCS / PAGE).read_text())
    machine.write("etc/teamchat/jwt-secret", "a secret that is long enough for it\n")
    config = machine.write("etc/teamchat/teamchat.toml", f"[auth]\n{shown}\n")
    assert load(config, {}).auth.jwt_secret == "a secret that is long enough for it"


def test_the_page_lists_every_plugin() -> None:
    listed = set(re.findall(r"plugins/(teamchat-[\w-]+)/README\.md", (DOCS / PAGE).read_text()))
    assert listed == {plugin.name for plugin in (ROOT / "plugins").glob("teamchat-*")}
