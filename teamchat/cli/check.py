"""``teamchat check``: tell whether an installation is in order."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

import trio

from teamchat.cli.options import add_config, config_file
from teamchat.cli.printing import printable

if TYPE_CHECKING:
    from teamchat.cli.options import Commands
    from teamchat.operations.checking import Finding

DESCRIPTION = """Look at the configuration, the data directory, the database, the image store and mail, and
say of each whether it is in order and what to do if not. Servers may run meanwhile. The exit code is 1 if
there is a problem."""


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "check", help="tell whether all is in order", description=DESCRIPTION, allow_abbrev=False
    )
    add_config(parser)
    parser.add_argument("--mail", metavar="ADDRESS", help="send a trial mail there")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Check, and say each finding as it is found."""
    from teamchat.operations.checking import check
    from teamchat.operations.installation import Installation

    os.umask(0o077)
    installation = Installation.load(config_file(options), os.environ)
    return 0 if trio.run(partial(check, installation, _say, options.mail)) else 1


def _say(finding: Finding) -> None:
    print(printable(f"{finding.level.value:8} {finding.subject:14} {finding.sentence}"))
    if finding.remedy:
        print(printable(f"{'':8} {'':14} -> {finding.remedy}"))
