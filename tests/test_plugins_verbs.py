"""Plugins' verbs stand beside teamchat's own, and never in their way."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from teamchat import Command, SettingsError, cli, hookimpl
from teamchat.cli import extensions
from teamchat.plugins import Plugins
from teamchat.settings import Settings
from tests.test_plugins import Entry


@pytest.fixture
def verbs(monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    """The verbs of all plugins; a test may add to them."""
    found: list[Command] = []
    monkeypatch.setattr(Plugins, "commands", lambda _: found)
    return found


def lunch(settings: Settings, arguments: argparse.Namespace) -> int:
    print(settings.server.port, arguments.dish)
    return 3


LUNCH = Command("lunch", "order lunch", lunch, lambda parser: parser.add_argument("dish"))


def test_a_plugins_verb_is_given_the_settings_and_its_arguments(
    verbs: list[Command], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verbs.append(LUNCH)
    config = tmp_path / "teamchat.toml"
    config.write_text("[server]\nport = 4321\n")
    assert cli.main(["lunch", "--config", str(config), "soup"]) == 3
    assert capsys.readouterr().out == "4321 soup\n"


def test_what_the_operator_can_mend_is_one_line(
    verbs: list[Command], capsys: pytest.CaptureFixture[str]
) -> None:
    def hungry(_: Settings, __: argparse.Namespace) -> int:
        raise SettingsError("plugins.lunch.menu is missing.")

    verbs.append(Command("lunch", "order lunch", hungry))
    assert cli.main(["lunch"]) == 1
    assert capsys.readouterr().err == "teamchat: plugins.lunch.menu is missing.\n"


def test_the_help_lists_them(verbs: list[Command], capsys: pytest.CaptureFixture[str]) -> None:
    verbs.append(LUNCH)
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "order lunch" in capsys.readouterr().out


def test_teamchats_own_verbs_load_no_plugin_and_keep_their_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> Plugins:
        raise AssertionError("plugins were loaded")

    monkeypatch.setattr(Plugins, "load", fail)
    assert cli.main(["version"]) == 0
    assert "teamchat" in capsys.readouterr().out


def test_a_plugin_cannot_take_the_place_of_a_verb(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(monkeypatch, Command("serve", "something else", lunch), LUNCH)
    assert [verb.command for verb in extensions.brought([], {"serve"})] == [LUNCH]
    assert capsys.readouterr().err == (
        'teamchat: The plugin "food" (acme-food 1.2.3) failed: its verb "serve" is one of teamchat\'s own, '
        'and is left out. To go on without it: plugins.disabled = ["food"]\n'
    )


def test_the_help_takes_any_words(verbs: list[Command], capsys: pytest.CaptureFixture[str]) -> None:
    verbs.append(Command("lunch", "order lunch, 100% vegetarian, %(prog)s", lunch))
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "order lunch, 100% vegetarian, %(prog)s" in " ".join(capsys.readouterr().out.split())


def test_a_word_that_is_no_verb_is_a_wrong_command_line(verbs: list[Command]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["dinner"])
    assert ended.value.code == 2


def installed(monkeypatch: pytest.MonkeyPatch, *commands: Command) -> None:
    """Have a plugin "food" that brings these verbs."""
    module = ModuleType("food")
    module.commands = hookimpl(lambda: list(commands))  # type: ignore[attr-defined]
    loaded = Plugins.load([], [Entry("food", module, "acme-food")])
    monkeypatch.setattr(Plugins, "load", lambda *_: loaded)


def spilling(*_: Any) -> int:
    raise ValueError("s3ntinel")


@pytest.mark.parametrize(
    ("command", "doing"),
    [
        (Command("lunch", "order lunch", spilling), 'its verb "lunch"'),
        (Command("lunch", "order lunch", lunch, spilling), 'the arguments of its verb "lunch"'),
    ],
)
def test_a_verb_that_fails_is_told_with_its_plugin(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    command: Command,
    doing: str,
) -> None:
    installed(monkeypatch, command)
    assert cli.main(["lunch"]) == 1
    told = capsys.readouterr().err
    assert told.splitlines()[-1] == (
        f'teamchat: The plugin "food" (acme-food 1.2.3) failed: {doing} raised ValueError; '
        'the log above says where. To go on without it: plugins.disabled = ["food"]'
    )
    assert "s3ntinel" not in told
    [record] = [one for one in caplog.records if one.getMessage() == "a plugin's verb failed"]
    assert record.exc_info is not None


def test_a_verb_whose_output_nobody_reads_has_not_failed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def printing(*_: Any) -> int:
        print("x" * 100_000, flush=True)
        return 0

    installed(monkeypatch, Command("lunch", "order lunch", printing))
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert cli.main(["lunch"]) == 128 + 13
    assert "food" not in capfd.readouterr().err
