"""The command ``teamchat``: one module per verb, each with `add` for its arguments and `run` for its work.

The verbs do no work of their own: they read the command line, call, and print. `teamchat.cli.ending` decides
how they end; a wrong command line has exit code 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from teamchat.cli import (
    audit,
    backup,
    check,
    exporting,
    extensions,
    importing,
    init,
    migrate_storage,
    new_plugin,
    plugins,
    restore,
    serve,
    upgrade,
    user,
    version,
)
from teamchat.cli.ending import ended

_VERBS = (
    serve,
    user,
    audit,
    check,
    backup,
    restore,
    upgrade,
    migrate_storage,
    exporting,
    importing,
    plugins,
    new_plugin,
    init,
    version,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments

    def command() -> int:
        options = parser(given).parse_args(given)
        code: int = options.command(options)
        return code

    return ended(command)


def parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the whole command line; with the plugins' verbs, if `arguments` may mean one of them."""
    parser = argparse.ArgumentParser(
        prog="teamchat", description="A self-hosted team chat server.", allow_abbrev=False
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for verb in _VERBS:
        verb.add(commands)
    if arguments is not None:
        for brought in extensions.brought(arguments, commands.choices):
            extensions.add(brought, commands)
    return parser
