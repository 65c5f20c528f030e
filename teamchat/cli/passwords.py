"""Passwords on their way in: typed at the terminal or read from stdin, never from the command line.

A password is in no argument, because arguments appear in the process list and in the shell's history. A
password that was generated here is shown only this once.
"""

from __future__ import annotations

import argparse
import getpass
import sys

from teamchat.errors import OperatorError


def add_password_flags(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add the options for where the password comes from."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--generate", action="store_true", help="make a password and show it this once")
    group.add_argument(
        "--mail",
        action="store_true",
        help="mail them a link to set one (password mode, with email configured and a server running)",
    )
    return group


def read_password() -> str:
    """Return what is typed twice at the terminal, or the first line of stdin."""
    if not sys.stdin.isatty():
        password = sys.stdin.readline().rstrip("\r\n")
        if not password:
            raise OperatorError("No password came on stdin. Give one line, or --generate.")
        return password
    password = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != password:
        raise OperatorError("The two passwords differ. Nothing was changed.")
    return password
