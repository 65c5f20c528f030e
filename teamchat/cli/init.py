"""``teamchat init``: write a commented configuration file, but never over an existing one."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat.cli.printing import printable
from teamchat.errors import SettingsError
from teamchat.plugins import Plugins
from teamchat.settings import sample

if TYPE_CHECKING:
    from teamchat.cli.options import Commands


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("init", help="write a commented configuration file", allow_abbrev=False)
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=Path("teamchat.toml"),
        metavar="FILE",
        help="where to write it (teamchat.toml)",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Write the sample configuration, readable by its owner alone.

    The tables of capabilities that are installed stand in it.
    """
    file: Path = options.file
    if file.suffix != ".toml":
        raise SettingsError(f"{file}: the configuration is written as TOML; the name must end in .toml.")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
                opened.write(sample(Plugins.load().tables()))
        except OSError:
            file.unlink()  # Half a configuration is one, and not what was meant.
            raise
    except FileExistsError:
        raise SettingsError(f"{file} is there already and is left as it is.") from None
    except OSError as error:
        raise SettingsError(f"{file} can't be written ({error.strerror}).") from None
    print(printable(f"{file} is written. Next: teamchat serve --config {file}"))
    return 0
