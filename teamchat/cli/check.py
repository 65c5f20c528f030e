"""``teamchat check``: find out whether an installation is in order."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from teamchat.cli.options import add_config
from teamchat.cli.working import installation, say, work

if TYPE_CHECKING:
    from teamchat.cli.options import Commands
    from teamchat.operations.checking import Finding

DESCRIPTION = """Look at the configuration, the signing secret, the certificate, the data directory, mail, the
database, the clock, the image store and the servers, and say of each whether it is in order and what to do
if not. Servers may run meanwhile. The exit code is 1 if there is a problem."""
_SUBJECT = len("notification keywords")  # the longest there is


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "check", help="find out whether all is in order", description=DESCRIPTION, allow_abbrev=False
    )
    add_config(parser)
    parser.add_argument("--mail", metavar="ADDRESS", help="send a trial mail there")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Check, and say each finding as it is found."""
    from teamchat.operations.checking import check

    one = installation(options)
    return 0 if work(lambda progress: check(one, _say, options.mail, progress.waits)) else 1


def _say(finding: Finding) -> None:
    say([f"{finding.level.value:8} {finding.subject:{_SUBJECT}} {finding.sentence}"])
    if finding.remedy:
        say([f"{'':8} {'':{_SUBJECT}} -> {finding.remedy}"])
