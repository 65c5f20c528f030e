"""A plugin from the template is one: it loads, its tests pass, and the tools are content with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from teamchat.cli.scaffold import KINDS, make
from teamchat.errors import SettingsError
from tests.environments import Environment, environment

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment of an author who has made a plugin of each kind, called ``a-<kind>``."""
    directory = tmp_path_factory.mktemp("author")
    made = environment(directory / "env")
    packages = [make(kind, f"a-{kind}", directory) for kind in KINDS]
    made.run(
        f"pip install --quiet --no-deps {' '.join(f'--editable {package}' for package in packages)}",
        directory,
    )
    return made


def made_in(author: Environment, kind: str) -> Path:
    return author.directory.parent / f"teamchat-a-{kind}"


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "routes" else pytest.mark.slow) for kind in KINDS]
)
def test_a_new_plugins_own_tests_pass_at_once(kind: str, author: Environment) -> None:
    said = author.run("pytest -q -p no:cacheprovider -W error", made_in(author, kind))
    assert "passed" in said


@pytest.mark.slow
def test_an_installed_plugin_is_active(author: Environment, tmp_path: Path) -> None:
    listed = {
        plugin["name"]: plugin for plugin in json.loads(author.run("teamchat plugins --json", tmp_path))
    }
    assert [listed[f"a-{kind}"]["status"] for kind in KINDS] == ["active"] * len(KINDS)
    assert listed["a-routes"]["hooks"] == ["routes"]


@pytest.mark.slow
def test_the_tools_are_content_with_new_plugins(author: Environment, tmp_path: Path) -> None:
    config = tmp_path / "ruff.toml"
    config.write_text(
        f'extend = "{ROOT / "pyproject.toml"}"\n[lint.isort]\nknown-first-party = ["teamchat"]\n'
    )
    ruff = Path(sys.executable).parent / "ruff"
    plugins = " ".join(str(made_in(author, kind)) for kind in KINDS)
    tests = " ".join(str(made_in(author, kind) / "tests") for kind in KINDS)
    author.run(f"{ruff} check --config {config} --exclude tests {plugins}", tmp_path)
    author.run(f"{ruff} check --config {config} --ignore S,ARG {tests}", tmp_path)
    author.run(f"{ruff} format --check --config {config} {plugins}", tmp_path)
    modules = " ".join(str(next(made_in(author, kind).glob("teamchat_*"))) for kind in KINDS)
    author.run(f"mypy --strict --cache-dir {tmp_path / 'cache'} {modules}", tmp_path)


@pytest.mark.parametrize(
    "name", ["", "Lunch", "9lives", "lunch_menu", "../lunch", "lunch-", "class", "a b", "x" * 29]
)
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


def test_a_plugin_that_is_installed_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="teamchat-files is installed here already"):
        make("routes", "files", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_plugin_of_another_distribution_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="teamchat-server has a plugin called mail already"):
        make("routes", "mail", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_comes_next(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "teamchat", "new-plugin", "lunch", "--kind", "service"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "teamchat-lunch is written. Next, in the environment that teamchat is installed in" in ran.stdout
    assert (tmp_path / "teamchat-lunch" / "teamchat_lunch" / "__init__.py").is_file()
