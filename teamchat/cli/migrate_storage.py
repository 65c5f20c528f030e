"""``teamchat migrate-storage``: move an installation to another database."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat.cli.progress import Progress
from teamchat.cli.working import say, work

if TYPE_CHECKING:
    from teamchat.cli.options import Commands

DESCRIPTION = """Copy everything from the database of one configuration into the empty database of another:
SQLite to PostgreSQL, or back. Stop the server first. A move that was broken off goes on when the command is
given again. Environment variables that set keys (TEAMCHAT_…__…) are not heeded, for they would set them for
both."""


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "migrate-storage", help="move to another database", description=DESCRIPTION, allow_abbrev=False
    )
    for flag, name, what in (("--from", "source", "is"), ("--to", "target", "shall be")):
        parser.add_argument(
            flag,
            dest=name,
            type=Path,
            required=True,
            metavar="FILE",
            help=f"the configuration that says where everything {what}",
        )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Move, and say what to do next."""
    from teamchat.operations.installation import Installation
    from teamchat.operations.moving import move_installation
    from teamchat.settings.sources import without_keys

    os.umask(0o077)
    environ = without_keys(os.environ)
    source, target = (Installation.load(file, environ) for file in (options.source, options.target))

    async def moved(progress: Progress) -> list[str]:
        return await move_installation(source, target, progress, progress.waits)

    say(work(moved))
    say(
        [
            f"Next: teamchat serve --config {options.target}",
            "The old database was not changed. Remove it when the new one has proved itself.",
        ]
    )
    return 0
