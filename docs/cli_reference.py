"""The reference of the command line, from the parsers that read it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from teamchat import cli


def rendered() -> str:
    """Return every command with its arguments."""
    return "\n".join(
        part for name, parser, what in commands(cli.parser()) for part in _command(name, parser, what)
    )


def commands(
    parser: argparse.ArgumentParser, prefix: str = "teamchat"
) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Yield each command that does something, its parser, and its line of help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, inner in action.choices.items():
                full = f"{prefix} {name}"
                if any(isinstance(each, argparse._SubParsersAction) for each in inner._actions):
                    yield from commands(inner, full)
                else:
                    yield full, inner, helps[name]


def _command(name: str, parser: argparse.ArgumentParser, what: str) -> Iterator[str]:
    arguments = [each for each in parser._actions if not isinstance(each, argparse._HelpAction)]
    yield f"## `{name}`\n"
    yield " ".join((parser.description or f"{what[0].upper()}{what[1:]}.").split()) + "\n"
    if not arguments:
        return
    exclusive = {id(each) for group in parser._mutually_exclusive_groups for each in group._group_actions}
    yield "| argument | |\n|---|---|"
    for each in sorted(arguments, key=lambda each: not each.option_strings):
        yield f"| `{_shown(each)}` | {_told(each, is_exclusive=id(each) in exclusive)} |"
    yield ""


def _shown(argument: argparse.Action) -> str:
    metavar = str(argument.metavar or argument.dest.upper())
    if argument.choices:
        metavar = f"{{{','.join(map(str, argument.choices))}}}"
    if not argument.option_strings:
        return f"[{metavar}]" if argument.nargs == "?" else metavar
    flag = ", ".join(argument.option_strings)
    return flag if argument.nargs == 0 else f"{flag} {metavar}"


def _told(argument: argparse.Action, *, is_exclusive: bool) -> str:
    told = (argument.help or "").replace("|", "\\|")
    if argument.required and argument.option_strings:
        told += " (required)"
    return f"{told} (one of these alone)" if is_exclusive else told
