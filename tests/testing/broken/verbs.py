"""Verbs of the command line with one thing wrong."""

from __future__ import annotations

import argparse
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from teamchat import Command, StorageError
from teamchat.plugins import Plugins
from teamchat.settings import Settings
from teamchat.testing import CommandContract
from tests.testing.faults import found_by


def run(settings: Settings, arguments: argparse.Namespace) -> int:
    """Do nothing, with the storage."""
    if Path(settings.storage.path).is_file():
        raise StorageError("storage.path is a file.")
    return 0


RIGHT = Command("count", "count the messages", run)


class Contract(CommandContract):
    offered = RIGHT

    def command(self) -> Command:
        return self.offered


NAMED = "test_its_name_is_a_word_to_type_that_teamchat_does_not_use_itself"


@found_by(**{NAMED: "teamchat has a verb 'serve' itself, and this one would never run"})
class TestTakesAnothersPlace(Contract):
    offered = replace(RIGHT, name="serve")


@found_by(**{NAMED: "'Count messages' is no verb to type"})
class TestIsTwoWords(Contract):
    offered = replace(RIGHT, name="Count messages")


HELPS = "test_the_help_tells_what_it_and_each_argument_is_for"


@found_by(**{HELPS: "Command.help is empty"})
class TestTellsNothing(Contract):
    offered = replace(RIGHT, help=" ")


@found_by(**{HELPS: "a % in it is written %%"})
class TestHasAHelpThatCanNotBeShown(Contract):
    offered = replace(RIGHT, help="count the 10 % that matter")


def silent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--least", type=int, default=0)


@found_by(**{HELPS: "these arguments have no help: least"})
class TestSaysNothingOfAnArgument(Contract):
    offered = replace(RIGHT, arguments=silent)


RUNS = "test_a_run_that_succeeds_gives_the_exit_code_0"


def returns_nothing(settings: Settings, arguments: argparse.Namespace) -> Any:
    run(settings, arguments)


@found_by(**{RUNS: "run() must return the exit code, and returned None"})
class TestReturnsNothing(Contract):
    offered = replace(RIGHT, run=returns_nothing)


def fails(settings: Settings, arguments: argparse.Namespace) -> int:
    return run(settings, arguments) or 3


@found_by(**{RUNS: "run() returned 3, and with `arguments` it should succeed"})
class TestFails(Contract):
    offered = replace(RIGHT, run=fails)


def stumbles(settings: Settings, arguments: argparse.Namespace) -> int:
    if Path(settings.storage.path).is_file():
        sqlite3.connect("/no/such/directory/at/all").close()
    return 0


@found_by(
    test_a_storage_that_can_not_be_opened_is_told_to_the_operator="an OperatorError, which is told in one"
)
class TestStumblesOverTheStorage(Contract):
    offered = replace(RIGHT, run=stumbles)


def loads_all(settings: Settings, arguments: argparse.Namespace) -> int:
    Plugins.load()
    return run(settings, arguments)


@found_by(test_it_imports_no_plugin_that_is_disabled="it is Plugins.load(settings.plugins.disabled)")
class TestImportsWhatIsDisabled(Contract):
    offered = replace(RIGHT, run=loads_all)
