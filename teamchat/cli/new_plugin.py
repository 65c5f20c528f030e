"""``teamchat new-plugin``: make a plugin whose tests pass at once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from teamchat.cli.printing import printable
from teamchat.cli.scaffold import KINDS, make

if TYPE_CHECKING:
    from teamchat.cli.options import Commands


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("new-plugin", help="make a plugin from a template", allow_abbrev=False)
    parser.add_argument("name", metavar="NAME", help="what the plugin is called, such as lunch-menu")
    parser.add_argument("--kind", choices=sorted(KINDS), required=True, help="what it offers")
    parser.add_argument(
        "--directory", type=Path, default=Path(), metavar="DIR", help="where to make it (default: here)"
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Make it and say what comes next."""
    made = make(options.kind, options.name, options.directory)
    print(printable(f"{made} is written. Next, in the environment that teamchat is installed in:"))
    print(printable(f"  pip install --editable '{made}[test]'"))
    print(printable(f"  pytest {made}"))
    return 0
