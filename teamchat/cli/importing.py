"""``teamchat import``: import what teamchat, Slack or Mattermost exported."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat.cli.options import add_config
from teamchat.cli.working import installation, say, work

if TYPE_CHECKING:
    from teamchat.cli.options import Commands

DESCRIPTION = """Bring what teamchat export wrote, or an export of Slack's or Mattermost's, into an
installation. What is there already is left as it is, so it can be given again. Servers may run meanwhile;
their clients reload in the end."""


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "import",
        help="bring in an export of teamchat's, Slack's or Mattermost's",
        description=DESCRIPTION,
        allow_abbrev=False,
    )
    add_config(parser)
    parser.add_argument(
        "path", type=Path, metavar="PATH", help="a directory, or the ZIP file of Slack or Mattermost"
    )
    parser.add_argument(
        "--public-only",
        action="store_true",
        help="leave out another program's private channels, group messages and direct messages",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        default=Path("import-report.jsonl"),
        help="where to name each thing that was left out, changed or merged (import-report.jsonl)",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Import, and say what could not be brought over."""
    from teamchat.operations.import_export.bringing_in import Wishes, bring_in

    wishes = Wishes(options.public_only, options.report)
    say(work(partial(bring_in, installation(options), options.path, wishes)))
    return 0
