"""The verbs that plugins bring.

What must stay true: plugins are loaded only when the first word is none of teamchat's own verbs, so that
those work, and are quick, whatever is installed.  A plugin can't take the place of one of them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat import logs
from teamchat.cli.options import add_config, config_file
from teamchat.cli.printing import complain
from teamchat.errors import SettingsError
from teamchat.interfaces import Command
from teamchat.plugins import Plugins
from teamchat.settings import PluginsSettings, load, load_plugins_settings

if TYPE_CHECKING:
    from teamchat.cli.options import Commands


def brought(arguments: Sequence[str], own: Collection[str]) -> Sequence[Command]:
    """Return the plugins' verbs, if the command line may mean one of them or asks for all."""
    if arguments and arguments[0] in own:
        return ()
    try:
        disabled = load_plugins_settings(_file(arguments), os.environ).disabled
    except SettingsError as error:
        complain(error)
        disabled = PluginsSettings().disabled
    return [command for command in Plugins.load(disabled).commands() if command.name not in own]


def add(command: Command, commands: Commands) -> None:
    """Add a plugin's verb to the command line."""
    parser = commands.add_parser(command.name, help=command.help, allow_abbrev=False)
    add_config(parser)
    command.arguments(parser)
    parser.set_defaults(command=partial(_run, command))


def _run(command: Command, options: argparse.Namespace) -> int:
    settings = load(config_file(options), os.environ)
    logs.configure(level=settings.logs.level, format=settings.logs.format)
    return command.run(settings, options)


def _file(arguments: Sequence[str]) -> Path | None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_config(parser)
    return config_file(parser.parse_known_args(arguments)[0])
