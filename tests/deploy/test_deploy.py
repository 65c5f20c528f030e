"""What operators deploy with works, as far as a machine without systemd or containers can show."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from teamchat.settings import load
from tests.environments import environment

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", lock.read_text(), re.MULTILINE))


def test_a_server_gets_the_versions_that_are_tested() -> None:
    tested, served = pins(ROOT / "requirements.lock"), pins(DEPLOY / "requirements.lock")
    assert served
    assert served.items() <= tested.items()
    assert not {"pytest", "ruff", "mypy", "playwright"} & served.keys()


def test_nothing_comes_in_by_another_package_of_the_name_teamchat() -> None:
    strangers = {"errbot", "ansible", "ansible-core", "slackclient"}
    for lock in (ROOT / "requirements.lock", DEPLOY / "requirements.lock"):
        assert not strangers & pins(lock).keys()


def test_the_composed_services_settings_are_keys_of_teamchat(tmp_path: Path) -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    given = {"APP_URL": "https://chat.example.org", "JWT_SECRET": "x" * 32, "POSTGRES_PASSWORD": "secret"}
    environment = {
        name: re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: given[found[1]], str(value))
        for name, value in services["teamchat"]["environment"].items()
    }
    settings = load(environ=environment)
    assert settings.storage.backend == "postgres"
    assert settings.storage.options["url"].startswith("postgresql://teamchat@database/")
    assert settings.auth.app_url == given["APP_URL"]
    assert set(services["teamchat"]["depends_on"]) <= services.keys()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "teamchat.service").read_text()
    here = tmp_path / "teamchat.service"
    here.write_text(text.replace("/opt/teamchat/bin/teamchat", str(Path(sys.executable).parent / "teamchat")))
    said = subprocess.run(["systemd-analyze", "verify", here], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.slow
def test_what_installs_is_installed_first_and_is_pinned(tmp_path: Path) -> None:
    """A new environment has the pip of the Python that made it, often years old."""
    lock = (DEPLOY / "installers.lock").read_text()
    assert {"pip", "setuptools"} == pins(DEPLOY / "installers.lock").keys()
    assert lock.count("--hash=sha256:") >= 2
    said = subprocess.run(
        ["make", "-n", "-W", "deploy/installers.lock", "server", f"PREFIX={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for made in (".venv", str(tmp_path)):
        [_, after] = said.split(f"python3 -m venv {made}\n")
        assert after.startswith(f"{made}/bin/python -m pip install")
        assert "--require-hashes -r deploy/installers.lock" in after.splitlines()[0]
    stages = (DEPLOY / "Containerfile").read_text().split("\nFROM ")[1:]
    for stage in stages:
        [first, *_] = [line for line in stage.splitlines() if line.startswith("RUN pip install")]
        assert first.endswith("installers.lock")
        assert "--require-hashes" in first


def test_this_environment_has_them() -> None:
    assert metadata.version("pip") == pins(DEPLOY / "installers.lock")["pip"]


@pytest.mark.slow
def test_an_environment_of_the_tests_has_them_too(tmp_path: Path) -> None:
    said = environment(tmp_path / "env").run("pip --version", tmp_path)
    assert said.split()[1] == pins(DEPLOY / "installers.lock")["pip"]


def test_the_page_of_dependencies_lists_what_a_server_runs_on() -> None:
    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text()
    rows = re.findall(r"^\| ([a-z0-9-]+) \| (.*) \| (.*) \|$", page, re.MULTILINE)
    listed = [name for name, _, _ in rows if name != "package"]
    assert len(listed) == len(set(listed))
    assert set(listed) == pins(DEPLOY / "requirements.lock").keys() | pins(DEPLOY / "installers.lock").keys()
    assert all(why.strip() and who.strip() for _, why, who in rows)
    asked, brought, *_ = (
        set(re.findall(r"^\| ([a-z0-9-]+) \|", part, re.MULTILINE)) - {"package"}
        for part in page.split("\n## ")[1:]
    )
    assert asked == asked_for()
    assert not asked & brought


def asked_for() -> set[str]:
    """Return what teamchat and its plugins ask for, in their own words, but for each other."""
    paths = [ROOT / "pyproject.toml", *(ROOT / "plugins").glob("*/pyproject.toml")]
    projects = [tomllib.loads(path.read_text())["project"] for path in paths]
    wanted = [each for project in projects for each in project["dependencies"]]
    own = {project["name"] for project in projects}
    return {re.match(r"[A-Za-z0-9-]+", each)[0].lower() for each in wanted} - own  # type: ignore[index]
