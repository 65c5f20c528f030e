"""Plugins' verbs stand beside teamchat's own, and never in their way."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from teamchat import Command, SettingsError, cli
from teamchat.cli import extensions
from teamchat.plugins import Plugins
from teamchat.settings import Settings


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


def test_a_plugin_cannot_take_the_place_of_a_verb(verbs: list[Command]) -> None:
    verbs += [Command("serve", "something else", lunch), LUNCH]
    assert extensions.brought([], {"serve"}) == [LUNCH]


def test_a_word_that_is_no_verb_is_a_wrong_command_line(verbs: list[Command]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["dinner"])
    assert ended.value.code == 2
