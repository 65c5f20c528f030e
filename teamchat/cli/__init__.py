"""The command ``teamchat``: one module a verb, each with `add` for its arguments and `run` for its work.

What must stay true: what the operator can mend is told in one line on stderr with exit code 1, a wrong
command line has exit code 2, and an unexpected error is logged by type and place, never with its message.
The verbs hold no work of their own: they read the command line, call, and print.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from teamchat import logs
from teamchat.cli import (
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
from teamchat.cli.printing import complain
from teamchat.errors import OperatorError

_VERBS = (
    serve,
    user,
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
    options = parser(given).parse_args(given)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        known = _operator_error(error)
        if known is not None:
            complain(known)
        else:
            logs.configure()
            logs.get_logger("teamchat.cli").critical("an unexpected error ended teamchat", exc_info=error)
        return 1


def parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the whole command line; with the plugins' verbs, if `arguments` may mean one of them."""
    parser = argparse.ArgumentParser(
        prog="teamchat", description="A self-hosted team chat server.", allow_abbrev=False
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for verb in _VERBS:
        verb.add(commands)
    if arguments is not None:
        for command in extensions.brought(arguments, commands.choices):
            extensions.add(command, commands)
    return parser


def _operator_error(error: BaseException) -> OperatorError | None:
    """Return what the operator should read, also from a group that holds nothing unexpected."""
    if isinstance(error, OperatorError):
        return error
    if isinstance(error, BaseExceptionGroup):
        found = [_operator_error(inner) for inner in error.exceptions]
        return found[0] if all(found) else None
    return None
