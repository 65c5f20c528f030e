"""A plugin from the template is one: it loads, its tests pass, and the tools are content with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from teamchat.errors import SettingsError
from teamchat.scaffold import KINDS, make

ROOT = Path(__file__).parent.parent.parent


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugins_own_tests_pass_at_once(kind: str, tmp_path: Path) -> None:
    made = make(kind, "lunch-menu", tmp_path)
    ran = run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", cwd=made, path=made
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "passed" in ran.stdout


def test_the_tools_are_content_with_new_plugins(tmp_path: Path) -> None:
    packages = [make(kind, f"a-{kind}", tmp_path) for kind in KINDS]
    config = tmp_path / "ruff.toml"
    config.write_text(
        f'extend = "{ROOT / "pyproject.toml"}"\n[lint.isort]\nknown-first-party = ["teamchat"]\n'
    )
    programs = Path(sys.executable).parent
    for command in (("check", "--config", str(config)), ("format", "--check", "--config", str(config))):
        ran = run(programs / "ruff", *command, "--exclude", "tests", tmp_path, cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    modules = [str(next(package.glob("teamchat_*"))) for package in packages]
    ran = run(programs / "mypy", "--strict", "--cache-dir", tmp_path / "cache", *modules, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout


def test_an_installed_plugin_is_active(tmp_path: Path) -> None:
    made = make("routes", "lunch-menu", tmp_path)
    installed = tmp_path / "installed"
    offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(installed)]
    ran = run(sys.executable, "-m", "pip", "install", *offline, made, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    listed = run(sys.executable, "-m", "teamchat", "plugins", "--json", cwd=tmp_path, path=installed)
    [found] = [plugin for plugin in json.loads(listed.stdout) if plugin["name"] == "lunch-menu"]
    assert (found["status"], found["hooks"]) == ("active", ["routes"])


@pytest.mark.parametrize("name", ["", "Lunch", "9lives", "lunch_menu", "../lunch", "lunch-", "class", "a b"])
def test_a_name_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="lower-case letters"):
        make("routes", name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_is_left_as_it_is(tmp_path: Path) -> None:
    made = make("routes", "lunch", tmp_path)
    (made / "README.md").write_text("mine")
    with pytest.raises(SettingsError, match="left as it is"):
        make("service", "teamchat-lunch", tmp_path)
    assert (made / "README.md").read_text() == "mine"


def test_the_command_says_what_comes_next(tmp_path: Path) -> None:
    ran = run(sys.executable, "-m", "teamchat", "new-plugin", "lunch", "--kind", "service", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "teamchat-lunch is written. Next, in the environment that teamchat is installed in" in ran.stdout
    assert (tmp_path / "teamchat-lunch" / "teamchat_lunch" / "__init__.py").is_file()
