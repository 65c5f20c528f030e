"""What every verb of the command line must do, whatever it is there for."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import argparse
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from teamchat import cli
from teamchat.cli.options import add_config
from teamchat.errors import OperatorError
from teamchat.interfaces.offers import Command
from teamchat.plugins import Plugins
from teamchat.settings import Settings, StorageSettings


class CommandContract(ABC):
    """Tests of a verb. Subclass it with a name that begins with ``Test`` and give one method::

        class TestCount(CommandContract):
            arguments = ("--least", "1")

            def command(self):
                return Command("count", "count the messages of each channel", run, add_arguments)

    They run outside Trio, as the verb does.
    """

    arguments: Sequence[str] = ()
    """What stands behind the verb in a call that must succeed."""

    @abstractmethod
    def command(self) -> Command:
        """Return the verb, as the hook ``commands`` does."""

    def settings(self, tmp_path: Path) -> Settings:
        """Return the settings it is run with. Override it if the verb needs others."""
        return Settings(storage=StorageSettings(path=str(tmp_path / "data")))

    def test_its_name_is_a_word_to_type_that_teamchat_does_not_use_itself(self) -> None:
        name = self.command().name
        assert re.fullmatch(r"[a-z][a-z0-9-]*", name), (
            f"{name!r} is no verb to type: use small letters, digits and dashes"
        )
        assert name not in _own_verbs(), f"teamchat has a verb {name!r} itself, and this one would never run"

    def test_the_help_tells_what_it_and_each_argument_is_for(self) -> None:
        command = self.command()
        assert command.help.strip(), "Command.help is empty: `teamchat --help` has nothing to say of it"
        assert "\n" not in command.help, "Command.help must be one line, for it is one in `teamchat --help`"
        try:
            teamchat, verb = self._parsers()
            teamchat.format_help()
            verb.format_help()
        except (ValueError, TypeError, KeyError) as error:
            pytest.fail(f"a help text can't be shown; a % in it is written %%: {error}")
        silent = [action.dest for action in verb._actions if not action.help]
        assert not silent, f"these arguments have no help: {', '.join(silent)}"

    def test_a_run_that_succeeds_gives_the_exit_code_0(self, tmp_path: Path) -> None:
        code = self.run(self.settings(tmp_path))
        assert isinstance(code, int), f"run() must return the exit code, and returned {code!r}"
        assert code == 0, f"run() returned {code}, and with `arguments` it should succeed and return 0"

    def test_it_imports_no_plugin_that_is_disabled(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings, load = self.settings(tmp_path), Plugins.load
        plugins = msgspec.structs.replace(settings.plugins, disabled=[*settings.plugins.disabled, "disabled"])
        given: list[Collection[str]] = []

        def watched(disabled: Collection[str] = (), *others: Any) -> Plugins:
            given.append(disabled)
            return load(disabled, *others)

        monkeypatch.setattr(Plugins, "load", watched)
        self.run(msgspec.structs.replace(settings, plugins=plugins))
        assert all("disabled" in names for names in given), (
            "run() imports plugins that the operator disabled: it is Plugins.load(settings.plugins.disabled)"
        )

    def test_a_storage_that_can_not_be_opened_is_told_to_the_operator(self, tmp_path: Path) -> None:
        in_the_way = tmp_path / "a file"
        in_the_way.write_text("no directory")
        settings = Settings(
            storage=StorageSettings(path=str(in_the_way)), plugins=self.settings(tmp_path).plugins
        )
        try:
            self.run(settings)
        except OperatorError:
            return
        except Exception as error:
            raise AssertionError(
                "with a storage.path that is a file run() must raise an OperatorError, which is told in one "
                f"line, and raised {type(error).__name__}"
            ) from error

    def run(self, settings: Settings) -> int:
        """Run the verb with `arguments` and return its exit code, for tests of your own."""
        _, verb = self._parsers()
        return self.command().run(settings, verb.parse_args(list(self.arguments)))

    def _parsers(self) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
        """Return a command line with the verb, and the verb's own part, as teamchat makes them."""
        teamchat = argparse.ArgumentParser("teamchat", allow_abbrev=False)
        command, verbs = self.command(), teamchat.add_subparsers()
        verb = verbs.add_parser(command.name, help=command.help, allow_abbrev=False)
        add_config(verb)
        command.arguments(verb)
        return teamchat, verb


def _own_verbs() -> set[str]:
    [verbs] = [action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return set(verbs.choices)
