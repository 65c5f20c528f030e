"""The verbs that plugins bring.

Plugins are loaded only if the first word is none of teamchat's own verbs, so that those work, and are quick,
whatever is installed. A plugin can't replace one of them; whoever asks for a plugin's verb, or for the help,
is told of one that tries to.
"""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat.cli.options import add_config, config_file
from teamchat.cli.printing import complain
from teamchat.errors import OperatorError, SettingsError
from teamchat.interfaces.offers import Command
from teamchat.observability import logs
from teamchat.plugins import Plugins
from teamchat.settings import PluginsSettings, load, load_plugins_settings

if TYPE_CHECKING:
    from teamchat.cli.options import Commands

_log = logs.get_logger(__name__)


@dataclass(frozen=True)
class Verb:
    """A plugin's verb, and the plugins that it is of."""

    command: Command
    plugins: Plugins

    @property
    def name(self) -> str:
        return self.command.name

    @contextmanager
    def reporting(self, doing: str) -> Iterator[None]:
        """Log an error that nobody expected, with where it was raised, and raise the plugin's failure."""
        try:
            yield
        except OperatorError:
            raise
        except Exception as error:
            if _is_reported_otherwise(error):
                raise
            _log.critical("a plugin's verb failed", verb=self.name, exc_info=error)
            cause = f"{doing} raised {type(error).__name__}; the log above says where."
            raise self.plugins.failure_of(self.command, cause) from error


def brought(arguments: Sequence[str], own: Collection[str]) -> Sequence[Verb]:
    """Return the plugins' verbs, if the command line may mean one of them or asks for all."""
    if arguments and arguments[0] in own:
        return ()
    try:
        disabled = load_plugins_settings(_file(arguments), os.environ).disabled
    except SettingsError as error:
        complain(error)
        disabled = PluginsSettings().disabled
    plugins = Plugins.load(disabled)
    found = []
    for command in plugins.commands():
        if command.name in own:
            cause = f'its verb "{command.name}" is one of teamchat\'s own, and is left out.'
            complain(plugins.failure_of(command, cause))
        else:
            found.append(Verb(command, plugins))
    return found


def add(verb: Verb, commands: Commands) -> None:
    """Add a plugin's verb to the command line."""
    command = verb.command
    help_text = command.help.replace("%", "%%")  # argparse would take it for a format.
    parser = commands.add_parser(command.name, help=help_text, allow_abbrev=False)
    add_config(parser)
    with verb.reporting(f'the arguments of its verb "{command.name}"'):
        command.arguments(parser)
    parser.set_defaults(command=partial(_run, verb))


def _run(verb: Verb, options: argparse.Namespace) -> int:
    settings = load(config_file(options), os.environ)
    logs.configure(level=settings.logs.level, format=settings.logs.format)
    with verb.reporting(f'its verb "{verb.name}"'):
        return verb.command.run(settings, options)


def _is_reported_otherwise(error: Exception) -> bool:
    """Return whether `teamchat.cli.ending` says what it is: an operator's error, or a closed output."""
    if isinstance(error, ExceptionGroup):
        return error.split(OperatorError)[1] is None
    return isinstance(error, OSError) and error.errno in {errno.EPIPE, errno.ENOSPC}


def _file(arguments: Sequence[str]) -> Path | None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_config(parser)
    return config_file(parser.parse_known_args(arguments)[0])
