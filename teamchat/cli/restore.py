"""``teamchat restore``: restore a backup over an installation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat.cli.options import add_config
from teamchat.cli.progress import Progress
from teamchat.cli.working import installation, say, work

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
    from teamchat.operations.restore import Wishes, restore

    one, wishes = installation(options), Wishes(options.replace, options.end_sessions)

    async def restored(progress: Progress) -> list[str]:
        return await restore(one, options.file, wishes, progress, progress.waits)

    say(work(restored))
    say(["Next: teamchat serve" + (f" --config {options.config}" if options.config else "")])
    return 0
