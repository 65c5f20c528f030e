"""``teamchat version``: show the version that is installed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from teamchat import __version__

if TYPE_CHECKING:
    from teamchat.cli.options import Commands


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("version", help="show the version", allow_abbrev=False)
    parser.set_defaults(command=run)


def run(_: argparse.Namespace) -> int:
    """Show the version."""
    print(f"teamchat {__version__}")
    return 0
