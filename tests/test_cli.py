"""The command: its verbs, its exit codes, and one clear line for what the operator can mend."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from teamchat.cli import main
from teamchat.cli import plugins as plugins_verb
from teamchat.cli import serve as serve_verb
from teamchat.cli import version as version_verb
from teamchat.errors import OperatorError, PluginError, StorageError
from teamchat.plugins import PluginReport
from teamchat.settings import Settings, load

SENTINEL = "s3ntinel-value"
ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _somewhere_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in an empty directory, with an environment of no settings, and put the interpreter back."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("TEAMCHAT_") or name == "INITIAL_USER_PASSWORD":
            monkeypatch.delenv(name)
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)


class Ran(list[Settings]):
    """The settings that the server was run with, and what it shall raise."""

    error: BaseException | None = None


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    ran = Ran()

    def run(settings: Settings, plugins: Any) -> None:
        ran.append(settings)
        if ran.error:
            raise ran.error

    module = ModuleType("teamchat.server.workers")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "teamchat.server.workers", module)
    monkeypatch.setattr("teamchat.server.workers", module, raising=False)
    return ran


class FakePlugins:
    """Plugins that were found, without looking for any."""

    reports: ClassVar[list[PluginReport]] = []
    error: PluginError | None = None
    disabled: ClassVar[list[str]] = []

    @classmethod
    def load(cls, disabled: list[str]) -> Any:
        cls.disabled = list(disabled)
        return cls()

    def require(self) -> None:
        if self.error:
            raise self.error

    def not_there(self, disabled: list[str]) -> list[str]:
        return []

    def report(self) -> list[PluginReport]:
        return self.reports


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> type[FakePlugins]:
    class Plugins(FakePlugins):
        pass

    for verb in (plugins_verb, serve_verb):
        monkeypatch.setattr(verb, "Plugins", Plugins)
    return Plugins


def test_serve_runs_with_no_configuration_at_all(ran: Ran, plugins: Any) -> None:
    assert main(["serve"]) == 0
    assert list(ran) == [Settings()]


def test_serve_takes_the_file_that_lies_here_or_the_one_it_is_told(ran: Ran, plugins: Any) -> None:
    Path("teamchat.json").write_text('{"server": {"port": 1}}')
    main(["serve"])
    Path("teamchat.toml").write_text("[server]\nport = 2")
    main(["serve"])
    Path("other.toml").write_text("[server]\nport = 3")
    main(["serve", "--config", "other.toml"])
    assert [settings.server.port for settings in ran] == [1, 2, 3]


def test_flags_go_before_the_environment_and_the_file(
    ran: Ran, plugins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("teamchat.toml").write_text("[server]\nport = 2\nhost = 'file'")
    monkeypatch.setenv("TEAMCHAT_SERVER__HOST", "environment")
    monkeypatch.setenv("INITIAL_USER_PASSWORD", "from the environment")
    main(["serve", "--port", "0"])
    main(["serve", "--host", "flag", "--initialUserPassword", "from the flag"])
    assert [(s.server.host, s.server.port) for s in ran] == [("environment", 0), ("flag", 2)]
    passwords = [s.chat.initial_user.password for s in ran]
    assert passwords == ["from the environment", "from the flag"]


def test_serve_blocks_what_is_disabled_and_stops_at_a_plugins_failure(
    ran: Ran, plugins: type[FakePlugins], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("teamchat.toml").write_text("plugins.disabled = ['web']")
    plugins.error = PluginError('The plugin "x" failed: y.\x1b[2J\nTo go on without it: …')
    assert main(["serve"]) == 1
    assert plugins.disabled == ["web"]
    assert not ran
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == 'teamchat: The plugin "x" failed: y.\\x1b[2J\\nTo go on without it: …\n'


@pytest.mark.parametrize(
    "error",
    [
        StorageError("The database is in use."),
        BaseExceptionGroup("", [ExceptionGroup("", [StorageError("The database is in use.")])]),
    ],
)
def test_what_the_operator_can_mend_is_one_line_and_exit_code_1(
    error: BaseException, ran: Ran, plugins: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ran.error = error
    assert main(["serve"]) == 1
    assert capsys.readouterr().err == "teamchat: The database is in use.\n"


@pytest.mark.parametrize(
    "error",
    [
        ValueError(SENTINEL),
        ExceptionGroup(SENTINEL, [OperatorError("known"), ValueError(SENTINEL)]),
    ],
)
def test_an_unexpected_error_is_logged_without_its_message(
    error: Exception, ran: Ran, plugins: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ran.error = error
    assert main(["serve"]) == 1
    shown = capsys.readouterr().err
    assert SENTINEL not in shown
    assert type(error).__name__ in json.loads(shown)["error"]["type"]


def test_an_interrupt_ends_quietly(ran: Ran, plugins: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ran.error = KeyboardInterrupt()
    assert main(["serve"]) == 130
    assert "".join(capsys.readouterr()) == ""


def test_d10_a_short_secret_stops_serve_by_its_key(
    ran: Ran, plugins: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEAMCHAT_AUTH__JWTSECRET", SENTINEL)
    assert main(["serve"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("teamchat: auth.jwtSecret is shorter than 32 bytes.")
    assert shown.count("\n") == 1
    assert SENTINEL not in shown
    assert not ran


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["serve", "--nope"],
        ["serve", "--port", "x"],
        ["serve", "--initialUser", "x"],
        ["init", "a", "b"],
        ["user", "promote", "a\udcff@b"],
        ["audit", "--target", "\udcff"],
    ],
)
def test_a_wrong_command_line_has_exit_code_2(
    arguments: list[str], ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: teamchat" in capsys.readouterr().err
    assert not ran


REPORTS = [
    PluginReport("a", "teamchat-a", "1.0", "active", ["routes", "storages"], {"storages": ["x", "y"]}),
    PluginReport("b", "teamchat-b", "2.0", "disabled", [], {}),
    PluginReport("c", "teamchat-c", "3.0", "failed", [], {}, "It is\nbroken."),
]


def test_plugins_lists_each_with_its_hooks_and_offers(
    plugins: type[FakePlugins], capsys: pytest.CaptureFixture[str]
) -> None:
    plugins.reports = REPORTS
    assert main(["plugins"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "a: active (teamchat-a 1.0)",
        "    routes",
        "    storages: x, y",
        "b: disabled (teamchat-b 2.0)",
        "c: failed (teamchat-c 3.0)",
        "    It is\\nbroken.",
    ]


def test_plugins_says_so_when_there_are_none(plugins: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    assert capsys.readouterr().out == "No plugin is installed.\n"


def test_plugins_lists_the_same_as_json(
    plugins: type[FakePlugins], capsys: pytest.CaptureFixture[str]
) -> None:
    plugins.reports = REPORTS
    assert main(["plugins", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["status"] for each in listed] == ["active", "disabled", "failed"]
    assert listed[0]["offers"] == {"storages": ["x", "y"]}
    assert listed[2]["error"] == "It is\nbroken."


def test_plugins_works_whatever_is_wrong_with_the_configuration(
    plugins: type[FakePlugins], capsys: pytest.CaptureFixture[str]
) -> None:
    plugins.reports = REPORTS
    Path("teamchat.toml").write_text("nonsense = 1\n[plugins]\ndisabled = ['web']\n[server]\nport = 'x'")
    assert main(["plugins", "--json"]) == 0
    assert plugins.disabled == ["web"]
    Path("teamchat.toml").write_text("[[[")
    assert main(["plugins", "--json"]) == 0
    assert main(["plugins", "--json", "--config", "nowhere.toml"]) == 0
    assert "nowhere.toml can't be read" in capsys.readouterr().err


def test_init_writes_a_file_that_loads_to_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert load(Path("teamchat.toml")) == Settings()
    assert stat.S_IMODE(Path("teamchat.toml").stat().st_mode) == 0o600
    assert main(["init", "other.toml"]) == 0
    assert "teamchat serve --config other.toml" in capsys.readouterr().out


def test_init_never_overwrites(capsys: pytest.CaptureFixture[str]) -> None:
    Path("teamchat.toml").write_text("mine")
    Path("link.toml").symlink_to("target.toml")
    for name in ("teamchat.toml", "link.toml"):
        assert main(["init", name]) == 1
    assert Path("teamchat.toml").read_text() == "mine"
    assert not Path("target.toml").exists()
    assert "is there already" in capsys.readouterr().err


def test_init_refuses_names_and_places_it_can_not_write(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "teamchat.json"]) == 1
    assert main(["init", "nowhere/teamchat.toml"]) == 1
    assert capsys.readouterr().err.count("\n") == 2


def test_version_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(version_verb, "__version__", "1.2.3")
    assert main(["version"]) == 0
    assert capsys.readouterr().out == "teamchat 1.2.3\n"


@pytest.mark.slow
def test_python_m_teamchat_is_the_same_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "teamchat", "init"]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    results = [
        subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        for _ in range(2)
    ]
    assert [done.returncode for done in results] == [0, 1], results
    assert results[1].stderr == "teamchat: teamchat.toml is there already and is left as it is.\n"
