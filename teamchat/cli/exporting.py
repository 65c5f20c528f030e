"""``teamchat export``: write what people said as JSON Lines and image files."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat.cli.options import add_config
from teamchat.cli.working import installation, say, work

if TYPE_CHECKING:
    from teamchat.cli.options import Commands

DESCRIPTION = """Write users, channels, conversations, messages, threads, reactions and images into a
directory, for other programs to read: one JSON record a line. Private conversations are in it; passwords,
sessions and tokens are not. Servers may run meanwhile."""


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "export", help="write everything as JSON Lines", description=DESCRIPTION, allow_abbrev=False
    )
    add_config(parser)
    parser.add_argument("directory", type=Path, metavar="DIR", help="a directory that is not there yet")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Export, and say how much there is."""
    from teamchat.operations.import_export.exporting import export_to

    say(work(partial(export_to, installation(options), options.directory)))
    return 0
