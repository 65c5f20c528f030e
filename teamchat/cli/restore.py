"""``teamchat restore``: put a backup in the place of an installation."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from teamchat.cli.options import add_config, config_file
from teamchat.cli.printing import printable
from teamchat.cli.progress import Progress

if TYPE_CHECKING:
    from teamchat.cli.options import Commands

DESCRIPTION = """Put a backup into an empty installation: another machine, another database, another image
store, whatever the configuration says. No server may run on it. The file is compared with what it says of
itself before anything is written, and everything or nothing is."""


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "restore", help="put a backup in place", description=DESCRIPTION, allow_abbrev=False
    )
    add_config(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="what teamchat backup wrote")
    parser.add_argument(
        "--replace", action="store_true", help="restore over an installation that has data; the data is lost"
    )
    parser.add_argument(
        "--end-sessions", action="store_true", help="leave the sessions out: everyone signs in again"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Restore, and say what to do next."""
    from teamchat.operations.installation import Installation
    from teamchat.operations.restore import Wishes, restore

    os.umask(0o077)
    installation = Installation.load(config_file(options), os.environ)
    wishes, progress = Wishes(options.replace, options.end_sessions), Progress()
    for line in trio.run(partial(restore, installation, options.file, wishes, progress, progress.waits)):
        print(printable(line))
    print(printable("Next: teamchat serve" + (f" --config {options.config}" if options.config else "")))
    return 0
