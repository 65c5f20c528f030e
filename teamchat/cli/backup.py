"""``teamchat backup``: write everything into one file, while the server runs."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat.cli.options import add_config
from teamchat.cli.working import installation, say, work

if TYPE_CHECKING:
    from teamchat.cli.options import Commands

DESCRIPTION = """Write the database as it is at one moment, every image it names and the generated signing
secret into one file, for its owner alone. Servers may run meanwhile."""


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "backup", help="write everything into one file", description=DESCRIPTION, allow_abbrev=False
    )
    add_config(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that is not there yet")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Back up, and say what is in the file."""
    from teamchat.operations.backup import back_up

    say(work(partial(back_up, installation(options), options.file)))
    return 0
